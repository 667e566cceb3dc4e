"""The worker: polls, dispatches, commits. One loop reads; lanes commit; a bounded number of tasks answer.

Order of one record: polled, noted in its lane's ledger, queued, dispatched when there is room, answered by the
handler outside any transaction, settled by its lane's next transaction. Back pressure is to pause a partition and
keep polling, so the member never leaves its group for being busy (aiokafka#625); `pause` is lost at a rebalance, so
it is stated anew in each round.

A rebalance takes all partitions from every member and gives most of them back (aiokafka has eager assignors only).
So nothing is torn down when they are taken: what is finished is committed, work goes on, and when the new assignment
is known, lanes that stay go on where they are and lanes that left are dropped. Their new owner starts by fencing
them, so a lane that learns late can commit nothing.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord, OffsetAndMetadata

from consumer.errors import DeadLetterReason, Unreachable
from consumer.observe import metrics
from consumer.stream.dispatch import Dispatcher, Letters, Owned
from consumer.stream.facts import Facts, Gauges
from consumer.stream.lane import Finished, Lane, Pace, State, Surroundings
from consumer.stream.places import Places
from consumer.stream.points import Point, Reached, unwatched
from consumer.stream.queue import Queue
from consumer.stream.records import Handler, Outcome, Received, Settlement

log = logging.getLogger(__name__)

POLL_MS = 100
WEDGED_SECONDS = 1.0
FLUSH_SECONDS = 2.0
LOST_SECONDS = 3.0
"""A fenced lane whose partition still seems ours waits this long, a heartbeat, for news of a rebalance before it
fences the other owner in turn."""
BROKEN_SECONDS = 60.0
"""When each poll of this long raised, the consumer is beyond repair: the process ends, to be started anew."""

Polled = dict[TopicPartition, list[ConsumerRecord[bytes | None, bytes | None]]]


class Limits(NamedTuple):
    """How much a worker takes on at once, and how long it may take to let go."""

    concurrency: int
    in_flight_bytes: int
    letter_bytes: int
    drain_seconds: float
    pace: Pace


class Worker(ConsumerRebalanceListener):
    """Owns the assignment. `run` returns after `stop`, with what finished in time committed."""

    def __init__(
        self, consumer: AIOKafkaConsumer, admin: AIOKafkaAdminClient, producer_options: dict[str, Any], group: str,
        topic: str, dead_letters: str, ours: frozenset[str], handler: Handler, limits: Limits,
        reached: Reached = unwatched,
    ) -> None:  # fmt: skip
        self.consumer, self.admin, self.group, self.topic = consumer, admin, group, topic
        self.limits, self.reached = limits, reached
        letters = Letters(dead_letters, limits.letter_bytes)
        self.dispatcher = Dispatcher(handler, Places(admin), ours, letters, limits.concurrency, reached)
        self.surroundings = Surroundings(
            group, producer_options, limits.pace, self._committed, self._refuse, self._settled, reached
        )
        self.clock = asyncio.get_running_loop().time
        self.owned: dict[TopicPartition, Owned] = {}
        self.leaving: set[asyncio.Task[None]] = set()
        self.stopping = asyncio.Event()
        self.joined = False
        self.polled_at = self.settled_at = self.worked_at = self.clock()

    def stop(self) -> None:
        self.stopping.set()

    def facts(self) -> Facts:
        return Facts.of(self.owned.values(), self.joined, self.clock() - self.polled_at, self.clock())

    # what the group tells us

    async def on_partitions_revoked(  # pyright: ignore[reportIncompatibleMethodOverride] the library awaits it
        self, revoked: Sequence[TopicPartition]
    ) -> None:
        """Commits what is finished, so that whoever comes next need not answer it again."""
        idle = [asyncio.ensure_future(self.owned[p].lane.idle.wait()) for p in revoked if p in self.owned]
        if idle:
            _, late = await asyncio.wait(idle, timeout=FLUSH_SECONDS)
            for waiting in late:
                waiting.cancel()

    async def on_partitions_assigned(  # pyright: ignore[reportIncompatibleMethodOverride] the library awaits it
        self, assigned: Sequence[TopicPartition]
    ) -> None:
        metrics.REBALANCES.inc()
        for partition in self.owned.keys() - set(assigned):
            self._drop(partition)
        if not self.stopping.is_set():
            for partition in assigned:
                if partition not in self.owned:
                    self._own(partition)
            self._rewind(assigned)
        self.joined = True
        metrics.PARTITIONS.set(len(self.owned))
        self.reached(Point.ASSIGNED, len(self.owned))

    # the loop

    async def run(self) -> None:
        """Reads and answers until `stop`. Raises Unreachable when the consumer is broken for good."""
        self.consumer.subscribe([self.topic], listener=self)
        gauges = Gauges(self.consumer)
        helpers = [asyncio.create_task(self.dispatcher.run()), asyncio.create_task(self.stopping.wait())]
        try:
            while not self.stopping.is_set():
                self._pause_the_busy()
                for partition, records in (await self._poll(helpers[1])).items():
                    self._accept(partition, records)
                self._reopen_the_lost()
                gauges.show(self.owned, self.facts())
        finally:
            helpers[0].cancel()
            await self._release()
            for helper in helpers:
                helper.cancel()

    async def _poll(self, stopping: asyncio.Task[Any]) -> Polled:
        """What came within POLL_MS. In a rebalance the library waits for its end, so a stop must cut in."""
        poll = asyncio.ensure_future(self.consumer.getmany(timeout_ms=POLL_MS))
        await asyncio.wait([poll, stopping], return_when=asyncio.FIRST_COMPLETED)
        self.polled_at = self.clock()
        if not poll.done():
            poll.cancel()
            await asyncio.wait([poll])
            return {}
        try:
            found = poll.result()
        except UnicodeDecodeError:
            # A header key that is not UTF-8 is legal on the wire and wedges the library's parser for ever.
            found = await self._poll_around_the_wedge()
        except KafkaError as error:
            log.warning("the questions can't be read", extra={"error": type(error).__name__})
            if self.clock() - self.worked_at > BROKEN_SECONDS:
                raise Unreachable(f"the questions can't be read: {type(error).__name__}; the worker ends") from error
            await asyncio.sleep(POLL_MS / 1_000)
            return {}
        self.worked_at = self.clock()
        return found

    async def _poll_around_the_wedge(self) -> Polled:
        """Record by record up to the one that can't be parsed, which becomes a dead letter without its content.

        The poll that raised had taken records of other partitions and thrown them away: all are read again.
        """
        ours = self.consumer.assignment()
        self._rewind(ours)
        found: Polled = {}
        await asyncio.gather(*(self._read_up_to_the_wedge(partition, found) for partition in ours))
        return found

    async def _read_up_to_the_wedge(self, partition: TopicPartition, found: Polled) -> None:
        with contextlib.suppress(TimeoutError, KafkaError):
            async with asyncio.timeout(WEDGED_SECONDS):
                while True:
                    try:
                        found.setdefault(partition, []).append(await self.consumer.getone(partition))
                    except UnicodeDecodeError:
                        offset = await self.consumer.position(partition)
                        self._accept(partition, found.pop(partition, []))
                        return await self._bury(partition, offset)

    async def _bury(self, partition: TopicPartition, offset: int) -> None:
        """Settles a record that can't be parsed by its coordinates, and reads on behind it."""
        owned = self.owned.get(partition)
        if owned and owned.lane.state is State.READY and owned.lane.ledger.position <= offset:
            self.consumer.seek(partition, offset + 1)
            if owned.lane.read(offset):
                received = Received(partition.topic, partition.partition, offset, 0, None, None, (), self.clock())
                letter = await self.dispatcher.letter(received, DeadLetterReason.BAD_HEADER)
                owned.lane.finish(received, letter)

    def _accept(self, partition: TopicPartition, records: Sequence[ConsumerRecord[bytes | None, bytes | None]]) -> None:
        owned = self.owned.get(partition)
        if owned is None or owned.lane.state is not State.READY:
            return  # an opening lane seeks before it is ready: these are read again
        ledger = owned.lane.ledger
        for record in records:
            if ledger.full:
                self._rewind([partition])
                break
            if not owned.lane.read(record.offset):
                metrics.SKIPPED.inc()
                continue
            owned.queue.put(
                Received(
                    record.topic, record.partition, record.offset, record.timestamp, record.key, record.value,
                    tuple((name, value) for name, value in record.headers), self.clock(),
                )
            )  # fmt: skip
        self.dispatcher.room.set()

    def _pause_the_busy(self) -> None:
        held = self.dispatcher.in_flight_bytes + sum(o.queue.bytes for o in self.owned.values())
        over = held > self.limits.in_flight_bytes
        busy = {p for p, o in self.owned.items() if over or o.lane.ledger.full or o.lane.state is not State.READY}
        ours = self.consumer.assignment()
        self.consumer.pause(*ours & busy)
        self.consumer.resume(*ours - busy)
        metrics.PAUSED.set(len(ours & busy))

    # lanes

    def _own(self, partition: TopicPartition) -> None:
        lane = Lane(partition, self.surroundings)
        self.owned[partition] = Owned(lane, Queue(), set(), asyncio.create_task(self._run_lane(lane)))
        self.dispatcher.add(self.owned[partition])

    async def _run_lane(self, lane: Lane) -> None:
        await lane.open()
        self._rewind([lane.partition])
        await lane.commit_loop()

    def _rewind(self, partitions: Iterable[TopicPartition]) -> None:
        """Reads on from what each lane knows, never from what the broker says is committed, which may be old."""
        ours = self.consumer.assignment()
        for partition in partitions:
            owned = self.owned.get(partition)
            if owned and owned.lane.state is State.READY and partition in ours:
                self.consumer.seek(partition, owned.lane.ledger.position)

    def _reopen_the_lost(self) -> None:
        """A lane that ended though its partition is still ours met another owner, or a fault: it starts again."""
        for partition, owned in list(self.owned.items()):
            if not owned.running.done():
                continue
            if not owned.running.cancelled() and (error := owned.running.exception()):
                log.error("a lane failed", exc_info=error)
            if owned.lane.state is not State.LOST:
                owned.lane.lose()
            if self.clock() - owned.lane.lost_at > LOST_SECONDS:
                metrics.LANE_REPLACED.labels("fenced").inc()
                self._drop(partition)
                if partition in self.consumer.assignment():
                    self._own(partition)

    def _drop(self, partition: TopicPartition) -> None:
        """Lets go of a partition that is another's already: what is in flight is theirs to answer."""
        owned = self.owned.pop(partition)
        self.dispatcher.remove(owned)
        task = asyncio.create_task(self._let_go(owned, self.clock()))
        self.leaving.add(task)
        task.add_done_callback(self.leaving.discard)

    async def _release(self) -> None:
        """Drains and closes all lanes side by side within one shared deadline."""
        leaving, self.owned = list(self.owned.values()), {}
        for owned in leaving:
            self.dispatcher.remove(owned)
        deadline = self.clock() + self.limits.drain_seconds
        await asyncio.gather(*(self._let_go(owned, deadline) for owned in leaving), *self.leaving)
        metrics.PARTITIONS.set(0)

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

    # what lanes ask of us

    async def _committed(self, partition: TopicPartition) -> OffsetAndMetadata | None:
        stored = await self.admin.list_consumer_group_offsets(self.group, partitions=[partition])
        return stored.get(partition)

    async def _refuse(self, item: Finished) -> Settlement:
        """A smaller settlement. A dead letter that still is refused keeps its offset waiting until its topic takes it:
        there is nowhere else to go."""
        if item.settlement.outcome is Outcome.DEAD_LETTER:
            return self.dispatcher.digest(item.received, item.settlement)
        return await self.dispatcher.letter(item.received, DeadLetterReason.ANSWER_TOO_LARGE)

    def _settled(self) -> None:
        self.settled_at = self.clock()
        self.dispatcher.room.set()
