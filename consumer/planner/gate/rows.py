"""Which rows a clause speaks of, and whether a quantity is a cell of one."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache

from consumer.planner.evidence import SUPPRESSED, Cell, Evidence, Row
from consumer.planner.gate.masks import SCOPE, Mask
from consumer.planner.gate.quantities import Kind, Quantity, agrees
from consumer.planner.gate.text import atoms
from consumer.planner.gate.verdict import Code, Refused
from registry import Column
from registry.intent import ColumnType

UNTELLING = frozenset("of the on in at date".split())

TYPES: dict[Kind, frozenset[ColumnType]] = {
    Kind.MONEY: frozenset({ColumnType.MONEY}),
    Kind.PERCENT: frozenset({ColumnType.PERCENT}),
    Kind.ORDINAL: frozenset({ColumnType.RANK}),
    Kind.DATE: frozenset({ColumnType.DATE}),
    Kind.DURATION: frozenset({ColumnType.COUNT, ColumnType.DURATION}),
    Kind.NUMBER: frozenset({ColumnType.COUNT, ColumnType.RANK, ColumnType.DURATION}),
}


def words_of(column: Column) -> frozenset[str]:
    """The words by which prose may call the column: its own, its unit's, its label's and its name's."""
    return _atoms((*column.words, column.unit or "", column.label or "", column.name.replace("_", " ")))


def calls(column: Column) -> frozenset[str]:
    """The words that single the column out: those declared, without what any column may be called."""
    return _atoms(column.words or (column.name.replace("_", " "),)) - UNTELLING


@lru_cache(maxsize=4_096)
def _atoms(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(a.text for text in texts for a in atoms(text))


def nouns(evidence: Evidence) -> frozenset[str]:
    """What one row, or several, are called."""
    plain = [a.text for noun in evidence.noun for a in atoms(noun)]
    return frozenset(form for word in plain for form in (word, f"{word}s", f"{word.removesuffix('y')}ies"))


def rows_with(place: int, evidence: Evidence, masks: Iterable[Mask]) -> list[Row] | None:
    """The rows that hold a value of every mask; None where a mask is of no value of this evidence at all."""
    rows = list(evidence.rows)
    for mask in masks:
        here = [a for a in mask.addresses if a.evidence == place]
        if not here:
            return None
        if any(a.column == SCOPE for a in here):
            continue  # a bound parameter holds for every row
        rows = [row for row in rows if any(str(row[a.column]) == a.value for a in here)]
    return rows


def columns_for(evidence: Evidence, quantity: Quantity, words: frozenset[str]) -> list[int]:
    """Columns of the quantity's type, narrowed to those that the clause's words call by name."""
    fitting = [i for i, c in enumerate(evidence.columns) if c.type in TYPES.get(quantity.kind, ())]
    if quantity.kind is Kind.DURATION:
        fitting = [i for i in fitting if (evidence.columns[i].unit or "").rstrip("s") == quantity.unit]
    named = [i for i in fitting if calls(evidence.columns[i]) & words]
    most = max((len(calls(evidence.columns[i]) & words) for i in named), default=0)
    named = [i for i in named if len(calls(evidence.columns[i]) & words) == most]
    if quantity.kind is Kind.NUMBER and not named:
        counts = [i for i in fitting if evidence.columns[i].type is ColumnType.COUNT]
        return counts if len(counts) == 1 and evidence.columns[counts[0]].sensitive else []
    return named or fitting


def holds(cell: Cell, quantity: Quantity, how: str) -> bool:
    """Whether the cell's value may be written as the quantity. Raises Refused for a suppressed one."""
    if cell is SUPPRESSED:
        raise Refused(Code.SUPPRESSED_CELL)
    if quantity.kind is Kind.DATE:
        day = cell.date() if isinstance(cell, datetime) else cell
        return isinstance(day, date) and quantity.since <= day <= quantity.until
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


def is_window(evidence: Evidence, quantity: Quantity) -> bool:
    """Whether a duration is the window that the evidence was asked for."""
    months = quantity.value * {"month": 1, "year": 12}.get(quantity.unit, 0)
    return (
        quantity.kind is Kind.DURATION
        and months > 0
        and months in {Decimal(v) for v in evidence.scope.values() if isinstance(v, int) and not isinstance(v, bool)}
    )
