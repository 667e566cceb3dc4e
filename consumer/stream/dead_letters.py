"""The dead letter topic, read and replayed.

A replay is a transaction: records go back on the questions topic as they first came, and the group `GROUP-dlq` keeps,
as a ledger in the same transaction, which letters went. So one that is interrupted loses none, and run again it goes
on with the rest.
"""

import asyncio
import contextlib
import struct
from collections.abc import AsyncGenerator, Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import CoordinatorNotAvailableError, KafkaError, ProducerFenced
from aiokafka.structs import ConsumerRecord, OffsetAndMetadata
from msgspec import Struct

from consumer import topics
from consumer.deadline import Deadline
from consumer.errors import DeadLetterReason, PlannerError, Unreachable
from consumer.kafka import client_options
from consumer.settings import Settings
from consumer.stream.ledger import MAX_METADATA_BYTES, Ledger
from consumer.stream.places import Places
from consumer.stream.producing import send_all, started, stopped
from consumer.stream.records import DLT_PREFIXES, REASON, WITHOUT_VALUE, Headers, Outgoing

POLL_MS = 500
CONNECT_SECONDS = 20.0
BATCH = 100
BATCH_SECONDS = 25.0
TRANSACTION_TIMEOUT_MS = 30_000
"""The broker ends a transaction older than this: how long a replay that was killed can hide newer questions."""
REQUEST_BYTES = 2_097_152


class Letter(Struct, frozen=True):
    """One dead letter. `reason` is empty for a record that we did not write."""

    partition: int
    offset: int
    at: datetime
    reason: str
    original_topic: str
    original_partition: int | None
    original_offset: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers
    replayed: bool

    @property
    def name(self) -> str:
        return f"{self.partition}:{self.offset}"

    @property
    def replayable(self) -> bool:
        """Whether it still holds the record's own key and value."""
        return not any(name == WITHOUT_VALUE for name, _ in self.headers)


class Choice(Struct, frozen=True):
    """Which letters: all that match each filter that is given."""

    names: frozenset[tuple[int, int]] = frozenset()
    reasons: frozenset[DeadLetterReason] = frozenset()
    replayed: bool = True
    """Whether letters that were replayed before count too."""

    def takes(self, letter: Letter) -> bool:
        return (
            (not self.names or (letter.partition, letter.offset) in self.names)
            and (not self.reasons or letter.reason in self.reasons)
            and (self.replayed or not letter.replayed)
        )


class Box(NamedTuple):
    """The topic as it stood when we looked: where each partition ends, and what was replayed from it."""

    consumer: AIOKafkaConsumer
    producer: AIOKafkaProducer | None
    ends: dict[TopicPartition, int]
    ledgers: dict[TopicPartition, Ledger]
    questions_partitions: int


def group_of(settings: Settings) -> str:
    return f"{settings.group}-dlq"


@contextlib.asynccontextmanager
async def opened(settings: Settings, to_replay: bool = False) -> AsyncGenerator[Box]:
    """Raises Unreachable when no broker answers and PlannerError when the topic does not exist.

    `to_replay` starts the producer first, which ends whatever other replay runs: what it read of the ledgers is true
    only if nobody else can change them.
    """
    async with contextlib.AsyncExitStack() as stack:
        try:
            producer = await _producer(settings) if to_replay else None
            if producer is not None:
                stack.push_async_callback(stopped, producer)
            questions_partitions, ledgers = await _standing(settings)
            consumer: AIOKafkaConsumer = AIOKafkaConsumer(
                **client_options(settings), isolation_level="read_committed", enable_auto_commit=False,
                auto_offset_reset="earliest",
            )  # fmt: skip
            stack.push_async_callback(consumer.stop)
            async with Deadline.after(CONNECT_SECONDS).scope():
                await consumer.start()
                consumer.assign(list(ledgers))
                ends = await consumer.end_offsets(list(ledgers))
            yield Box(consumer, producer, ends, ledgers, questions_partitions)
        except (KafkaError, OSError, TimeoutError) as error:
            raise Unreachable(f"Kafka at {settings.kafka_bootstrap}: {type(error).__name__}") from None


async def _producer(settings: Settings) -> AIOKafkaProducer:
    options = {
        **client_options(settings),
        "transactional_id": f"{group_of(settings)}.{settings.topic_dlt}",
        "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
        "max_request_size": REQUEST_BYTES,
    }
    return await started(options, CONNECT_SECONDS)


