"""`planner sink`: the process that stores audit events in Postgres."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncGenerator, Sequence

import asyncpg
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError

from consumer.audit.checkpoint import read_private_key
from consumer.audit.sink import Notary, Sink
from consumer.cli import Configured
from consumer.errors import Misconfigured, Unreachable
from consumer.kafka import client_options
from consumer.observe import health, logs, metrics
from consumer.settings import Settings
from consumer.store.preflight import SINK, Inspection

CONNECT_SECONDS = 10.0
STUCK_SECONDS = 120.0
"""A sink that has not polled for this long is stuck: its longest wait, one statement in an outage, is a quarter."""


async def sink(*, settings: Configured) -> None:
    """Stores audit events in Postgres, exactly once, until SIGTERM or Ctrl-C.

    Reads the audit topic as the group PLANNER_GROUP with `-sink` added, writes as PLANNER_SINK_DATABASE_URL, and
    serves /metrics, /livez and /readyz on PLANNER_HTTP_PORT.
    """
    logs.configure(settings.log_level)
    async with assembled(settings) as running:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, running.stop)

        def live() -> Sequence[str]:
            return ["not polling"] if time.monotonic() - running.polled_at > STUCK_SECONDS else []

        def ready() -> Sequence[str]:
            return live() or ([] if running.consumer.assignment() else ["no partition assigned"])

        async with health.serve(health.app(metrics.REGISTRY, live, ready), settings.http_host, settings.http_port):
            await running.run()


@contextlib.asynccontextmanager
async def assembled(settings: Settings) -> AsyncGenerator[Sink, None]:
    """A sink with its consumer, pool and notary started, stopped when the block ends.

    Raises Misconfigured for a missing setting or a role that could change the trail, Unreachable when Kafka or Postgres
    does not answer.
    """
    if not settings.sink_database_url:
        raise Misconfigured("PLANNER_SINK_DATABASE_URL is not set; the sink writes as the role planner_sink")
    key = read_private_key(settings.audit_signing_key) if settings.audit_signing_key else None
    options = client_options(settings)
    consumer: AIOKafkaConsumer = AIOKafkaConsumer(
        **options,
        group_id=f"{settings.group}-sink",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        isolation_level="read_committed",  # an aborted transaction's events never happened
        session_timeout_ms=settings.session_timeout_ms,
    )
    producer: AIOKafkaProducer | None = AIOKafkaProducer(**options) if key and settings.topic_checkpoints else None
    async with contextlib.AsyncExitStack() as stack:
        pool = await _pool(settings)
        stack.push_async_callback(_close, pool)
        await Inspection(pool, (), SINK).refuse()
        for client in (consumer, producer):
            if client is not None:
                stack.push_async_callback(client.stop)
                await _start(client, settings)
        notary = Notary(key, settings.checkpoint_rows, producer, settings.topic_checkpoints)
        yield Sink(consumer, pool, settings.topic_audit, settings.sink_batch, notary)


async def _pool(settings: Settings) -> asyncpg.Pool:
    try:
        return await asyncpg.create_pool(
            settings.sink_database_url,
            min_size=1,
            max_size=2,
            timeout=CONNECT_SECONDS,
            statement_cache_size=settings.statement_cache,
        )
    except (OSError, TimeoutError, asyncpg.PostgresError) as error:
        raise Unreachable(f"Postgres of PLANNER_SINK_DATABASE_URL: {type(error).__name__}; is it up?") from None


async def _close(pool: asyncpg.Pool) -> None:
    try:
        await asyncio.wait_for(pool.close(), CONNECT_SECONDS)
    except TimeoutError:
        pool.terminate()


async def _start(client: AIOKafkaConsumer | AIOKafkaProducer, settings: Settings) -> None:
    try:
        await asyncio.wait_for(client.start(), CONNECT_SECONDS)
    except (KafkaError, TimeoutError):
        raise Unreachable(
            f"no Kafka broker answers at {settings.kafka_bootstrap}; is PLANNER_KAFKA_BOOTSTRAP right?"
        ) from None
