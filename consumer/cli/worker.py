"""`planner worker`: the process that answers questions."""

import asyncio
import contextlib
import signal
import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from consumer import service
from consumer.cli import Configured
from consumer.errors import Unreachable
from consumer.kafka import client_options
from consumer.observe import health, logs, metrics
from consumer.settings import Settings
from consumer.stream.handler import handler
from consumer.stream.lane import Pace, State
from consumer.stream.records import Routes
from consumer.stream.worker import Limits, Worker

CONNECT_SECONDS = 10.0
STUCK_SECONDS = 30.0
"""A poll loop that has not gone round for this long stands still: each round waits a tenth of a second."""
REBALANCE_MARGIN_SECONDS = 30.0


async def worker(*, settings: Configured) -> None:
    """Answers questions until SIGTERM or Ctrl-C, then finishes what is in flight and leaves.

    Reads PLANNER_TOPIC_QUESTIONS as the group PLANNER_GROUP, queries as PLANNER_DATABASE_URL, and serves /metrics,
    /livez and /readyz on PLANNER_HTTP_PORT.
    """
    logs.configure(settings.log_level)
    async with service.answerer(settings) as answerer, _clients(settings) as (consumer, admin):
        running = Worker(
            consumer=consumer,
            admin=admin,
            producer_options={**client_options(settings), "max_request_size": settings.max_answer_bytes},
            group=settings.group,
            topic=settings.topic_questions,
            dead_letters=settings.topic_dlt,
            handler=handler(answerer, Routes.of(settings), settings.max_question_bytes),
            limits=Limits(
                concurrency=settings.concurrency,
                in_flight_bytes=settings.in_flight_bytes,
                record_bytes=settings.max_answer_bytes,
                drain_seconds=settings.drain_seconds,
                pace=Pace(settings.commit_interval_ms / 1_000, settings.commit_batch),
            ),
        )
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, running.stop)
        page = health.app(
            metrics.REGISTRY, lambda: _live(running), lambda: [*_ready(running), *answerer.tenancy.problems()]
        )
        async with health.serve(page, settings.http_host, settings.http_port):
            await running.run()


def _live(running: Worker) -> Sequence[str]:
    return ["not polling"] if time.monotonic() - running.polled_at > STUCK_SECONDS else []


def _ready(running: Worker) -> Sequence[str]:
    problems = list(_live(running))
    if not running.owned:
        problems.append("no partition assigned")
    if any(owned.lane.state is not State.READY for owned in running.owned.values()):
        problems.append("a lane is not ready")
    return problems


@contextlib.asynccontextmanager
async def _clients(settings: Settings) -> AsyncGenerator[tuple[AIOKafkaConsumer, AIOKafkaAdminClient], None]:
    """The consumer and the admin client, started. Raises Unreachable when no broker answers."""
    options = client_options(settings)
    consumer: AIOKafkaConsumer = AIOKafkaConsumer(**options, **_membership(settings))
    admin = AIOKafkaAdminClient(**options)
    async with contextlib.AsyncExitStack() as stack:
        for client, stop in ((consumer, consumer.stop), (admin, admin.close)):
            stack.push_async_callback(stop)
            try:
                await asyncio.wait_for(client.start(), CONNECT_SECONDS)
            except (KafkaError, TimeoutError):
                raise Unreachable(
                    f"no Kafka broker answers at {settings.kafka_bootstrap}; is PLANNER_KAFKA_BOOTSTRAP right?"
                ) from None
        yield consumer, admin


def _membership(settings: Settings) -> dict[str, Any]:
    """The consumer's own arguments; its time outs only make sense together.

    A member is given up after the session's silence. A rebalance waits for every member to let go, so it must allow
    the whole drain: the library's default is the session time out, in which a partition changed hands while its old
    owner still worked. The poll loop never waits for a question, so the poll interval is only a net under it.
    """
    rebalance_ms = int((settings.drain_seconds + REBALANCE_MARGIN_SECONDS) * 1_000)
    return {
        "group_id": settings.group,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_committed",
        "session_timeout_ms": settings.session_timeout_ms,
        "heartbeat_interval_ms": settings.session_timeout_ms // 10,
        "rebalance_timeout_ms": max(rebalance_ms, settings.session_timeout_ms),
        "max_poll_interval_ms": max(300_000, 2 * rebalance_ms),
        "max_partition_fetch_bytes": 1_048_576,
    }
