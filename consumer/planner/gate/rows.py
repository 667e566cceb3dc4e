"""Which rows a clause speaks of, and whether a quantity is a cell of one."""

import re
from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal

from consumer.planner.evidence import SUPPRESSED, Cell, Evidence, Row
from consumer.planner.gate.clause import Clause
from consumer.planner.gate.masks import SCOPE, Address, Mask, strings
from consumer.planner.gate.quantities import Kind, Quantity, agrees
from consumer.planner.gate.verdict import Code, Refused

_TOWARDS = re.compile(
    r"(?:^|[(,]\s*|\b(?P<how>within|next|last|past|previous|over|during|the)\s+)(?:the\s+)?"
    r"(?:(?P<way>next|last|past|previous)\s+)?$",
    re.IGNORECASE,
)
_WINDOW = re.compile(r"[\s-]*window\b", re.IGNORECASE)


def rows_with(place: int, evidence: Evidence, masks: Iterable[Mask]) -> list[Row] | None:
    """The rows that hold a value of every mask; None where a mask is of no value of this evidence at all."""
    rows = list(evidence.rows)
    for mask in masks:
        here = mask.at(place)
        if not here:
            return None
        if any(a.column == SCOPE for a in here):
            continue  # a bound parameter holds for every row
        rows = [row for row in rows if any(_names(row, a) for a in here)]
    return rows


def _names(row: Row, address: Address) -> bool:
    return address.value in strings(row[address.column])


def things(rows: Iterable[Row], evidence: Evidence) -> list[list[Row]]:
    """The rows by what they are about: two requirements of one title are one thing to who reads their names."""
    keys = [place for place, column in enumerate(evidence.columns) if column.key]
    found: dict[Row, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[place] for place in keys) if keys else row, []).append(row)
    return list(found.values())


def hides(rows: Iterable[Row], column: int, evidence: Evidence) -> bool:
    """Whether one of the things that the rows are about has nothing published in the column."""
    return any(all(row[column] is SUPPRESSED for row in same) for same in things(rows, evidence))


def holds(cell: Cell, quantity: Quantity, how: str) -> bool:
    """Whether the cell's value may be written as the quantity; of a suppressed one nothing may."""
    if quantity.kind is Kind.DATE:
        day = cell.date() if isinstance(cell, datetime) else cell
        return not how and isinstance(day, date) and quantity.since <= day <= quantity.until
    value = number(cell)
    return value is not None and agrees(value, quantity, how)


def number(cell: Cell) -> Decimal | None:
    if isinstance(cell, bool) or not isinstance(cell, int | Decimal):
        return None
    return Decimal(cell)


def values(rows: Sequence[Row], column: int) -> list[Decimal]:
    """The column's numbers. Raises Refused when one is suppressed: no aggregate may be taken over it."""
    if any(row[column] is SUPPRESSED for row in rows):
        raise Refused(Code.SUPPRESSED_CELL)
    return [value for row in rows if (value := number(row[column])) is not None]


def is_window(clause: Clause, quantity: Quantity, evidence: Evidence) -> bool:
    """Whether a duration is the window that the evidence was asked for, and is spoken of as such.

    `ends in 18 months` is a claim about a day and no window; `the next` of a window that looks back is none either.
    """
    months = quantity.value * {"month": 1, "year": 12}.get(quantity.unit, 0)
    asked = {Decimal(v) for v in evidence.scope.values() if isinstance(v, int) and not isinstance(v, bool)}
    if quantity.kind is not Kind.DURATION or months not in asked:
        return False
    lead = _TOWARDS.search(clause.rest[: quantity.start].rstrip() + " ")
    way = ((lead["way"] or lead["how"]) if lead else "") or ""
    if evidence.ahead is not None and way.lower() in ("next", "last", "past", "previous"):
        return evidence.ahead is (way.lower() == "next")
    return lead is not None or _WINDOW.match(clause.rest, quantity.end) is not None
