"""Which record is answered next, and how many at once.

Lanes take turns, and in a lane its tenants do. A task a record, at most `concurrency` of them; a lane whose finished
answers can't be committed gets no more work, so that an absent broker fills no memory.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from consumer.errors import DeadLetterReason, Permanent
from consumer.observe import metrics
from consumer.stream.lane import Lane, State
from consumer.stream.places import Places
from consumer.stream.points import Point, Reached
from consumer.stream.queue import Queue
from consumer.stream.records import REASON, Handler, Outcome, Received, Settlement, dead_letter

log = logging.getLogger(__name__)


class Owned(NamedTuple):
    """A lane with what waits for it and what runs for it."""

    lane: Lane
    queue: Queue
    answering: set[asyncio.Task[None]]
    running: asyncio.Task[None]

    @property
    def can_start(self) -> bool:
        return bool(len(self.queue)) and self.lane.state is State.READY and not self.lane.clogged


class Letters(NamedTuple):
    """Where dead letters go, and how large one may be."""

    topic: str
    max_bytes: int


class Dispatcher:
    """Runs the handler. Every record that it is given is settled once, or dropped with its lane."""

    def __init__(
        self, handler: Handler, places: Places, ours: frozenset[str], letters: Letters, concurrency: int,
        reached: Reached,
    ) -> None:  # fmt: skip
        self.handler, self.places, self.ours, self.letters = handler, places, ours, letters
        self.concurrency, self.reached = concurrency, reached
        self.turns: deque[Owned] = deque()
        self.room = asyncio.Event()
        self.in_flight = self.in_flight_bytes = 0

    def add(self, owned: Owned) -> None:
        self.turns.append(owned)

    def remove(self, owned: Owned) -> None:
        """Nothing of this lane starts any more; what runs goes on."""
        if owned in self.turns:
            self.turns.remove(owned)

    async def run(self) -> None:
        """Starts what waits whenever there is room, until cancelled."""
        while True:
            await self.room.wait()
            self.room.clear()
            while self.in_flight < self.concurrency and (owned := self._next()):
                self._start(owned, owned.queue.take())

    def _next(self) -> Owned | None:
        for _ in range(len(self.turns)):
            owned = self.turns[0]
            self.turns.rotate(-1)
            if owned.can_start:
                return owned
        return None

    def _start(self, owned: Owned, received: Received) -> None:
        self._count(1, received.size_bytes)
        task = asyncio.create_task(self.answer(owned.lane, received))
        owned.answering.add(task)
        task.add_done_callback(self._done(owned, received.size_bytes))

    def _done(self, owned: Owned, size: int) -> Callable[[asyncio.Task[None]], None]:
        def done(task: asyncio.Task[None]) -> None:
            owned.answering.discard(task)
            self._count(-1, -size)
            self.room.set()
            if not task.cancelled() and (error := task.exception()):
                log.error("a question was not settled", exc_info=error)

        return done

    def _count(self, questions: int, size: int) -> None:
        self.in_flight += questions
        self.in_flight_bytes += size
        metrics.IN_FLIGHT.set(self.in_flight)
        metrics.IN_FLIGHT_BYTES.set(self.in_flight_bytes)

    async def answer(self, lane: Lane, received: Received) -> None:
        """Settles one record in its lane."""
        try:
            settlement = await self.handler(received)
            await self.places.check_replies(settlement.records, self.ours)
        except Permanent as error:
            settlement = await self.letter(received, error.reason)
        except Exception as error:  # a fault of ours in one record must not stop its partition for ever
            log.error("the handler failed", exc_info=error)
            settlement = await self.letter(received, DeadLetterReason.INTERNAL)
        self.reached(Point.ANSWERED, received.partition)
        lane.finish(received, settlement)

    async def letter(self, received: Received, reason: DeadLetterReason) -> Settlement:
        metrics.DEAD_LETTERS.labels(reason.value).inc()
        where = {"reason": reason.value, "partition": received.partition, "offset": received.offset}
        log.warning("dead letter", extra=where)
        letter = dead_letter(received, reason, self.letters.topic, self.letters.max_bytes)
        return Settlement(Outcome.DEAD_LETTER, (await self.places.fitted(letter),))

    def digest(self, received: Received, refused: Settlement) -> Settlement:
        """The dead letter again, with a digest in place of the value that its topic does not take."""
        record = refused.records[0]
        reason = DeadLetterReason((dict(record.headers).get(REASON) or b"internal").decode())
        letter = dead_letter(received, reason, self.letters.topic, max_bytes=0)
        return Settlement(Outcome.DEAD_LETTER, (replace(letter, partition=record.partition),))
