"""A layout bound to a header: any column order, fallbacks, why a row is rejected, hints at a mistaken kind."""

import io
from collections.abc import Iterator

import pytest

from consumer.errors import Misconfigured
from consumer.store.load import KINDS
from consumer.store.load.awards import ACTIONS, SUMMARIES
from consumer.store.load.layout import Field, Layout, Reader, Table, fitting
from consumer.store.load.source import Record, Source
from consumer.store.load.values import day, key, money

LAYOUT = Layout(
    name="things",
    table=Table(name="market.thing", key=("id",)),
    fields=(
        Field("id", ("id",), key, required=True),
        Field("ends", ("ends", "stops"), day),
        Field("amount", ("amount",), money, required=True, memo=True),
        Field("note", ("note",)),
    ),
    needs=("id", "amount"),
)


def source(header: list[str]) -> Source:
    return Source("x.csv", header, iter(()), io.BytesIO(), 0)


def records(*rows: list[str]) -> Iterator[Record]:
    return (Record(line, row) for line, row in enumerate(rows, 2))


def read(header: list[str], *rows: list[str]) -> tuple[list[str], list[list[str | None]], list[tuple[str, int]]]:
    rejected: list[tuple[str, int]] = []
    reader = Reader(LAYOUT, header)
    rows_read = list(reader.rows(records(*rows), lambda reason, line, cells: rejected.append((reason, line))))
    return reader.columns, rows_read, rejected


def test_columns_are_found_by_name_in_any_order_and_unknown_ones_are_passed_over() -> None:
    columns, rows, rejected = read(["new", "AMOUNT", "id"], ["?", "5", "k"])
    assert (columns, rows, rejected) == (["id", "amount"], [["2", "k", "5"]], [])


def test_the_second_source_fills_what_the_first_leaves_empty() -> None:
    _, rows, _ = read(["id", "amount", "ends", "stops"], ["a", "1", "", "2026-01-02"], ["b", "1", "2025-01-01", "x"])
    assert [row[2] for row in rows] == ["2026-01-02", "2025-01-01"]


def test_a_rejected_row_names_column_and_cell() -> None:
    header = ["id", "amount", "ends", "stops"]
    cases = [
        (["", "1", "", ""], "id is empty"),
        (["a", "", "", ""], "amount is empty"),
        (["a", "x", "", ""], "amount: x is no amount"),
        (["a", "1", "13/45/2024", ""], "ends: 13/45/2024 is no date"),
        (["a", "1", "", "never"], "ends: never is no date"),
    ]
    _, rows, rejected = read(header, *(row for row, _ in cases), ["good", "1", "", ""])
    assert [reason for reason, _ in rejected] == [reason for _, reason in cases]
    assert [line for _, line in rejected] == [2, 3, 4, 5, 6]
    assert [row[1] for row in rows] == ["good"]


def test_a_file_of_another_kind_is_named() -> None:
    layouts = {kind: loader.layouts for kind, loader in KINDS.items() if hasattr(loader, "layouts")}
    partner = source(["uei", "name", "capabilities", "set_asides"])
    with pytest.raises(Misconfigured, match=r"x\.csv holds partners; load it with `planner load partners`"):
        fitting((ACTIONS, SUMMARIES), partner, layouts)


def test_a_file_of_no_kind_names_what_it_lacks() -> None:
    with pytest.raises(Misconfigured, match="no file of award summaries: it has no column award_latest_action_date"):
        fitting(
            (ACTIONS, SUMMARIES),
            source([c for c in SUMMARIES.needs if c != "award_latest_action_date"]),
            {},
        )
