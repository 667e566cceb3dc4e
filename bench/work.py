"""What a program of the bench does with one question, from the record's value to what it sends.

`statements` runs what the planner would run, read from a file, and sends the rows: no guard, no plan, no words, no
suppression. `planner` asks the planner itself, so that only what is around it differs.
"""

import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal
from uuid import UUID, uuid4

import asyncpg
import msgspec

from bench import mix
from consumer import service
from consumer.deadline import Deadline
from consumer.planner.answer import Asked
from consumer.settings import Settings
from consumer.stack.sample import SCOPES
from schemas.codec import decode_question, encode

BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
PREAMBLE = "SELECT set_config('app.tenant_id', $1, true), set_config('statement_timeout', $2, true)"
QUESTION_BYTES = 65_536

Sent = tuple[bytes, bytes | None]
"""The answer, and the audit event of a plan of two or more."""
Work = Callable[[bytes], Awaitable[Sent]]


class Task(msgspec.Struct):
    """What a program of the bench is told on its command line, as JSON."""

    work: Literal["statements", "planner"]
    kafka: str
    postgres: str
    questions: str
    answers: str
    audit: str
    group: str
    calls: str
    concurrency: int
    pool: int
    batch: int


class Question(msgspec.Struct):
    question_id: UUID
    tenant_id: UUID
    question: str


@contextlib.asynccontextmanager
async def opened(task: Task) -> AsyncGenerator[Work]:
    async with _statements(task) if task.work == "statements" else _planner(task) as work:
        yield work


@contextlib.asynccontextmanager
async def _statements(task: Task) -> AsyncGenerator[Work]:
    planned = mix.read(Path(task.calls))
    async with asyncpg.create_pool(task.postgres, min_size=2, max_size=task.pool, statement_cache_size=256) as pool:

        async def work(value: bytes) -> Sent:
            question = msgspec.json.decode(value, type=Question)
            calls = planned[question.question]
            rows = await _rows(pool, question.tenant_id, calls) if calls else []
            answer = {"question_id": question.question_id, "status": "answered", "evidence": rows}
            if len(rows) < 2:
                return msgspec.json.encode(answer), None
            event = {"question_id": question.question_id, "counts": [len(r) for r in rows]}
            return msgspec.json.encode(answer), msgspec.json.encode(event)

        yield work


async def _rows(pool: asyncpg.Pool, tenant_id: UUID, calls: tuple[mix.Call, ...]) -> list[list[dict[str, object]]]:
    """The rows of each statement, of one snapshot, as the tenant."""
    async with pool.acquire() as held:
        await held.execute(BEGIN)
        await held.fetchrow(PREAMBLE, str(tenant_id), "3000")
        found: list[list[dict[str, object]]] = []
        for call in calls:
            arguments = [tenant_id if value is ... else value for value in call.arguments]
            found.append([dict(row) for row in await held.fetch(call.statement, *arguments)])
        await held.execute("ROLLBACK")
    return found


@contextlib.asynccontextmanager
async def _planner(task: Task) -> AsyncGenerator[Work]:
    scopes = frozenset(SCOPES)
    async with service.answerer(Settings(database_url=task.postgres, database_pool=task.pool)) as answerer:

        async def work(value: bytes) -> Sent:
            question = decode_question(value, QUESTION_BYTES)
            today = datetime.now(UTC).date()
            asked = Asked(question.question_id, question.tenant_id, uuid4(), question.question, None, scopes, today)
            answer, event = await answerer.planner.answer(asked, Deadline.after(question.deadline_ms / 1_000))
            return encode(answer), None if event is None else encode(event)

        yield work
