"""A circuit breaker: after several failures in a row nothing is asked for a while, then one probe at a time."""

import time
from collections.abc import Callable

FAILURES = 5
"""Failed calls in a row that open it."""
REST_SECONDS = 5.0
"""How long it stays open the first time; each failed probe doubles that, up to the longest rest."""
LONGEST_REST_SECONDS = 60.0


class Breaker:
    """Closed until `FAILURES` calls in a row failed, then open for a rest, then half open: one probe decides.

    Invariant: while half open at most one call is under way.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._failures = 0
        self._rest = REST_SECONDS
        self._opens_at: float | None = None
        self._probing = False

    def allow(self) -> bool:
        """Whether a call may start now. One that may must end with `succeeded`, `failed` or `abandoned`."""
        if self._opens_at is None:
            return True
        if self._probing or self._clock() < self._opens_at:
            return False
        self._probing = True
        return True

    def succeeded(self) -> None:
        self._failures = 0
        self._rest = REST_SECONDS
        self._opens_at = None
        self._probing = False

    def failed(self) -> None:
        self._failures += 1
        if self._probing:
            self._rest = min(2 * self._rest, LONGEST_REST_SECONDS)
        if self._probing or self._failures >= FAILURES:
            self._opens_at = self._clock() + self._rest
        self._probing = False

    def abandoned(self) -> None:
        """The call ended for a reason of our own, such as a cancelled question: it says nothing of the server."""
        self._probing = False

    @property
    def state(self) -> str:
        if self._opens_at is None:
            return "closed"
        return "half_open" if self._probing or self._clock() >= self._opens_at else "open"
