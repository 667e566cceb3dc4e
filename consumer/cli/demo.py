"""`planner demo`: the whole thing once, on sample data, with nothing left behind."""

import asyncio
from collections.abc import Sequence
from uuid import UUID, uuid4

import asyncpg
import msgspec

from consumer.asker import Asker, asker
from consumer.cli import ANSWERED, FAILED, Configured, output
from consumer.deadline import Deadline
from consumer.errors import PlannerError
from consumer.settings import Settings
from consumer.stack import local, sample
from schemas import Answer, PlanAnswered, Principal, Question

ANSWER_SECONDS = 60.0
AUDIT_SECONDS = 20.0
POLL_SECONDS = 0.1
STORED = "select chain_id, seq, body from audit.plan_answered where event_id = any($1) order by chain_id, seq"


async def demo(*, settings: Configured) -> int:
    """Starts a stack of its own, loads sample data, asks real questions over Kafka, prints answers and audit rows.

    Uses embedded Kafka and Postgres whatever the settings name, and removes all it made.
    """
    local.cancel_on_stop()
    try:
        await _show(_embedded(settings))
    except asyncio.CancelledError:
        print("stopped")
        return FAILED
    print("\nNext: `planner dev` keeps a stack to work against.")
    return ANSWERED


async def _show(settings: Settings) -> None:
    output.step("Starting Kafka, PostgreSQL, a worker and a sink")
    async with local.parts(settings, None) as (connected, home):
        output.step("Loading an invented market, staff, partners and documents")
        await sample.load(connected)
        async with local.services(connected, home), asker(connected) as kafka:
            answers = [await _ask(kafka, number, one) for number, one in enumerate(sample.QUESTIONS, 1)]
            await _audit(connected, [a.audit_event_id for a in answers if isinstance(a.audit_event_id, UUID)])
        output.step("Stopping everything")
    wrong = [one.shows for one, answer in zip(sample.QUESTIONS, answers, strict=True) if not _as_meant(one, answer)]
    if wrong:
        raise PlannerError(f"not answered as meant: {', '.join(wrong)}")


async def _ask(kafka: Asker, number: int, one: sample.Sample) -> Answer:
    output.question(number, one.shows, one.text)
    event = Question(
        question_id=uuid4(),
        tenant_id=sample.TENANT,
        question=one.text,
        principal=Principal(subject="planner demo", scopes=sample.SCOPES),
    )
    try:
        reply = await kafka.ask(event, Deadline.after(ANSWER_SECONDS))
    except TimeoutError:
        raise PlannerError(f"no answer within {ANSWER_SECONDS:g} s to: {one.text}") from None
    output.answer(reply.answer)
    return reply.answer


async def _audit(settings: Settings, events: Sequence[UUID]) -> None:
    """Prints the rows that the sink stored for these answers, once all are there."""
    connection = await asyncpg.connect(settings.admin_database_url, timeout=10)
    try:
        rows = await _stored(connection, events)
    finally:
        await connection.close(timeout=10)
    output.step("What the sink stored: names, kinds and counts, never a value")
    output.table(
        ("row", "intents", "parameters", "nodes", "withheld", "gate", "samples"),
        [_row(row, msgspec.json.decode(row["body"], type=PlanAnswered)) for row in rows],
        right=frozenset({3, 4}),
    )


async def _stored(connection: asyncpg.Connection, events: Sequence[UUID]) -> list[asyncpg.Record]:
    deadline = Deadline.after(AUDIT_SECONDS)
    while True:
        rows = await connection.fetch(STORED, events)
        if len(rows) >= len(events):
            return rows
        if not deadline.remaining():
            raise PlannerError(f"the sink stored {len(rows)} of {len(events)} audit events in {AUDIT_SECONDS:g} s")
        await asyncio.sleep(POLL_SECONDS)


def _row(row: asyncpg.Record, event: PlanAnswered) -> tuple[str, ...]:
    return (
        f"{row['chain_id']}/{row['seq']}",
        "\n".join(event.intents),
        "\n".join(event.param_kinds),
        str(event.node_count),
        str(event.suppressed_cells),
        event.faithfulness.value,
        f"{event.self_consistency.samples} {event.self_consistency.outcome.value}",
    )


def _as_meant(one: sample.Sample, answer: Answer) -> bool:
    return answer.status is one.status and answer.route is one.route


def _embedded(settings: Settings) -> Settings:
    """The settings without their connections."""
    default = Settings()
    return msgspec.structs.replace(settings, **{field: getattr(default, field) for field in local.CONNECTIONS})
