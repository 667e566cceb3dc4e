"""The worker: polls, dispatches, commits. One loop reads; lanes commit; a bounded number of tasks answer.

Order of one record: polled, noted in its lane's ledger, queued, dispatched when there is room, answered by the
handler outside any transaction, settled by its lane's next transaction. Back pressure is to pause a partition and
keep polling, so the member never leaves its group for being busy (aiokafka#625); `pause` is lost at a rebalance, so
it is stated anew in each round.
"""

import asyncio
import contextlib
import logging
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord, OffsetAndMetadata

from consumer.errors import DeadLetterReason, Permanent
from consumer.observe import metrics
from consumer.stream.lane import Lane, Pace, State
from consumer.stream.records import Handler, Outcome, Received, Settlement, dead_letter

log = logging.getLogger(__name__)

POLL_MS = 100
QUEUED_PER_LANE = 500
"""Records a lane holds beyond those in flight: deep enough to be fair between the tenants of one partition."""
WEDGED_SECONDS = 1.0


class Limits(NamedTuple):
    """How much a worker takes on at once, and how long it may take to let go."""

    concurrency: int
    in_flight_bytes: int
    record_bytes: int
    drain_seconds: float
    pace: Pace


class Queue:
    """Records of one lane that wait, served in turn by key, so that one tenant's flood does not starve another.

    `bytes` and `len` count what waits.
    """

    def __init__(self) -> None:
        self._by_key: dict[bytes | None, deque[Received]] = {}
        self._turns: deque[bytes | None] = deque()
        self._length = 0
        self.bytes = 0

    def __len__(self) -> int:
        return self._length

    def put(self, received: Received) -> None:
        waiting = self._by_key.get(received.key)
        if waiting is None:
            waiting = self._by_key[received.key] = deque()
            self._turns.append(received.key)
        waiting.append(received)
        self._length += 1
        self.bytes += received.size_bytes

    def take(self) -> Received:
        """Raises IndexError when nothing waits."""
        key = self._turns.popleft()
        waiting = self._by_key[key]
        received = waiting.popleft()
        if waiting:
            self._turns.append(key)
        else:
            del self._by_key[key]
        self._length -= 1
        self.bytes -= received.size_bytes
        return received


class Owned(NamedTuple):
    """A lane with what runs for it."""

    lane: Lane
    queue: Queue
    answering: set[asyncio.Task[None]]
    running: asyncio.Task[None]


