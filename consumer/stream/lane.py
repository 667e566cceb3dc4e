"""A lane: one input partition, its ledger and its own transactional producer.

aiokafka has no KIP-447, so a broker can't fence a zombie by the group's generation; one `transactional.id` per input
partition, `group.topic.partition`, does it instead (aiokafka#844). Opening a lane starts the producer first, which
fences the last owner and ends its open transaction, and only then reads the committed offset: read earlier, it may be
up to 41 ms old. Questions are answered outside transactions; a transaction holds what finished since the last one:
answers, audit events, dead letters, and the offset with the ledger beside it.

After any error of the producer it is replaced, never mended: a failed send leaves a gap in its sequence numbers that
no later send can close (aiokafka#1017). Whether the lost transaction took place is read from the committed ledger;
if it did not, the same outputs are sent again from memory. A record that the broker itself refuses is found by
sending one by one, and replaced by a dead letter.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.errors import (
    InvalidTopicError,
    KafkaError,
    MessageSizeTooLargeError,
    ProducerFenced,
    RecordListTooLargeError,
    TopicAuthorizationFailedError,
)
from aiokafka.structs import OffsetAndMetadata

from consumer.observe import metrics
from consumer.stream.ledger import Ledger
from consumer.stream.points import Point, Reached
from consumer.stream.producing import Unsendable, send_all, send_one_by_one, started, stopped
from consumer.stream.records import Received, Settlement

log = logging.getLogger(__name__)

TRANSACTION_TIMEOUT_MS = 15_000
"""The broker aborts a transaction older than this. Below the session time out, so that a member is fenced before its
partitions are given away."""
TRANSACTION_SECONDS = 20.0
GIVE_UP_SECONDS = 5.0
"""How long a lane that is told to end waits for its transaction: longer than one takes, shorter than an outage."""
FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS = 0.1, 5.0
CLOGGED_BATCHES = 2
SPACING, WIDEST_SECONDS = 2.0, 0.5
"""A busy lane begins a transaction no sooner than this many times what the last one took, up to the widest: where the
broker is what is short, transactions grow instead of getting more."""

REFUSED = (MessageSizeTooLargeError, RecordListTooLargeError, InvalidTopicError, TopicAuthorizationFailedError)
"""Errors that a record meets each time it is sent."""

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
    """A record and what settles it."""

    received: Received
    settlement: Settlement


Refuse = Callable[[Finished], Awaitable[Settlement]]
"""What settles a record whose own settlement no topic takes."""


class Pace(NamedTuple):
    """How long a finished answer waits for others, and how many a transaction takes."""

    interval_seconds: float
    most: int


class Surroundings(NamedTuple):
    """What a lane needs of its worker, the same for all lanes."""

    group: str
    producer_options: dict[str, Any]
    pace: Pace
    committed: Committed
    refuse: Refuse
    settled: Callable[[], None]
    reached: Reached


class Lane:
    """Owns one partition from assignment to revocation. `open`, then `commit_loop` until `close`."""

    def __init__(self, partition: TopicPartition, around: Surroundings) -> None:
        self.partition, self.around, self.pace = partition, around, around.pace
        self.options: dict[str, Any] = {
            **around.producer_options,
            "transactional_id": f"{around.group}.{partition.topic}.{partition.partition}",
            "transaction_timeout_ms": TRANSACTION_TIMEOUT_MS,
        }
        self.clock = asyncio.get_running_loop().time
        self.state = State.OPENING
        self.ledger = Ledger(0)
        self.stored: Stored = NOTHING
        self.finished: list[Finished] = []
        self.read_at: dict[int, float] = {}
        self.began_at = self.finished_at = self.lost_at = 0.0
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
            except (KafkaError, TimeoutError, OSError, AssertionError) as error:
                self._warn("lane can't open", error)
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, LAST_BACKOFF_SECONDS)
            else:
                self.ledger = Ledger.resume(*self.stored) if self.stored != NOTHING else Ledger(0)
                self.state = State.READY
                self.around.reached(Point.LANE_READY, self.partition.partition)
                return self.ledger.position

    def read(self, offset: int) -> bool:
        """Notes that the record at `offset` arrived; whether it is to be answered now."""
        fresh = self.ledger.read(offset)
        if fresh:
            self.read_at[offset] = self.clock()
        return fresh

    def oldest_read_at(self, now: float) -> float:
        """When the oldest record was read that is not settled; `now` when there is none."""
        return next(iter(self.read_at.values()), now)

    def finish(self, received: Received, settlement: Settlement) -> None:
        """Takes what settles the record; it is visible after the lane's next transaction. Too late for a lane that is
        not READY: the next owner reads the record again."""
        if self.state is State.READY:
            if not self.finished:
                self.finished_at = self.clock()
            self.finished.append(Finished(received, settlement))
            self.idle.clear()
            self.wake.set()

    @property
    def clogged(self) -> bool:
        """Whether what is finished can't be committed as fast as it comes."""
        return len(self.finished) >= CLOGGED_BATCHES * self.pace.most

    @property
    def uncommitted_seconds(self) -> float:
        """Age of the oldest batch that is finished and not committed."""
        return 0.0 if self.idle.is_set() else self.clock() - self.finished_at

    async def commit_loop(self) -> None:
        """Commits what finishes, until cancelled. A lane that was fenced ends as LOST.

        A lane that was quiet commits at once; a busy one waits out the interval since its last transaction began, so
        that a transaction holds many answers.
        """
        interval = self.pace.interval_seconds
        while self.state is State.READY:
            await self.wake.wait()
            if len(self.finished) < self.pace.most:
                await asyncio.sleep(max(0.0, self.began_at + interval - self.clock()))
            self.wake.clear()
            batch, self.finished = self.finished[: self.pace.most], self.finished[self.pace.most :]
            if self.finished:
                self.wake.set()
            self.began_at = self.clock()
            # Cancelled in mid commit, the transaction would still take place: it is awaited to its end.
            await _uninterrupted(self._settle(batch))
            self.finished_at = self.clock()
            took = self.finished_at - self.began_at
            interval = max(self.pace.interval_seconds, min(SPACING * took, WIDEST_SECONDS))
            if not self.finished:
                self.idle.set()

    def retire(self) -> None:
        """Begins no transaction any more. What is not committed is dropped: the next owner reads it again."""
        self.state = State.CLOSED

    async def close(self) -> None:
        self.retire()
        await self._stop_producer()

    async def _settle(self, batch: list[Finished]) -> None:
        for item in batch:
            self.ledger.settle(item.received.offset)
        backoff = FIRST_BACKOFF_SECONDS
        one_by_one = False
        while self.state is State.READY:
            attempted = self.ledger.watermark, self.ledger.metadata()
            try:
                with metrics.TRANSACTION_SECONDS.time():
                    async with asyncio.timeout(TRANSACTION_SECONDS):
                        await self._transact(batch, attempted, one_by_one)
            except Exception as error:  # noqa: BLE001 whatever it was, the producer's state is not known any more
                if _is_fenced(error):
                    return self._lose()
                metrics.TRANSACTIONS.labels("abort").inc()
                metrics.LANE_REPLACED.labels(_reason(error)).inc()
                self._warn("transaction failed", error)
                if isinstance(error, Unsendable):
                    batch[error.place] = await self._refused(batch[error.place])
                one_by_one = one_by_one or isinstance(error, REFUSED)
                await asyncio.sleep(backoff)
                backoff = min(2 * backoff, LAST_BACKOFF_SECONDS)
                if not await self._recovered(attempted):
                    continue
            return self._committed(batch, attempted)

    async def _transact(self, batch: Sequence[Finished], attempted: Stored, one_by_one: bool) -> None:
        producer, partition, reached = self.producer, self.partition.partition, self.around.reached
        if producer is None:
            raise KafkaError("the lane has no producer")
        await producer.begin_transaction()
        reached(Point.BEGUN, partition)
        settlements = [item.settlement.records for item in batch]
        await (send_one_by_one(producer, settlements, REFUSED) if one_by_one else send_all(producer, settlements))
        reached(Point.SENT, partition)
        watermark, metadata = attempted
        offsets = {self.partition: OffsetAndMetadata(watermark, metadata)}
        await producer.send_offsets_to_transaction(offsets, self.around.group)
        reached(Point.OFFSETS_SENT, partition)
        await producer.commit_transaction()

    def _committed(self, batch: Sequence[Finished], attempted: Stored) -> None:
        self.stored = attempted
        self.around.reached(Point.COMMITTED, self.partition.partition)
        metrics.TRANSACTIONS.labels("commit").inc()
        metrics.TRANSACTION_RECORDS.observe(len(batch))
        now = self.clock()
        for item in batch:
            metrics.QUESTIONS.labels(item.settlement.outcome.value).inc()
            metrics.QUESTION_SECONDS.observe(now - item.received.read_at)
            self.read_at.pop(item.received.offset, None)
        self.around.settled()

    async def _refused(self, item: Finished) -> Finished:
        return Finished(item.received, await self.around.refuse(item))

    async def _recovered(self, attempted: Stored) -> bool:
        """Replaces the producer; whether the transaction that failed for us took place all the same.

        The broker may have committed and its answer been lost. Starting a producer of the same id waits for the old
        transaction's end, so what is stored afterwards tells. If it is neither what we attempted nor what we stored
        before, another owner has been at work: the partition is no longer ours, though nobody told us yet.
        """
        while self.state is State.READY:
            try:
                await self._start_producer()
                stored = await self._read_stored()
            except (KafkaError, TimeoutError, OSError, AssertionError):
                await asyncio.sleep(FIRST_BACKOFF_SECONDS)
                continue
            if stored not in (attempted, self.stored):
                self._lose()
            return stored == attempted
        return False

    async def _start_producer(self) -> None:
        await self._stop_producer()
        self.producer = await started(self.options, TRANSACTION_SECONDS)

    async def _stop_producer(self) -> None:
        producer, self.producer = self.producer, None
        if producer is not None:
            await stopped(producer)

    async def _read_stored(self) -> Stored:
        async with asyncio.timeout(TRANSACTION_SECONDS):
            stored = await self.around.committed(self.partition)
        return NOTHING if stored is None or stored.offset < 0 else (stored.offset, stored.metadata)

    def _lose(self) -> None:
        log.warning("lane fenced", extra={"partition": self.partition.partition})
        metrics.TRANSACTIONS.labels("fenced").inc()
        self.lose()

    def lose(self) -> None:
        """Another owner started: what we hold is theirs to answer."""
        self.state, self.lost_at = State.LOST, self.clock()
        self.finished.clear()
        self.idle.set()
        self.around.reached(Point.LANE_LOST, self.partition.partition)

    def _warn(self, event: str, error: BaseException) -> None:
        log.warning(event, extra={"partition": self.partition.partition, "error": type(error).__name__})


async def _uninterrupted(work: Awaitable[None]) -> None:
    task = asyncio.ensure_future(work)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task], timeout=GIVE_UP_SECONDS)
        if not task.done():
            # the next owner's start ends this transaction one way or the other, as after a crash
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        raise


def _is_fenced(error: BaseException) -> bool:
    return isinstance(error, ProducerFenced) or isinstance(error.__cause__, ProducerFenced)


def _reason(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if isinstance(error, (Unsendable, *REFUSED)):
        return "refused"
    return "broker" if isinstance(error, KafkaError) else "client"
