"""A lane: one input partition, its ledger and its own transactional producer.

aiokafka has no KIP-447, so a broker can't fence a zombie by the group's generation; one `transactional.id` per input
partition, `group.topic.partition`, does it instead (aiokafka#844). Opening a lane starts the producer first, which
fences the last owner and ends its open transaction, and only then reads the committed offset: read earlier, it may be
up to 41 ms old. Questions are answered outside transactions; a transaction holds what finished since the last one:
answers, audit events, dead letters, and the offset with the ledger beside it.

After any error of the producer it is replaced, never mended: a failed send leaves a gap in its sequence numbers that
no later send can close (aiokafka#1017). Whether the lost transaction took place is read from the committed ledger;
if it did not, the same outputs are sent again from memory.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, ProducerFenced
from aiokafka.structs import OffsetAndMetadata

from consumer.observe import metrics
from consumer.stream.ledger import Ledger
from consumer.stream.records import Outgoing

log = logging.getLogger(__name__)

TRANSACTION_TIMEOUT_MS = 15_000
"""The broker aborts a transaction older than this. Below the session time out, so that a member is fenced before its
partitions are given away."""
TRANSACTION_SECONDS = 20.0
STOP_SECONDS = 5.0
FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS = 0.1, 5.0

Committed = Callable[[TopicPartition], Awaitable[OffsetAndMetadata | None]]

Stored = tuple[int, str]
"""What the group holds for the partition: offset and metadata."""
NOTHING: Stored = (-1, "")


class State(StrEnum):
    OPENING = "opening"
    READY = "ready"
    LOST = "lost"
    CLOSED = "closed"


class Finished(NamedTuple):
    """A settled record: its offset and the records that settle it."""

    offset: int
    records: Sequence[Outgoing]


class Pace(NamedTuple):
    """How long a finished answer waits for others, and how many a transaction takes."""

    interval_seconds: float
    most: int


class Lane:
    """Owns one partition from assignment to revocation. `open`, then `commit_loop` until `close`."""

    def __init__(
        self, partition: TopicPartition, group: str, options: dict[str, Any], pace: Pace, committed: Committed
    ) -> None:
        self.partition, self.group, self.pace, self.committed = partition, group, pace, committed
        self.transactional_id = f"{group}.{partition.topic}.{partition.partition}"
        self.options: dict[str, Any] = {
            **options,
            "transactional_id": self.transactional_id,
            "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
        }
        self.state = State.OPENING
        self.ledger = Ledger(0)
        self.stored: Stored = NOTHING
        self.finished: list[Finished] = []
        self.wake = asyncio.Event()
        self.idle = asyncio.Event()
        self.idle.set()
        self.producer: AIOKafkaProducer | None = None

    async def open(self) -> int:
        """Fences the last owner and reads its ledger; returns the offset to read from. Retries until cancelled."""
        backoff = FIRST_BACKOFF_SECONDS
        while True:
            try:
                await self._start_producer()
                self.stored = await self._read_stored()
            except (KafkaError, TimeoutError, OSError) as error:
                log.warning(
                    "lane can't open", extra={"partition": self.partition.partition, "error": type(error).__name__}
                )
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, LAST_BACKOFF_SECONDS)
            else:
                self.ledger = Ledger.resume(*self.stored) if self.stored != NOTHING else Ledger(0)
                self.state = State.READY
                return self.ledger.watermark

    def finish(self, offset: int, records: Sequence[Outgoing]) -> None:
        """Takes what settles the record at `offset`; it is visible after the lane's next transaction."""
        self.finished.append(Finished(offset, records))
        self.idle.clear()
        self.wake.set()

    async def commit_loop(self) -> None:
        """Commits what finishes, until cancelled. A lane that was fenced ends as LOST."""
        while self.state is State.READY:
            await self.wake.wait()
            if len(self.finished) < self.pace.most:
                await asyncio.sleep(self.pace.interval_seconds)
            self.wake.clear()
            batch, self.finished = self.finished[: self.pace.most], self.finished[self.pace.most :]
            if self.finished:
                self.wake.set()
            # Cancelled in mid commit, the transaction would still take place: it is awaited to its end.
            await _uninterrupted(self._settle(batch))
            if not self.finished:
                self.idle.set()

    def retire(self) -> None:
        """Begins no transaction any more. What is not committed is dropped: the next owner reads it again."""
        self.state = State.CLOSED

    async def close(self) -> None:
        self.retire()
        await self._stop_producer()

    async def _settle(self, batch: Sequence[Finished]) -> None:
        for item in batch:
            self.ledger.settle(item.offset)
        backoff = FIRST_BACKOFF_SECONDS
        while self.state is State.READY:
            attempted = self.attempt()
            try:
                with metrics.TRANSACTION_SECONDS.time():
                    async with asyncio.timeout(TRANSACTION_SECONDS):
                        await self._transact(batch, attempted)
            except (KafkaError, TimeoutError, OSError, AssertionError) as error:
                # AssertionError: aiokafka's own check that its producer is still usable
                if _is_fenced(error):
                    return self._lose()
                metrics.TRANSACTIONS.labels("abort").inc()
                metrics.LANE_REPLACED.labels(_reason(error)).inc()
                log.warning(
                    "transaction failed", extra={"partition": self.partition.partition, "error": _reason(error)}
                )
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, LAST_BACKOFF_SECONDS)
                if not await self._recovered(attempted):
                    continue
            self.stored = attempted
            metrics.TRANSACTIONS.labels("commit").inc()
            return metrics.TRANSACTION_RECORDS.observe(len(batch))

    async def _transact(self, batch: Sequence[Finished], attempted: Stored) -> None:
        producer = self.producer
        if producer is None:
            raise KafkaError("the lane has no producer")
        await producer.begin_transaction()
        sends = [
            await producer.send(r.topic, value=r.value, key=r.key, partition=r.partition, headers=list(r.headers))
            for item in batch
            for r in item.records
        ]
        # A commit succeeds though a send failed that nobody awaited (message_accumulator.flush_for_commit).
        await asyncio.gather(*sends)
        watermark, metadata = attempted
        await producer.send_offsets_to_transaction({self.partition: OffsetAndMetadata(watermark, metadata)}, self.group)
        await producer.commit_transaction()

    def attempt(self) -> Stored:
        """What a transaction would store now."""
        return self.ledger.watermark, self.ledger.metadata()

    async def _recovered(self, attempted: Stored) -> bool:
        """Replaces the producer; whether the transaction that failed for us took place all the same.

        The broker may have committed and its answer been lost. Starting a producer of the same id waits for the old
        transaction's end, so what is stored afterwards tells. If it is neither what we attempted nor what we stored
        before, another owner has been at work: the partition is no longer ours, though nobody told us yet.
        """
        while True:
            try:
                await self._start_producer()
                stored = await self._read_stored()
            except (KafkaError, TimeoutError, OSError):
                await asyncio.sleep(FIRST_BACKOFF_SECONDS)
                continue
            if stored not in (attempted, self.stored):
                self._lose()
            return stored == attempted

    async def _start_producer(self) -> None:
        await self._stop_producer()
        producer: AIOKafkaProducer = AIOKafkaProducer(**self.options)
        try:
            async with asyncio.timeout(TRANSACTION_SECONDS):
                await producer.start()
        except BaseException:
            await _stop(producer)
            raise
        self.producer = producer

    async def _stop_producer(self) -> None:
        producer, self.producer = self.producer, None
        if producer is not None:
            await _stop(producer)

    async def _read_stored(self) -> Stored:
        async with asyncio.timeout(TRANSACTION_SECONDS):
            stored = await self.committed(self.partition)
        return NOTHING if stored is None or stored.offset < 0 else (stored.offset, stored.metadata)

    def _lose(self) -> None:
        """Another owner started: what we hold is theirs to answer."""
        log.warning("lane fenced", extra={"partition": self.partition.partition})
        metrics.TRANSACTIONS.labels("fenced").inc()
        self.state = State.LOST
        self.finished.clear()
        self.idle.set()


async def _stop(producer: AIOKafkaProducer) -> None:
    # stop() flushes and may hang on a deleted topic or an absent broker
    with contextlib.suppress(KafkaError, TimeoutError, OSError):
        async with asyncio.timeout(STOP_SECONDS):
            await producer.stop()


async def _uninterrupted(work: Awaitable[None]) -> None:
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=TRANSACTION_SECONDS)
        raise


def _is_fenced(error: BaseException) -> bool:
    return isinstance(error, ProducerFenced) or isinstance(error.__cause__, ProducerFenced)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    return "broker" if isinstance(error, KafkaError) else "client"
