"""The same service in FastStream's idioms: a batch subscriber that commits what it has answered, at least once.

A subscriber that runs handlers side by side acknowledges before they run, so that a crash loses questions; the batch
subscriber is the one that is at least once and still answers many at a time.
"""

import asyncio
import contextlib
import sys
from collections.abc import AsyncGenerator
from typing import Any

import msgspec
import uvloop
from faststream import AckPolicy, FastStream
from faststream.kafka import KafkaBroker, KafkaMessage

from bench.work import Sent, Task, Work, opened


def app(task: Task) -> FastStream:
    broker = KafkaBroker(task.kafka, logger=None)
    slots = asyncio.Semaphore(task.concurrency)
    works: list[Work] = []

    async def answer(value: bytes) -> Sent:
        async with slots:
            return await works[0](value)

    @broker.subscriber(
        task.questions, group_id=task.group, batch=True, max_records=task.batch, auto_offset_reset="earliest",
        ack_policy=AckPolicy.NACK_ON_ERROR,
    )  # fmt: skip
    async def handle(_: Any, message: KafkaMessage) -> None:
        answered = await asyncio.gather(*(answer(record.value) for record in message.raw_message))
        # `publish_batch` sends one batch of the client, 16 KiB, and fails on more
        answers = (broker.publish(value, task.answers) for value, _ in answered)
        events = (broker.publish(event, task.audit) for _, event in answered if event is not None)
        await asyncio.gather(*answers, *events)

    @contextlib.asynccontextmanager
    async def lifespan() -> AsyncGenerator[None]:
        async with opened(task) as work:
            works.append(work)
            yield

    return FastStream(broker, logger=None, lifespan=lifespan)


if __name__ == "__main__":
    uvloop.run(app(msgspec.json.decode(sys.argv[1], type=Task)).run())
