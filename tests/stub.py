"""A worker whose answers cost nothing: the real stream around an answerer that does what the question's words say.

`python -m tests.stub` reads the settings from the environment as `planner worker` does. Each point it reaches is a
line on stdout, so that a test waits for one. `STUB_DIE=sent:2` kills it with SIGKILL the second time it gets there.
Words: `plan` (an audit event too), `stored` (the same after asking the database), `slow SECONDS`, `away TIMES`
(Transient so often), `down` (Transient for ever), `large BYTES`, `break` (a fault of ours), `late` (ends at its
deadline).
"""

import asyncio
import os
import signal
import sys
import time
from collections import Counter
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
import uvloop

from consumer import settings as configuration
from consumer.deadline import Deadline
from consumer.errors import Transient
from consumer.observe import health, logs, metrics
from consumer.store.pool import close_pool, connection, open_pool
from consumer.stream.handler import Answered, Failure, handler
from consumer.stream.points import Point
from consumer.stream.records import Received, Routes, event_id
from consumer.stream.service import streaming
from schemas import Answer, PlanAnswered, Question
from schemas.answer import Faithfulness, Outcome, RationaleSource, Route, SelfConsistency, Status

DIGEST = "sha256:" + "0" * 64


class Stub:
    def __init__(self, pool: asyncpg.Pool | None) -> None:
        self.pool = pool
        self.attempts: Counter[UUID] = Counter()

    async def answer(self, question: Question, received: Received, deadline: Deadline) -> Answered:
        word, _, argument = question.question.partition(" ")
        text = "echo"
        match word:
            case "stored":
                assert self.pool is not None, "PLANNER_DATABASE_URL is not set"
                async with connection(self.pool, deadline) as held:
                    await held.fetchval("SELECT 1", timeout=deadline.remaining())
            case "slow":
                await asyncio.sleep(float(argument))
            case "away" if self.attempts[question.question_id] < int(argument):
                self.attempts[question.question_id] += 1
                raise Transient("away")
            case "down":
                raise Transient("down")
            case "break":
                raise KeyError(word)
            case "late":
                await asyncio.sleep(deadline.remaining() + 60)
            case "large":
                text = "x" * int(argument)
        planned = word in ("plan", "stored")
        return Answered(_answer(question, received, text, planned), _audit(question, received) if planned else None)

    def failed(self, question: Question, received: Received, failure: Failure) -> Answer:
        answer = _answer(question, received, failure.value, planned=False)
        return answer.__class__(
            **{**{f: getattr(answer, f) for f in answer.__struct_fields__}, "status": Status.FAILED}
        )


def _answer(question: Question, received: Received, text: str, planned: bool) -> Answer:
    extra = {"audit_event_id": event_id(received)} if planned else {}
    return Answer(
        question_id=question.question_id, tenant_id=question.tenant_id, status=Status.ANSWERED,
        route=Route.PLAN if planned else Route.INTENT, answer=text, rationale_source=RationaleSource.DETERMINISTIC,
        faithfulness=Faithfulness.PASSED, registry_digest=DIGEST, answered_at=datetime.now(UTC), elapsed_ms=0, **extra,
    )  # fmt: skip


def _audit(question: Question, received: Received) -> PlanAnswered:
    return PlanAnswered(
        event_id=event_id(received), tenant_id=question.tenant_id, occurred_at=datetime.now(UTC), intents=("stub",),
        param_kinds=(), node_count=1, suppressed_cells=0, faithfulness=Faithfulness.PASSED,
        self_consistency=SelfConsistency(samples=1, outcome=Outcome.STABLE), registry_digest=DIGEST,
        service_version="0",
    )  # fmt: skip


def _watch():
    deadly, _, count = os.environ.get("STUB_DIE", "").partition(":")
    passed: Counter[str] = Counter()
    quiet = bool(os.environ.get("STUB_QUIET"))

    def reached(point: Point, partition: int) -> None:
        passed[point.value] += 1
        if point.value == deadly and passed[deadly] == int(count or 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if not quiet:
            print(point.value, partition, time.time(), flush=True)

    return reached


async def main() -> None:
    settings = configuration.load()
    logs.configure(settings.log_level)
    url = settings.database_url
    pool = await open_pool(url, settings.database_pool, settings.statement_cache) if url else None
    answer = handler(Stub(pool), Routes.of(settings), settings.max_question_bytes)
    async with streaming(settings, answer, _watch()) as running:
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, running.stop)
        page = health.app(metrics.REGISTRY, lambda: running.facts().not_live(), lambda: running.facts().not_ready())
        async with health.serve(page, settings.http_host, settings.http_port) as port:
            print("port", port, time.time(), flush=True)
            await running.run()
    if pool is not None:
        await close_pool(pool)
    print("ended", 0, time.time(), flush=True)


if __name__ == "__main__":
    sys.exit(uvloop.run(main()))
