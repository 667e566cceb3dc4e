"""Starting, sending with and stopping a transactional producer, each within a bound."""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError

from consumer.stream.records import Outgoing

log = logging.getLogger(__name__)

STOP_SECONDS = 2.0


class Unsendable(Exception):
    """The broker refuses a record of the settlement at `place`, each time it is sent."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


async def started(options: dict[str, Any], seconds: float) -> AIOKafkaProducer:
    """A producer that has its epoch: whoever had the same transactional id before is fenced."""
    producer: AIOKafkaProducer = AIOKafkaProducer(**options)
    try:
        async with asyncio.timeout(seconds):
            await producer.start()
    except BaseException:
        await stopped(producer)
        raise
    return producer


async def stopped(producer: AIOKafkaProducer) -> None:
    """Stops it, by force when it does not in time: `stop` flushes first, which waits for an absent broker, and hangs
    on a deleted topic. Its open transaction, if any, ends when the next producer of its id starts."""
    with contextlib.suppress(KafkaError, TimeoutError, OSError):
        async with asyncio.timeout(STOP_SECONDS):
            return await producer.stop()
    sender: Any = getattr(producer, "_sender", None)
    task: asyncio.Task[None] | None = sender and sender.sender_task
    if task is not None and not task.done():
        task.cancel()  # else it would try to send for ever
        await asyncio.wait([task], timeout=STOP_SECONDS)
    with contextlib.suppress(KafkaError, TimeoutError, OSError):
        async with asyncio.timeout(STOP_SECONDS):
            await producer.client.close()


async def send_all(producer: AIOKafkaProducer, settlements: Sequence[Sequence[Outgoing]]) -> None:
    """Sends every record and waits for each. A commit succeeds though a send failed that nobody awaited
    (message_accumulator.flush_for_commit)."""
    sends = [await _send(producer, record) for records in settlements for record in records]
    for result in await asyncio.gather(*sends, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


async def send_one_by_one(
    producer: AIOKafkaProducer, settlements: Sequence[Sequence[Outgoing]], refused: tuple[type[Exception], ...]
) -> None:
    """The same, a record at a time, so that it is known which one the broker refuses. Raises Unsendable."""
    for place, records in enumerate(settlements):
        for record in records:
            try:
                await (await _send(producer, record))
            except refused as error:
                raise Unsendable(place) from error


async def _send(producer: AIOKafkaProducer, record: Outgoing) -> asyncio.Future[Any]:
    return await producer.send(
        record.topic, value=record.value, key=record.key, partition=record.partition, headers=list(record.headers)
    )