class Worker(ConsumerRebalanceListener):
    """Owns the assignment. `run` returns after `stop`, with what finished in time committed."""

    def __init__(
        self, consumer: AIOKafkaConsumer, admin: AIOKafkaAdminClient, producer_options: dict[str, Any], group: str,
        topic: str, dead_letters: str, handler: Handler, limits: Limits,
    ) -> None:  # fmt: skip
        self.consumer, self.admin, self.producer_options = consumer, admin, producer_options
        self.group, self.topic, self.dead_letters, self.handler, self.limits = (
            group,
            topic,
            dead_letters,
            handler,
            limits,
        )
        self.clock = asyncio.get_running_loop().time
        self.owned: dict[TopicPartition, Owned] = {}
        self.stopping = asyncio.Event()
        self.room = asyncio.Event()
        self.in_flight = self.in_flight_bytes = 0
        self.polled_at = self.settled_at = time.monotonic()

    def stop(self) -> None:
        self.stopping.set()
        self.room.set()

    # what the group tells us

    async def on_partitions_revoked(  # pyright: ignore[reportIncompatibleMethodOverride] the library awaits it
        self, revoked: Sequence[TopicPartition]
    ) -> None:
        """Lets go: finish what is in flight within the drain budget, commit it, close the lanes."""
        await self._release(list(revoked))

    async def on_partitions_assigned(  # pyright: ignore[reportIncompatibleMethodOverride] the library awaits it
        self, assigned: Sequence[TopicPartition]
    ) -> None:
        metrics.REBALANCES.inc()
        for partition in assigned:
            if partition not in self.owned:
                self._own(partition)
        metrics.PARTITIONS.set(len(self.owned))

    # the loop

    async def run(self) -> None:
        self.consumer.subscribe([self.topic], listener=self)
        dispatching = asyncio.create_task(self._dispatch())
        try:
            while not self.stopping.is_set():
                self._pause_the_busy()
                for partition, records in (await self._poll()).items():
                    self._accept(partition, records)
                self._reopen_the_lost()
        finally:
            dispatching.cancel()
            await self._release(list(self.owned))

    async def _poll(self) -> dict[TopicPartition, list[ConsumerRecord[bytes | None, bytes | None]]]:
        self.polled_at = time.monotonic()
        try:
            return await self.consumer.getmany(timeout_ms=POLL_MS)
        except UnicodeDecodeError:
            # A header key that is not UTF-8 is legal on the wire and wedges the library's parser for ever.
            return await self._poll_around_the_wedge()
        except KafkaError as error:
            log.warning("the questions can't be read", extra={"error": type(error).__name__})
            await asyncio.sleep(POLL_MS / 1_000)
            return {}

    async def _poll_around_the_wedge(self) -> dict[TopicPartition, list[ConsumerRecord[bytes | None, bytes | None]]]:
        """Record by record up to the one that can't be parsed, which becomes a dead letter without its content."""
        found: dict[TopicPartition, list[ConsumerRecord[bytes | None, bytes | None]]] = {}
        for partition in self.consumer.assignment():
            with contextlib.suppress(TimeoutError, KafkaError):
                async with asyncio.timeout(WEDGED_SECONDS):
                    while True:
                        try:
                            found.setdefault(partition, []).append(await self.consumer.getone(partition))
                        except UnicodeDecodeError:
                            self._bury(partition, await self.consumer.position(partition))
        return found

    def _bury(self, partition: TopicPartition, offset: int) -> None:
        """Settles a record that can't be parsed by its coordinates, and reads on behind it."""
        self.consumer.seek(partition, offset + 1)
        owned = self.owned.get(partition)
        if owned and owned.lane.state is State.READY and owned.lane.ledger.read(offset):
            received = Received(partition.topic, partition.partition, offset, 0, None, b"", ())
            self._settle(owned.lane, received, self._dead_letter(received, DeadLetterReason.BAD_HEADER))

    def _accept(self, partition: TopicPartition, records: Sequence[ConsumerRecord[bytes | None, bytes | None]]) -> None:
        owned = self.owned.get(partition)
        if owned is None or owned.lane.state is not State.READY:
            return  # an opening lane seeks before it is ready: these are read again
        for record in records:
            if not owned.lane.ledger.read(record.offset):
                metrics.SKIPPED.inc()
                continue
            owned.queue.put(
                Received(
                    record.topic, record.partition, record.offset, record.timestamp, record.key, record.value,
                    tuple((name, value) for name, value in record.headers), self.clock(),
                )
            )  # fmt: skip
        self.room.set()

    def _pause_the_busy(self) -> None:
        held = self.in_flight_bytes + sum(o.queue.bytes for o in self.owned.values())
        over = held > self.limits.in_flight_bytes
        busy = [p for p, o in self.owned.items() if over or len(o.queue) >= QUEUED_PER_LANE or o.lane.ledger.full]
        ours = self.consumer.assignment()
        self.consumer.pause(*ours.intersection(busy))
        self.consumer.resume(*ours.difference(busy))
        metrics.PAUSED.set(len(busy))

    # dispatching

    async def _dispatch(self) -> None:
        """Starts a task for each waiting record while there is room, lane by lane in turn."""
        while True:
            await self.room.wait()
            self.room.clear()
            waiting = [o for o in self.owned.values() if len(o.queue) and o.lane.state is State.READY]
            while waiting and self.in_flight < self.limits.concurrency:
                for owned in waiting:
                    if self.in_flight < self.limits.concurrency:
                        self._start(owned, owned.queue.take())
                waiting = [o for o in waiting if len(o.queue)]

    def _start(self, owned: Owned, received: Received) -> None:
        self._count(1, received.size_bytes)
        task = asyncio.create_task(self._answer(owned.lane, received))
        owned.answering.add(task)

        def done(task: asyncio.Task[None]) -> None:
            owned.answering.discard(task)
            self._count(-1, -received.size_bytes)
            self.room.set()
            if not task.cancelled() and (error := task.exception()):
                log.error("a question was not settled", exc_info=error)

        task.add_done_callback(done)

    def _count(self, questions: int, size: int) -> None:
        self.in_flight += questions
        self.in_flight_bytes += size
        metrics.IN_FLIGHT.set(self.in_flight)
        metrics.IN_FLIGHT_BYTES.set(self.in_flight_bytes)

    async def _answer(self, lane: Lane, received: Received) -> None:
        started = time.perf_counter()
        try:
            settlement = await self.handler(received)
        except Permanent as error:
            settlement = self._dead_letter(received, error.reason)
        self._settle(lane, received, settlement)
        metrics.QUESTIONS.labels(settlement.outcome.value).inc()
        metrics.QUESTION_SECONDS.observe(time.perf_counter() - started)

    def _dead_letter(self, received: Received, reason: DeadLetterReason) -> Settlement:
        metrics.DEAD_LETTERS.labels(reason.value).inc()
        where = {"reason": reason.value, "partition": received.partition, "offset": received.offset}
        log.warning("dead letter", extra=where)
        letter = dead_letter(received, reason, self.dead_letters, self.limits.record_bytes)
        return Settlement(Outcome.DEAD_LETTER, (letter,))

    def _settle(self, lane: Lane, received: Received, settlement: Settlement) -> None:
        if lane.state is State.READY:
            lane.finish(received.offset, settlement.records)
            self.settled_at = time.monotonic()

    # lanes

    def _own(self, partition: TopicPartition) -> None:
        lane = Lane(partition, self.group, self.producer_options, self.limits.pace, self._committed)
        self.owned[partition] = Owned(lane, Queue(), set(), asyncio.create_task(self._run_lane(lane)))

    async def _run_lane(self, lane: Lane) -> None:
        offset = await lane.open()
        if lane.partition in self.consumer.assignment():
            self.consumer.seek(lane.partition, offset)
        await lane.commit_loop()

    def _reopen_the_lost(self) -> None:
        """A lane that was fenced though the partition is still ours met a late owner: it starts again."""
        for partition, owned in list(self.owned.items()):
            if owned.lane.state is State.LOST and owned.running.done():
                for task in owned.answering:
                    task.cancel()
                metrics.LANE_REPLACED.labels("fenced").inc()
                del self.owned[partition]
                if partition in self.consumer.assignment():
                    self._own(partition)

    async def _committed(self, partition: TopicPartition) -> OffsetAndMetadata | None:
        stored = await self.admin.list_consumer_group_offsets(self.group, partitions=[partition])
        return stored.get(partition)

    async def _release(self, partitions: Sequence[TopicPartition]) -> None:
        """Drains and closes lanes side by side within one shared deadline."""
        leaving = [self.owned.pop(p) for p in partitions if p in self.owned]
        if leaving:
            deadline = asyncio.get_running_loop().time() + self.limits.drain_seconds
            await asyncio.gather(*(self._let_go(owned, deadline) for owned in leaving))
        metrics.PARTITIONS.set(len(self.owned))

    async def _let_go(self, owned: Owned, deadline: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                if owned.answering:
                    await asyncio.wait(set(owned.answering))
                await owned.lane.idle.wait()
        for task in owned.answering:
            task.cancel()
        owned.lane.retire()
        owned.running.cancel()
        await asyncio.wait([owned.running])
        await owned.lane.close()
