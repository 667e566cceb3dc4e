"""What a worker knows of itself: for its probes, which never ask a broker (a dead consumer still pings), and gauges."""

import asyncio
from collections.abc import Iterable, Mapping

from aiokafka import AIOKafkaConsumer, TopicPartition
from msgspec import Struct

from consumer.observe import metrics
from consumer.stream.dispatch import Owned
from consumer.stream.lane import State
from schemas.question import MAX_DEADLINE_MS

STUCK_SECONDS = 120.0
"""A loop that has not gone round for this long stands still: its longest wait is a rebalance."""
UNCOMMITTED_SECONDS = 30.0
UNSETTLED_SECONDS = MAX_DEADLINE_MS / 1_000 + STUCK_SECONDS
"""Every question is settled by its deadline, so an older one means that nothing moves."""
SHOW_SECONDS = 1.0


class Facts(Struct, frozen=True):
    """`joined`: the group gave us an assignment, which may be empty: a standby is healthy."""

    joined: bool
    poll_age_seconds: float
    lanes: Mapping[State, int]
    pending: int
    oldest_unsettled_seconds: float
    uncommitted_seconds: float

    @classmethod
    def of(cls, owned: Iterable[Owned], joined: bool, poll_age_seconds: float, now: float) -> "Facts":
        lanes = dict.fromkeys(State, 0)
        pending, oldest, uncommitted = 0, now, 0.0
        for one in owned:
            lanes[one.lane.state] += 1
            pending += len(one.lane.ledger.pending)
            uncommitted = max(uncommitted, one.lane.uncommitted_seconds)
            oldest = min(oldest, one.lane.oldest_read_at(now))
        return cls(joined, poll_age_seconds, lanes, pending, now - oldest, uncommitted)

    def not_live(self) -> list[str]:
        """Why the process should be started anew; empty for a healthy one, idle or busy."""
        problems: list[str] = []
        if self.poll_age_seconds > STUCK_SECONDS:
            problems.append("not polling")
        if self.oldest_unsettled_seconds > UNSETTLED_SECONDS:
            problems.append("no progress")
        return problems

    def not_ready(self) -> list[str]:
        """Why it answers nothing now."""
        problems = self.not_live()
        if not self.joined:
            problems.append("not in the group")
        if self.lanes[State.READY] < sum(self.lanes.values()):
            problems.append("a lane is not ready")
        if self.uncommitted_seconds > UNCOMMITTED_SECONDS:
            problems.append("transactions fail")
        return problems


class Gauges:
    """Shows facts and lag as metrics, about once a second."""

    def __init__(self, consumer: AIOKafkaConsumer) -> None:
        self.consumer = consumer
        self.clock = asyncio.get_running_loop().time
        self.shown_at = 0.0
        self.partitions: set[int] = set()

    def show(self, owned: Mapping[TopicPartition, Owned], facts: Facts) -> None:
        if self.clock() - self.shown_at < SHOW_SECONDS:
            return
        self.shown_at = self.clock()
        metrics.POLL_AGE.set(facts.poll_age_seconds)
        metrics.OLDEST_UNSETTLED.set(facts.oldest_unsettled_seconds)
        for state, count in facts.lanes.items():
            metrics.LANES.labels(state.value).set(count)
        ours = self.consumer.assignment()
        for partition in self.partitions - {p.partition for p in owned}:
            metrics.LAG.remove(str(partition))
            metrics.OPEN_TAIL.remove(str(partition))
        self.partitions = {p.partition for p in owned}
        for partition, one in owned.items():
            stable = self.consumer.last_stable_offset(partition) if partition in ours else None
            high = self.consumer.highwater(partition) if partition in ours else None
            unread = max(0, stable - one.lane.ledger.position) if stable is not None and stable >= 0 else 0
            label = str(partition.partition)
            metrics.LAG.labels(label).set(unread + len(one.lane.ledger.pending))
            metrics.OPEN_TAIL.labels(label).set(max(0, (high or 0) - stable) if stable is not None else 0)
