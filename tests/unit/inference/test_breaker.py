"""The circuit breaker, on a clock of the test's own."""

from consumer.inference.breaker import FAILURES, LONGEST_REST_SECONDS, REST_SECONDS, Breaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def opened() -> tuple[Breaker, Clock]:
    clock = Clock()
    breaker = Breaker(clock)
    for _ in range(FAILURES):
        assert breaker.allow()
        breaker.failed()
    return breaker, clock


def test_it_opens_after_failures_in_a_row_only() -> None:
    breaker = Breaker(Clock())
    for _ in range(3 * FAILURES):
        breaker.failed()
        breaker.succeeded()
    assert breaker.allow()
    breaker, _ = opened()
    assert not breaker.allow()
    assert breaker.state == "open"


def test_one_probe_at_a_time_after_the_rest() -> None:
    breaker, clock = opened()
    clock.now += REST_SECONDS
    assert breaker.state == "half_open"
    assert [breaker.allow() for _ in range(3)] == [True, False, False]
    breaker.succeeded()
    assert [breaker.allow() for _ in range(3)] == [True, True, True]


def test_a_failed_probe_doubles_the_rest_up_to_a_limit() -> None:
    breaker, clock = opened()
    rest = REST_SECONDS
    for _ in range(8):
        clock.now += rest
        assert breaker.allow()
        breaker.failed()
        rest = min(2 * rest, LONGEST_REST_SECONDS)
        clock.now += rest - 0.001
        assert not breaker.allow()
        clock.now += 0.001 - rest
    assert rest == LONGEST_REST_SECONDS


def test_a_cancelled_probe_lets_another_one_go() -> None:
    breaker, clock = opened()
    clock.now += REST_SECONDS
    assert breaker.allow()
    breaker.abandoned()
    assert breaker.allow()