async def _standing(settings: Settings) -> tuple[int, dict[TopicPartition, Ledger]]:
    """Partitions of the questions, and what was replayed of each partition of dead letters."""
    async with topics.admin(settings) as admin:
        places = Places(admin)
        count = await places.partitions(settings.topic_dlt)
        if not count:
            raise PlannerError(f"the topic {settings.topic_dlt} does not exist; run `planner topics`")
        partitions = [TopicPartition(settings.topic_dlt, number) for number in range(count)]
        stored = await _stored(admin, group_of(settings), partitions)
        ledgers = {
            partition: Ledger.resume(found.offset, found.metadata)
            if (found := stored.get(partition)) and found.offset >= 0
            else Ledger(0)
            for partition in partitions
        }
        return await places.partitions(settings.topic_questions), ledgers


async def _stored(
    admin: AIOKafkaAdminClient, group: str, partitions: list[TopicPartition]
) -> dict[TopicPartition, OffsetAndMetadata]:
    while True:  # within the admin's own time limit
        try:
            return await admin.list_consumer_group_offsets(group, partitions=partitions)
        except CoordinatorNotAvailableError:  # the first group that a cluster hears of makes the topic of the offsets
            await asyncio.sleep(POLL_MS / 1_000)


async def letters(box: Box, choice: Choice) -> AsyncGenerator[Letter]:
    """The chosen letters that were there when the box was opened, in order within each partition."""
    left = {partition: end for partition, end in box.ends.items() if end > 0}
    while left:
        polled = await box.consumer.getmany(timeout_ms=POLL_MS)
        for partition, records in polled.items():
            for record in records:
                if record.offset < box.ends[partition]:
                    letter = _letter(record, replayed=not box.ledgers[partition].read(record.offset))
                    if choice.takes(letter):
                        yield letter
        for partition in list(left):
            if await box.consumer.position(partition) >= left[partition]:
                del left[partition]


async def replay(box: Box, settings: Settings, chosen: Sequence[Letter], told: Callable[[int], None]) -> None:
    """Puts the letters back on the questions topic. `told` hears how many are done.

    Raises PlannerError when another replay took over, or when too many letters lie scattered among others to be
    remembered apart.
    """
    for first in range(0, len(chosen), BATCH):
        batch = chosen[first : first + BATCH]
        try:
            async with Deadline.after(BATCH_SECONDS).scope():
                await _transact(box, settings, batch)
        except ProducerFenced:
            raise PlannerError(f"another replay took over; {first} letters went before") from None
        told(first + len(batch))


async def _transact(box: Box, settings: Settings, batch: Sequence[Letter]) -> None:
    producer = box.producer
    assert producer is not None, "the box was not opened to replay"
    offsets: dict[TopicPartition, OffsetAndMetadata] = {}
    for letter in batch:
        partition = TopicPartition(settings.topic_dlt, letter.partition)
        ledger = box.ledgers[partition]
        ledger.settle(letter.offset)
        offsets[partition] = OffsetAndMetadata(ledger.watermark, ledger.metadata())
    if any(len(stored.metadata) > MAX_METADATA_BYTES for stored in offsets.values()):
        raise PlannerError(
            "the chosen letters lie too scattered among others; replay whole partitions or fewer at once"
        )
    going = [[returned(letter, settings.topic_questions, box.questions_partitions)] for letter in batch]
    async with producer.transaction():
        await send_all(producer, going)
        await producer.send_offsets_to_transaction(offsets, group_of(settings))


def returned(letter: Letter, topic: str, partitions: int) -> Outgoing:
    """The record as it first came: its key and value, its partition, its headers without what we added."""
    headers = tuple((name, value) for name, value in letter.headers if not name.startswith(DLT_PREFIXES))
    partition = letter.partition if letter.partition < partitions else None
    return Outgoing(topic, letter.key, letter.value, headers, partition)


def _letter(record: ConsumerRecord[Any, Any], replayed: bool) -> Letter:
    headers = tuple((name, value) for name, value in record.headers)
    last = dict(headers)
    return Letter(
        partition=record.partition,
        offset=record.offset,
        at=datetime.fromtimestamp(record.timestamp / 1_000, UTC),
        reason=(last.get(REASON) or b"").decode("utf-8", "replace"),
        original_topic=(last.get("kafka_dlt-original-topic") or b"").decode("utf-8", "replace"),
        original_partition=_number(last.get("kafka_dlt-original-partition"), ">i"),
        original_offset=_number(last.get("kafka_dlt-original-offset"), ">q"),
        key=record.key,
        value=record.value,
        headers=headers,
        replayed=replayed,
    )


def _number(value: bytes | None, form: str) -> int | None:
    return struct.unpack(form, value)[0] if value and len(value) == struct.calcsize(form) else None
