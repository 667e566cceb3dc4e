"""A worker with its clients, as the settings say: what `planner worker` runs, and tests with a handler of their own."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from consumer.errors import Unreachable
from consumer.kafka import client_options
from consumer.settings import Settings
from consumer.stream.lane import Pace
from consumer.stream.points import Reached, unwatched
from consumer.stream.records import Handler
from consumer.stream.worker import Limits, Worker

CONNECT_SECONDS = 10.0
STOP_SECONDS = 5.0
REBALANCE_SECONDS = 60.0
FETCH_BYTES = 262_144
"""A poll's share of one partition: about what its ledger lets a worker take on at once."""
LETTER_BYTES = 1_048_576
"""The largest dead letter: Kafka's default `max.message.bytes`, so about the largest record there can be."""
REQUEST_BYTES = 2 * LETTER_BYTES
"""What the client may send at once. Sizes are ours to check, before a transaction begins."""


@contextlib.asynccontextmanager
async def streaming(settings: Settings, handler: Handler, reached: Reached = unwatched) -> AsyncGenerator[Worker, None]:
    """A worker that `run`s; its clients are stopped at the end. Raises Unreachable when no broker answers."""
    options = client_options(settings)
    consumer: AIOKafkaConsumer = AIOKafkaConsumer(**options, **membership(settings))
    admin = AIOKafkaAdminClient(**options)
    async with contextlib.AsyncExitStack() as stack:
        for client, stop in ((consumer, consumer.stop), (admin, admin.close)):
            stack.push_async_callback(_bounded, stop)
            try:
                await asyncio.wait_for(client.start(), CONNECT_SECONDS)
            except (KafkaError, TimeoutError):
                raise Unreachable(
                    f"no Kafka broker answers at {settings.kafka_bootstrap}; is PLANNER_KAFKA_BOOTSTRAP right?"
                ) from None
        yield Worker(
            consumer=consumer,
            admin=admin,
            producer_options={**options, "max_request_size": REQUEST_BYTES},
            group=settings.group,
            topic=settings.topic_questions,
            dead_letters=settings.topic_dlt,
            ours=frozenset((settings.topic_answers, settings.topic_audit)),
            handler=handler,
            limits=Limits(
                concurrency=settings.concurrency,
                in_flight_bytes=settings.in_flight_bytes,
                letter_bytes=LETTER_BYTES,
                drain_seconds=settings.drain_seconds,
                pace=Pace(settings.commit_interval_ms / 1_000, settings.commit_batch),
            ),
            reached=reached,
        )


def membership(settings: Settings) -> dict[str, Any]:
    """The consumer's own arguments; its time outs only make sense together.

    A member is given up after the session's silence; ten heartbeats fit into it, and a transaction (15 s) ends before
    it does. A rebalance waits for every member, which must get time to commit even when a broker is slow: the
    library's default for that is the session time out. The poll loop never waits for a question, so the poll interval
    is only a net under it, wider than a drain.
    """
    return {
        "group_id": settings.group,
        "enable_auto_commit": False,
        "auto_offset_reset": "earliest",
        "isolation_level": "read_committed",
        "session_timeout_ms": settings.session_timeout_ms,
        "heartbeat_interval_ms": settings.session_timeout_ms // 10,
        "rebalance_timeout_ms": int(max(REBALANCE_SECONDS * 1_000, settings.session_timeout_ms)),
        "max_poll_interval_ms": int(max(300_000, 2_000 * settings.drain_seconds)),
        "max_partition_fetch_bytes": FETCH_BYTES,
    }


async def _bounded(stop: Callable[[], Awaitable[None]]) -> None:
    """Stops a client, which waits for brokers that may be away (aiokafka#773)."""
    with contextlib.suppress(KafkaError, TimeoutError, OSError):
        await asyncio.wait_for(stop(), STOP_SECONDS)
