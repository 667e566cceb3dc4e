"""Deadlines as values: every await that leaves the process runs under one."""

import asyncio
from typing import NamedTuple


class Deadline(NamedTuple):
    """A moment on the running event loop's clock, in seconds."""

    at: float

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(asyncio.get_running_loop().time() + seconds)

    def remaining(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self.at - asyncio.get_running_loop().time())

    def sooner(self, seconds: float) -> "Deadline":
        """The earlier of this deadline and `seconds` from now."""
        return min(self, Deadline.after(seconds))

    def scope(self) -> asyncio.Timeout:
        """`async with deadline.scope():` raises TimeoutError when it passes."""
        return asyncio.timeout_at(self.at)
