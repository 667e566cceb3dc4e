"""Asks as any service would: publishes a question and waits for its answer on Kafka, read committed."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError

from consumer import topics
from consumer.deadline import Deadline
from consumer.errors import PlannerError, Unreachable
from consumer.kafka import client_options
from consumer.settings import Settings
from schemas import Answer, Question

START_SECONDS = 20.0
POLL_MS = 500
ORIGINAL_PARTITION, ORIGINAL_OFFSET = "kafka_dlt-original-partition", "kafka_dlt-original-offset"
REASON = "planner_dlt-reason"


class Replied(NamedTuple):
    """An answer event: its bytes as they stand on the topic, and decoded."""

    raw: bytes
    answer: Answer


class Undeliverable(PlannerError):
    """The question went to the dead letter topic: it will never be answered."""


class Asker:
    """Publishes questions and reads every answer and dead letter written since it started.

    Holds the answers that came for questions still awaited by someone else: `ask` may run many times at once.
    """

    def __init__(self, settings: Settings, consumer: AIOKafkaConsumer, producer: AIOKafkaProducer) -> None:
        self.settings, self.consumer, self.producer = settings, consumer, producer
        self.waiting: dict[str, asyncio.Future[Replied]] = {}
        self.published: dict[tuple[int, int], str] = {}

    async def ask(self, question: Question, deadline: Deadline, headers: Sequence[tuple[str, bytes]] = ()) -> Replied:
        """Publishes `question` under its tenant as key, and returns its answer.

        Raises `TimeoutError` when none came in time, `Undeliverable` when it became a dead letter, `Unreachable` when
        it could not be published.
        """
        name = str(question.question_id)
        self.waiting[name] = asyncio.get_running_loop().create_future()
        try:
            async with deadline.scope():
                sent = await self._publish(question, headers)
                self.published[sent.partition, sent.offset] = name
                return await self.waiting[name]
        finally:
            del self.waiting[name]

    async def _publish(self, question: Question, headers: Sequence[tuple[str, bytes]]) -> Any:
        try:
            return await self.producer.send_and_wait(
                self.settings.topic_questions,
                encoded(question),
                key=str(question.tenant_id).encode(),
                headers=[("content-type", b"application/json"), *headers],
            )
        except KafkaError as error:
            raise Unreachable(f"the question could not be published: {type(error).__name__}") from None

    async def listen(self) -> None:
        """Hands each answer to who waits for it, until cancelled."""
        while True:
            polled = await self.consumer.getmany(timeout_ms=POLL_MS)
            for partition, records in polled.items():
                for record in records:
                    if partition.topic == self.settings.topic_dlt:
                        self._letter(dict(record.headers))
                    elif record.value is not None:
                        self._answer(record.value)

    def _answer(self, raw: bytes) -> None:
        try:
            answer = msgspec.json.decode(raw, type=Answer)
        except msgspec.DecodeError:
            return  # not one of ours
        waiting = self.waiting.get(str(answer.question_id))
        if waiting and not waiting.done():
            waiting.set_result(Replied(raw, answer))

    def _letter(self, headers: Mapping[str, bytes]) -> None:
        place = headers.get(ORIGINAL_PARTITION, b""), headers.get(ORIGINAL_OFFSET, b"")
        name = self.published.get((int.from_bytes(place[0], "big"), int.from_bytes(place[1], "big")), "")
        waiting = self.waiting.get(name)
        if waiting and not waiting.done():
            reason = headers.get(REASON, b"unknown").decode(errors="replace")
            waiting.set_exception(
                Undeliverable(f"the question went to the dead letter topic ({reason}); `planner dlq list` shows it")
            )


@contextlib.asynccontextmanager
async def asker(settings: Settings) -> AsyncGenerator[Asker]:
    """An asker that hears every answer from now on, stopped at the end.

    Raises `Unreachable` when no broker answers and `PlannerError` when a topic is missing.
    """
    partitions = await _partitions(settings)
    options = client_options(settings)
    consumer = AIOKafkaConsumer(**options, isolation_level="read_committed", enable_auto_commit=False)
    producer = AIOKafkaProducer(**options, enable_idempotence=True)
    async with contextlib.AsyncExitStack() as stack:
        for client in (consumer, producer):
            stack.push_async_callback(client.stop)
        try:
            async with Deadline.after(START_SECONDS).scope():
                await asyncio.gather(consumer.start(), producer.start())
                consumer.assign(partitions)
                await consumer.seek_to_end(*partitions)
                for partition in partitions:  # the seek is lazy: asking for the position makes it so before we publish
                    await consumer.position(partition)
        except (KafkaError, OSError, TimeoutError) as error:
            raise Unreachable(f"Kafka at {settings.kafka_bootstrap}: {type(error).__name__}") from None
        made = Asker(settings, consumer, producer)
        listening = asyncio.create_task(made.listen())
        try:
            yield made
        finally:
            listening.cancel()
            await asyncio.wait([listening])


def encoded(question: Question) -> bytes:
    """The event without the fields that have their default, as a thin publisher would write it."""
    fields: dict[str, Any] = msgspec.to_builtins(question)
    return msgspec.json.encode({name: value for name, value in fields.items() if value is not None})


async def _partitions(settings: Settings) -> list[TopicPartition]:
    async with topics.admin(settings) as client:
        have = {one.topic: one.partitions for one in await topics.standing(client, settings)}
    for name in (settings.topic_questions, settings.topic_answers):
        if name not in have:
            raise PlannerError(f"the topic {name} does not exist; run `planner topics`")
    return [
        TopicPartition(name, number)
        for name in (settings.topic_answers, settings.topic_dlt)
        for number in range(have.get(name, 0))
    ]
