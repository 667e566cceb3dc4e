# ruff: noqa: E501
"""Microseconds of each stage for three kinds of question, without Kafka and without Postgres."""

import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from uuid import UUID

from bench.figure import Figure, lines
from consumer import service
from consumer import settings as configuration
from consumer.deadline import Deadline
from consumer.planner.evidence import Evidence, to_wire
from consumer.planner.extract import extract
from consumer.planner.gate import gate
from consumer.planner.normalise import clean
from consumer.planner.plan import validate
from consumer.planner.render import rendering
from consumer.planner.route import route
from consumer.planner.suppress import suppress
from registry import Registry
from registry.intent import ColumnType
from schemas import Answer
from schemas.answer import Faithfulness, RationaleSource, Route, Status
from schemas.codec import decode_question, encode

REPEATS = 400
QUESTIONS = {
    "single": 'Who competes for 541512 at "Department of the Navy"?',
    "compound": 'Who competes for 541512 at "Department of the Navy", what is up for recompete in 18 months, '
    "and do we have TS/SCI people for it?",
    "refused": "How many women over fifty hold a Secret clearance?",
}
HOSTILE = ('"' * 4_000, "1" * 4_000, "'a " * 1_333, "TS//" * 1_000, "541512 " * 570, "a.b." * 1_000)


PART = "Stages, median and 99th percentile, no Kafka and no Postgres"


async def measure() -> list[Figure]:
    async with service.judge(configuration.load({})) as judge:
        figures: list[Figure] = []
        scopes = frozenset(plane.scope for plane in judge.registry.planes)
        for kind, question in QUESTIONS.items():

            async def whole(question: str = question) -> None:
                await judge.judge(question, None, scopes, Deadline.after(5))

            figures += await _timed(f"guard to bind, {kind}", whole)
        text = clean(QUESTIONS["compound"])
        params = extract(text, judge.registry.reference)
        value = json.dumps({"question_id": str(UUID(int=1)), "tenant_id": str(UUID(int=2)), "question": text}).encode()
        evidence = invented(judge.registry)
        answer = answered(evidence)
        names = ("market.competitors", "market.recompetes", "bench.cleared_count")
        stages: dict[str, Callable[[], Any]] = {
            "decode": lambda: decode_question(value, 65_536),
            "guard": lambda: judge.guard.check(text),
            "extract": lambda: extract(text, judge.registry.reference),
            "route": lambda: route(text, None, params, judge.registry, judge.vocabulary, scopes),
            "bind and validate": lambda: validate(names, judge.registry, params, scopes),
            "suppress": lambda: suppress(evidence, 11),
            "render": lambda: rendering(evidence),
            "gate, 3 sentences": lambda: gate(SENTENCES, evidence, 1.0),
            "encode": lambda: encode(answer),
        }
        for name, stage in stages.items():

            async def once(stage: Callable[[], Any] = stage) -> None:
                stage()

            figures += await _timed(name, once)
        worst = 0.0
        for text in HOSTILE:
            started = time.thread_time()
            await judge.judge(text[:4_000], None, scopes, Deadline.after(5))
            worst = max(worst, time.thread_time() - started)
        figures.append(Figure(PART, "4,000 hostile characters, worst", worst * 1e6, "us"))
    return figures


SENTENCES = "VENDOR 1 SYSTEMS LLC obligated $1,000,000.00. VENDOR 2 SYSTEMS LLC obligated $900,000.00. Rank 1 is VENDOR 1 SYSTEMS."


def invented(registry: Registry) -> tuple[Evidence, ...]:
    """Evidence of the size of a usual answer: 20 competitors and a row of the bench."""
    found: list[Evidence] = []
    for name, rows in (("market.competitors", 20), ("bench.cleared_count", 1)):
        intent = registry.by_name[name]
        found.append(
            Evidence(
                id=f"e{len(found) + 1}", intent=name, plane=intent.plane, heading=intent.heading, noun=intent.noun,
                columns=intent.columns, as_of=date(2026, 12, 1), k=11 if intent.plane == "bench" else None,
                rows=tuple(tuple(_cell(c.type, c.name, n) for c in intent.columns) for n in range(1, rows + 1)),
            )
        )  # fmt: skip
    return tuple(found)


def _cell(kind: ColumnType, name: str, row: int) -> Any:
    match kind:
        case ColumnType.MONEY:
            return Decimal(1_100_000 - 100_000 * row if row < 11 else 1_000).quantize(Decimal("0.01"))
        case ColumnType.PERCENT:
            return Decimal("4.5")
        case ColumnType.COUNT | ColumnType.RANK | ColumnType.DURATION:
            return 20 + row if kind is ColumnType.COUNT else row
        case ColumnType.DATE:
            return date(2026, 12, 1)
        case ColumnType.ENTITY:
            return f"VENDOR {row} SYSTEMS LLC"
        case _:
            return f"{name} {row}"


def answered(evidence: tuple[Evidence, ...]) -> Answer:
    return Answer(
        question_id=UUID(int=1), tenant_id=UUID(int=2), status=Status.ANSWERED, route=Route.PLAN, answer=rendering(evidence),
        rationale_source=RationaleSource.DETERMINISTIC, evidence=tuple(map(to_wire, evidence)),
        faithfulness=Faithfulness.PASSED, registry_digest="sha256:" + "0" * 64, answered_at=datetime.now(UTC), elapsed_ms=1,
    )  # fmt: skip


async def _timed(name: str, work: Callable[[], Awaitable[None]]) -> tuple[Figure, Figure]:
    for _ in range(REPEATS // 10):
        await work()
    times: list[float] = []
    for _ in range(REPEATS):
        started = time.perf_counter_ns()
        await work()
        times.append((time.perf_counter_ns() - started) / 1_000)
    times.sort()
    late = times[int(len(times) * 0.99)]
    return Figure(PART, name, statistics.median(times), "us"), Figure(PART, f"{name}, p99", late, "us")


if __name__ == "__main__":
    print("\n".join(lines(asyncio.run(measure()))))
