"""The ledger against a plain set: whatever is settled is never answered again, whatever is not is never lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from consumer.stream.ledger import MAX_METADATA_BYTES, MAX_PENDING, Ledger

# Gaps between offsets are transaction markers; some records settle, in any order.
LOGS = st.lists(st.tuples(st.integers(1, 5), st.booleans()), max_size=200)


def offsets(gaps: list[tuple[int, bool]], start: int) -> list[tuple[int, bool]]:
    found, offset = [], start - 1
    for gap, settled in gaps:
        offset += gap
        found.append((offset, settled))
    return found


@given(LOGS, st.integers(0, 10**12), st.randoms(use_true_random=False))
def test_after_a_crash_exactly_the_unsettled_are_answered(gaps, start, rng) -> None:  # type: ignore[no-untyped-def]
    log = offsets(gaps, start)
    ledger = Ledger(start)
    assert all(ledger.read(offset) for offset, _ in log)
    done = [offset for offset, settled in log if settled]
    rng.shuffle(done)
    for offset in done:
        ledger.settle(offset)
    again = Ledger.resume(ledger.watermark, ledger.metadata())
    redelivered = [offset for offset, _ in log if offset >= again.watermark]
    assert [o for o in redelivered if again.read(o)] == [offset for offset, settled in log if not settled]
    assert again.watermark == ledger.watermark


@given(LOGS)
def test_the_watermark_passes_nothing_unsettled(gaps) -> None:  # type: ignore[no-untyped-def]
    log = offsets(gaps, 0)
    ledger = Ledger(0)
    for offset, settled in log:
        ledger.read(offset)
        if settled:
            ledger.settle(offset)
    unsettled = [offset for offset, settled in log if not settled]
    assert ledger.watermark == (unsettled[0] if unsettled else ledger.end)


def test_when_all_is_settled_the_metadata_is_empty() -> None:
    ledger = Ledger(5)
    for offset in (5, 6, 9):
        ledger.read(offset)
        ledger.settle(offset)
    assert (ledger.watermark, ledger.metadata()) == (10, "")


@settings(max_examples=20)
@given(st.sampled_from([1, 200, 20_000, 2**28 - 1]), st.randoms(use_true_random=False))
def test_a_full_ledger_fits_the_metadata_however_far_its_pending_lie_apart(widest, rng) -> None:  # type: ignore[no-untyped-def]
    ledger = Ledger(0)
    offset = 0
    for _ in range(MAX_PENDING):
        gap = rng.randint(1, widest)
        offset += gap + 1
        assert not ledger.full
        ledger.read(offset - 1)
        ledger.settle(offset - 1)
        ledger.read(offset)
    ledger.read(offset + 2**28)
    ledger.settle(offset + 2**28)
    assert ledger.full
    assert len(ledger.metadata()) <= MAX_METADATA_BYTES


@given(LOGS, st.randoms(use_true_random=False))
def test_what_was_read_but_not_taken_is_read_from_the_position_again(gaps, rng) -> None:  # type: ignore[no-untyped-def]
    log = offsets(gaps, 0)
    first = Ledger(0)
    for offset, settled in log:
        first.read(offset)
        if settled:
            first.settle(offset)
    again = Ledger.resume(first.watermark, first.metadata())
    unsettled = [offset for offset, settled in log if not settled]
    taken: list[int] = []
    while True:
        rest = [offset for offset, _ in log if offset >= again.position]
        if not rest:
            break
        for offset in rest[: rng.randint(1, len(rest))]:
            if again.read(offset):
                taken.append(offset)
    assert taken == unsettled


def test_a_pending_record_that_the_log_lost_holds_nothing_back() -> None:
    ledger = Ledger.resume(10, Ledger(10, (10, 12), 20).metadata())
    assert ledger.read(12)
    assert ledger.watermark == 12
    ledger.settle(12)
    assert ledger.watermark == 20


def test_metadata_of_others_is_ignored() -> None:
    for foreign in ("", "lag=3", "1:!!", "2:AQ", "1:gA"):
        ledger = Ledger.resume(7, foreign)
        assert (ledger.watermark, ledger.end) == (7, 7)
        assert ledger.read(7)
