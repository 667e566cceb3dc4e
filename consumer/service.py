"""Puts the parts together: settings in, a planner and what a worker needs out. The one place that builds anything."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Coroutine
from datetime import UTC, datetime
from uuid import UUID

import asyncpg
from msgspec import Struct

import registry
from consumer import __version__
from consumer.authority import Authorize, open_authority
from consumer.deadline import Deadline
from consumer.errors import Misconfigured, Transient
from consumer.inference import open_inference
from consumer.observe import metrics, tracing
from consumer.planner.answer import Asked, Judge, Planner, Transaction
from consumer.planner.classify import vocabulary_of
from consumer.planner.guard import guard_of
from consumer.planner.propose import PlanCache
from consumer.settings import Settings
from consumer.store.pool import StatementTooLong, close_pool, open_pool
from consumer.store.preflight import Inspection, schemas_of
from consumer.store.tenant import tenant_transaction
from consumer.stream.handler import Answered, Failure
from consumer.stream.records import TRACE, Received, event_id
from registry import Registry
from registry.catalog import InvalidRegistry
from schemas import Answer, Question, Refusal
from schemas.answer import Faithfulness, RationaleSource, Route, Status

log = logging.getLogger(__name__)

PUBLIC = UUID(int=0)
VENDORS = "SELECT DISTINCT a.vendor FROM market.award AS a WHERE a.tenant_id = $1 AND a.vendor IS NOT NULL LIMIT 200000"
"""Names of vendors, whose words say nothing about people (Black & Veatch)."""
VENDORS_SECONDS = 10.0

FAILURES = {
    Failure.DEADLINE: "The question could not be answered in the time it allows. Ask again, or allow more time.",
    Failure.UNAVAILABLE: "A part of the service was away for as long as the question could wait. Ask again later.",
    Failure.INTERNAL: "The question could not be answered because of a fault in the service, which has been reported.",
}


class Answerer(Struct, frozen=True):
    """Turns the wire's question into the planner's and back, with the asker's rights."""

    planner: Planner
    default_scopes: frozenset[str]
    authorize: Authorize
    tenancy: Inspection

    async def answer(self, question: Question, received: Received, deadline: Deadline) -> Answered:
        with tracing.question(_origin(received)):
            return await self._answer(await self.authorize(question, received, deadline), received, deadline)

    async def _answer(self, question: Question, received: Received, deadline: Deadline) -> Answered:
        principal = question.principal
        scopes = self.default_scopes if principal is None else frozenset(principal.scopes)
        asked = Asked(
            question_id=question.question_id,
            tenant_id=question.tenant_id,
            event_id=event_id(received),
            question=question.question,
            intent=question.intent,
            scopes=scopes,
            as_of=datetime.now(UTC).date(),
        )
        answer, audit = await self.planner.answer(asked, deadline)
        return Answered(answer, audit)

    def failed(self, question: Question, received: Received, failure: Failure) -> Answer:
        message = FAILURES[failure]
        return Answer(
            question_id=question.question_id,
            tenant_id=question.tenant_id,
            status=Status.FAILED,
            route=Route.INTENT,
            answer=message,
            rationale_source=RationaleSource.DETERMINISTIC,
            faithfulness=Faithfulness.NOT_APPLICABLE,
            refusal=Refusal(code=failure.value, message=message),
            registry_digest=self.planner.registry.digest,
            answered_at=datetime.now(UTC),
            elapsed_ms=0,
        )


def _origin(received: Received) -> tracing.Origin:
    carried = ((name, received.header(name)) for name in TRACE)
    carrier = {name: value.decode("ascii", "replace") for name, value in carried if value is not None}
    return tracing.Origin(received.topic, received.partition, received.offset, carrier)


def load_registry(settings: Settings) -> Registry:
    """The registry that the settings name, proven. Raises Misconfigured with the file and what is wrong."""
    try:
        return registry.load(settings.registry)
    except InvalidRegistry as error:
        raise Misconfigured(f"PLANNER_REGISTRY: {error}") from None


@contextlib.asynccontextmanager
async def judge(settings: Settings) -> AsyncGenerator[Judge, None]:
    """All stages before a query, without Kafka or a database: what `planner explain` and `planner eval` run."""
    loaded = load_registry(settings)
    vocabulary = vocabulary_of(loaded)
    async with open_inference(settings, loaded, vocabulary) as inference:
        cache = PlanCache(0)
        yield Judge(loaded, guard_of(loaded), vocabulary, inference.proposer, settings.samples, cache)


@contextlib.asynccontextmanager
async def answerer(settings: Settings) -> AsyncGenerator[Answerer, None]:
    """A planner with its pool and model client, closed at the end.

    Raises Misconfigured for settings, a registry or a database that can't be served, Unreachable when Postgres does
    not answer.
    """
    if not settings.database_url:
        raise Misconfigured("PLANNER_DATABASE_URL is not set; the worker reads as the role planner_worker")
    loaded = load_registry(settings)
    vocabulary = vocabulary_of(loaded)
    pool = await open_pool(settings.database_url, settings.database_pool, settings.statement_cache)
    try:
        tenancy = Inspection(pool, schemas_of(loaded))
        await tenancy.refuse()
        async with (
            open_authority(settings) as authorize,
            open_inference(settings, loaded, vocabulary) as inference,
            _alongside(tenancy.repeat()),
        ):
            guard = guard_of(loaded, await _vendors(pool, settings))
            cache = PlanCache(settings.plan_cache)
            judging = Judge(loaded, guard, vocabulary, inference.proposer, settings.samples, cache)
            planner = Planner(judging, _transactions(pool, settings), settings.bench_k, inference.narrator)
            metrics.BUILD.info({"version": __version__, "registry_digest": loaded.digest})
            scopes = frozenset(s.strip() for s in settings.default_scopes.split(",") if s.strip())
            yield Answerer(planner, scopes, authorize, tenancy)
    finally:
        await close_pool(pool)


@contextlib.asynccontextmanager
async def _alongside(work: Coroutine[None, None, None]) -> AsyncGenerator[None, None]:
    """Runs `work` while the block does."""
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait({task})


def _transactions(pool: asyncpg.Pool, settings: Settings) -> Transaction:
    def transaction(tenant_id: UUID, deadline: Deadline):
        return tenant_transaction(pool, tenant_id, deadline, settings.statement_timeout_ms)

    return transaction


async def _vendors(pool: asyncpg.Pool, settings: Settings) -> tuple[str, ...]:
    """Names of public vendors; none when they can't be read now, which only makes the guard stricter."""
    timeout = int(VENDORS_SECONDS * 1_000)
    try:
        async with tenant_transaction(pool, PUBLIC, Deadline.after(VENDORS_SECONDS), timeout) as session:
            return tuple(row["vendor"] for row in await session.fetch(VENDORS, [PUBLIC]))
    except (Transient, StatementTooLong, asyncpg.PostgresError) as error:
        log.warning("vendor names can't be read", extra={"error": type(error).__name__})
        return ()
