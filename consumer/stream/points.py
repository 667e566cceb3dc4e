"""Points that a worker reaches, for tests: to wait for one, or to die at it, instead of sleeping and hoping."""

from collections.abc import Callable
from enum import StrEnum


class Point(StrEnum):
    ASSIGNED = "assigned"
    LANE_READY = "lane_ready"
    ANSWERED = "answered"
    BEGUN = "begun"
    SENT = "sent"
    OFFSETS_SENT = "offsets_sent"
    COMMITTED = "committed"
    LANE_LOST = "lane_lost"


Reached = Callable[[Point, int], None]
"""Called with the point and the partition, or -1."""


def unwatched(point: Point, partition: int) -> None:
    """What production passes."""
