"""The dead letter topic, read and replayed.

A replay writes chosen records back to the questions topic, as they came, in transactions that also note what was
replayed: a ledger in the offsets of a group of its own, as a lane keeps one. Interrupted, it loses nothing and
repeats nothing; run again, it goes on.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.structs import OffsetAndMetadata
from msgspec import Struct

from consumer.errors import PlannerError, Unreachable
from consumer.kafka import client_options
from consumer.settings import Settings
from consumer.stream.ledger import Ledger
from consumer.stream.records import DLT_PREFIXES, REASON, Headers

CONNECT_SECONDS = 15.0
POLL_MS = 500
QUIET_POLLS = 20
"""Empty polls before what is left is taken for transaction markers, which are offsets and no records."""
BATCH = 100
TRANSACTION_SECONDS = 30.0


class Letter(Struct, frozen=True):
    """One dead letter where it lies, with the record's own key, value and headers."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers

    def header(self, name: str) -> bytes | None:
        return next((value for key, value in reversed(self.headers) if key == name), None)

    @property
    def reason(self) -> str:
        return (self.header(REASON) or b"unknown").decode("utf-8", "replace")

    @property
    def origin(self) -> str:
        """Topic, partition and offset of the record that could not be answered."""
        topic = (self.header("kafka_dlt-original-topic") or b"?").decode("utf-8", "replace")
        partition = int.from_bytes(self.header("kafka_dlt-original-partition") or b"", "big")
        offset = int.from_bytes(self.header("kafka_dlt-original-offset") or b"", "big")
        return f"{topic}/{partition}/{offset}"

    @property
    def own_headers(self) -> Headers:
        """The record's headers without what dead lettering added."""
        return tuple((k, v) for k, v in self.headers if not k.startswith(DLT_PREFIXES))


Choice = Callable[[Letter], bool]


async def letters(settings: Settings, chosen: Choice) -> AsyncGenerator[Letter, None]:
    """The dead letters that are `chosen`, in order within a partition, up to the end as it is now."""
    consumer: AIOKafkaConsumer = AIOKafkaConsumer(
        **client_options(settings), isolation_level="read_committed", enable_auto_commit=False
    )
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            await consumer.start()
            ends = await _assign(consumer, settings.topic_dlt)
    except (KafkaError, OSError, TimeoutError) as error:
        await consumer.stop()
        raise Unreachable(f"Kafka at {settings.kafka_bootstrap}: {type(error).__name__}") from None
    try:
        quiet = 0
        while ends and quiet < QUIET_POLLS:
            polled = await consumer.getmany(timeout_ms=POLL_MS)
            quiet = 0 if polled else quiet + 1
            for records in polled.values():
                for record in records:
                    letter = Letter(
                        record.partition,
                        record.offset,
                        record.timestamp,
                        record.key,
                        record.value,
                        tuple(record.headers),
                    )
                    if chosen(letter):
                        yield letter
            for partition in list(ends):
                if await consumer.position(partition) >= ends[partition]:
                    del ends[partition]
    finally:
        await consumer.stop()


async def _assign(consumer: AIOKafkaConsumer, topic: str) -> dict[TopicPartition, int]:
    """Takes every partition from its beginning; the offset at which each ends now, empty ones left out."""
    await consumer.topics()  # fetches the metadata that the next line reads
    numbers = consumer.partitions_for_topic(topic)
    if not numbers:
        raise PlannerError(f"there is no topic {topic}; `planner topics` creates it")
    partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
    consumer.assign(partitions)
    ends, starts = await consumer.end_offsets(partitions), await consumer.beginning_offsets(partitions)
    await consumer.seek_to_beginning(*partitions)
    return {p: end for p, end in ends.items() if end > starts[p]}


class Replayed(Struct, frozen=True):
    """How many letters were written back, and how many had been before."""

    written: int
    before: int


async def replay(settings: Settings, chosen: Choice, progress: Callable[[int], None]) -> Replayed:
    """Writes the chosen letters back to the questions topic, each once however often it is run.

    `progress` is told the number written so far. Raises Unreachable, or PlannerError when a ledger is full.
    """
    group = f"{settings.group}-dlq"
    async with _writing(settings, group) as (producer, ledgers):
        written = before = 0
        batch: list[Letter] = []
        # Every letter passes the ledger, also those not chosen: they stay pending for a later replay.
        async for letter in letters(settings, lambda _: True):
            ledger = ledgers.setdefault(letter.partition, Ledger(0))
            fresh = ledger.read(letter.offset)
            if not chosen(letter):
                continue
            if not fresh:
                before += 1
                continue
            batch.append(letter)
            if len(batch) == BATCH:
                written += await _write(settings, group, producer, ledgers, batch)
                progress(written)
                batch = []
        written += await _write(settings, group, producer, ledgers, batch)
        progress(written)
    return Replayed(written, before)


async def _write(
    settings: Settings, group: str, producer: AIOKafkaProducer, ledgers: dict[int, Ledger], batch: Sequence[Letter]
) -> int:
    """One transaction: the letters as they came, and the ledgers that say so."""
    if not batch:
        return 0
    for letter in batch:
        ledgers[letter.partition].settle(letter.offset)
    touched = {letter.partition for letter in batch}
    if any(ledgers[partition].full for partition in touched):
        raise PlannerError("too many letters were left between those replayed; replay the oldest ones first")
    offsets = {
        TopicPartition(settings.topic_dlt, p): OffsetAndMetadata(ledgers[p].watermark, ledgers[p].metadata())
        for p in touched
    }
    async with asyncio.timeout(TRANSACTION_SECONDS):
        await producer.begin_transaction()
        sends = [
            await producer.send(
                settings.topic_questions, letter.value, letter.key, letter.partition, headers=list(letter.own_headers)
            )
            for letter in batch
        ]
        await asyncio.gather(*sends)
        await producer.send_offsets_to_transaction(offsets, group)
        await producer.commit_transaction()
    return len(batch)


@contextlib.asynccontextmanager
async def _writing(settings: Settings, group: str) -> AsyncGenerator[tuple[AIOKafkaProducer, dict[int, Ledger]], None]:
    """The producer of replays, which fences an earlier one, and the ledgers as that one left them."""
    options: dict[str, Any] = client_options(settings)
    producer: AIOKafkaProducer = AIOKafkaProducer(
        **options, transactional_id=f"{group}-replay", max_request_size=settings.max_answer_bytes
    )
    admin = AIOKafkaAdminClient(**options)
    async with contextlib.AsyncExitStack() as stack:
        for client, stop in ((producer, producer.stop), (admin, admin.close)):
            stack.push_async_callback(stop)
            try:
                await asyncio.wait_for(client.start(), CONNECT_SECONDS)
            except (KafkaError, OSError, TimeoutError) as error:
                raise Unreachable(f"Kafka at {settings.kafka_bootstrap}: {type(error).__name__}") from None
        stored = await asyncio.wait_for(admin.list_consumer_group_offsets(group), CONNECT_SECONDS)
        ledgers = {
            p.partition: Ledger.resume(kept.offset, kept.metadata)
            for p, kept in stored.items()
            if p.topic == settings.topic_dlt and kept.offset >= 0
        }
        yield producer, ledgers
