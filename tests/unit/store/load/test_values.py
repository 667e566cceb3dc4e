"""Cells of real files: what is taken, what is made of it, what is refused and with which words."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.store.load import values
from consumer.store.load.requirements import clearance

TAKEN: list[tuple[Callable[[str], str | None], str, str | None]] = [
    (values.money, "1234.50", "1234.50"),
    (values.money, "-0.00", "-0.00"),
    (values.money, "($1234.5)", "-1234.5"),
    (values.money, "$(7)", "7"),  # the sign is of the whole cell, not of a part of it
    (values.money, "(7)", "-7"),
    (values.money, " $1,234,567.89 ", "1234567.89"),
    (values.money, "-$5", "-5"),
    (values.money, "1.5E7", "15000000"),
    (values.money, "", None),
    (values.money, "  ", None),
    (values.day, "2026-09-30", "2026-09-30"),
    (values.day, "2026-09-30 00:00:00", "2026-09-30"),
    (values.day, "2023-03-05 11:16:49+00:00", "2023-03-05"),
    (values.day, "2026-06-01T10:00:00-07:00", "2026-06-01"),
    (values.day, "20260930", "2026-09-30"),
    (values.day, "9/30/2026", "2026-09-30"),
    (values.day, "", None),
    (values.moment, "2026-06-01T10:00:00-07:00", "2026-06-01T10:00:00-07:00"),
    (values.moment, "2026-06-01", None),
    (values.moment, "2026-06-01T10:00:00", None),
    (values.naics, "541512", "541512"),
    (values.naics, "541519.0", "541519"),
    (values.naics, "5415", "5415"),
    (values.naics, "", None),
    (values.count, "999", "999"),
    (values.count, "3.0", "3"),
    (values.uei, " ue9qjd4kk1l6", "UE9QJD4KK1L6"),
    (values.uei, "", None),
    (values.uuid, "34172038d28a464fa83ef11e4a657d1b", "34172038-d28a-464f-a83e-f11e4a657d1b"),
    (values.notice_uuid, "005e615b2cfd474dbebc480d214f02ab", "005e615b-2cfd-474d-bebc-480d214f02ab"),
    (values.name, "  A \r\n B\tC ", "A B C"),
    (values.text, "", None),
    (values.text, "x" * 5_000, "x" * 4_000),
    (values.words, "zero trust; rmf ;;rmf", '{"zero trust","rmf"}'),
    (values.words, 'a "b"\\', '{"a \\"b\\"\\\\"}'),
    (values.words, "", "{}"),
    (values.yes, "Yes", "t"),
    (values.yes, "0", "f"),
    (clearance, "TS/SCI", "TS_SCI"),
    (clearance, "Top Secret", "TS"),
    (clearance, "", None),
]
REFUSED: list[tuple[Callable[[str], str | None], str, str]] = [
    (values.money, "12 dollars", "no amount"),
    (values.money, "NaN", "no amount"),
    (values.money, "Infinity", "no amount"),
    (values.money, "1" * 25, "no amount"),
    (values.day, "13/45/2024", "13/45/2024 is no date"),
    (values.day, "2025-02-29", "no date"),
    (values.day, "yesterday", "no date"),
    (values.moment, "2026-06-01 25:00", "no time"),
    (values.naics, "541512.5", "no NAICS"),
    (values.naics, "5415123", "no NAICS"),
    (values.count, "-1", "no whole number"),
    (values.uei, "123456789", "no UEI"),
    (values.uuid, "x", "no UUID"),
    (values.name, "x" * 301, "longer than 300"),
    (values.key, "x" * 121, "longer than 120"),
    (values.name, "a\0b", "null byte"),
    (values.yes, "perhaps", "neither"),
    (clearance, "COSMIC", "no clearance"),
]


def test_cells_become_what_postgres_takes() -> None:
    for clean, cell, expected in TAKEN:
        assert clean(cell) == expected, (clean.__name__, cell)


def test_wrong_cells_are_refused_with_the_reason() -> None:
    for clean, cell, words in REFUSED:
        with pytest.raises(ValueError, match=words.replace("/", r"\/")):
            clean(cell)


def test_another_kind_of_notice_id_gets_one_uuid_and_keeps_it() -> None:
    assert values.notice_uuid("W91CRB-26-R-0001") == values.notice_uuid("W91CRB-26-R-0001")
    assert values.notice_uuid("W91CRB-26-R-0001") != values.notice_uuid("W91CRB-26-R-0002")


@given(st.decimals(min_value=-(10**15), max_value=10**15, places=2))
def test_an_amount_is_the_same_in_every_spelling(amount: Decimal) -> None:
    spellings = [format(amount, "f"), f"{amount:,.2f}", f"({-amount:.2f})" if amount < 0 else f"${amount:,.2f}"]
    assert {Decimal(values.money(spelling) or "") for spelling in spellings} == {amount}


@given(st.dates())
def test_a_date_is_the_same_in_every_spelling(day: date) -> None:
    spellings = [day.isoformat(), f"{day.isoformat()} 00:00:00", f"{day.month}/{day.day}/{day.year:04}"]
    assert {values.day(spelling) for spelling in spellings} == {day.isoformat()}


@given(st.text())
def test_no_cell_does_more_than_be_refused(cell: str) -> None:
    for clean in (values.money, values.day, values.moment, values.naics, values.count, values.uei, values.words):
        try:
            value = clean(cell)
        except ValueError:
            continue
        assert value is None or "\0" not in value


def test_a_memo_forgets_before_it_grows_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MEMO_VALUES", 3)
    memo = values.Memo(values.name)
    assert [memo[f"n{i}"] for i in range(10)] == [f"n{i}" for i in range(10)]
    assert len(memo) <= 3
