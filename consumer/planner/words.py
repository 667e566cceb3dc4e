"""Text and values as people write them: one spelling for the gate to read, one way to write each type of value."""

import unicodedata
from datetime import date, datetime
from decimal import Decimal

from consumer.planner.evidence import SUPPRESSED, Cell
from registry import Column
from registry.intent import ColumnType

WITHHELD_PHRASE = "is suppressed to protect privacy"
"""The one thing ever said of a withheld count: no number, no bound, no hint."""
_FOLD = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2010": "-",
    "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u00a0": " ", "\u202f": " ",
})  # fmt: skip


def normalise(text: str) -> str:
    """NFKC without format characters, quotes and dashes folded. One line stays one line."""
    if text.isascii():
        return text
    plain = unicodedata.normalize("NFKC", text).translate(_FOLD)
    return "".join(c for c in plain if unicodedata.category(c) != "Cf")


def cited(cell: str) -> str:
    """A cell's text as it stands inside quotes: one line, no double quote of its own."""
    return " ".join(normalise(cell).replace('"', "'").split())


def money(amount: Decimal) -> str:
    """Dollars and cents, as `$1,234,567.89`; what was taken back with its sign in front."""
    return f"{'-' if amount < 0 else ''}${abs(amount):,.2f}"


def day(value: date) -> str:
    """A date for people: `14 March 2026`, with the time in UTC where there is one."""
    if isinstance(value, datetime):
        return f"{value.day} {value:%B %Y} at {value:%H:%M} UTC"
    return f"{value.day} {value:%B %Y}"


def shown(column: Column, cell: Cell) -> str:
    """A cell for people, by its column's type. Free text of the data stands in quotes: it is said, not claimed."""
    if cell is SUPPRESSED:
        return WITHHELD_PHRASE
    if isinstance(cell, bool):
        yes, no = column.words[:2] if len(column.words) > 1 else ("yes", "no")
        return yes if cell else no
    if isinstance(cell, date):
        return day(cell)
    if isinstance(cell, tuple):
        return ", ".join(shown(column, item) for item in cell)
    if isinstance(cell, Decimal | int):
        return _number(column, cell)
    if cell is None:
        return "unknown"
    return f'"{cited(cell)}"' if column.type is ColumnType.TEXT else cited(_called(column, cell))


def _called(column: Column, value: str) -> str:
    """A code by the first name that its column gives it: `TS_SCI` is TS/SCI to a reader."""
    return next(iter(column.aliases.get(value, ())), value)


def _number(column: Column, number: Decimal | int) -> str:
    match column.type:
        case ColumnType.MONEY:
            return money(Decimal(number))
        case ColumnType.PERCENT:
            return f"{number} percent"
        case ColumnType.DURATION:
            return f"{number} {column.unit or ''}".strip()
        case ColumnType.ID:
            return str(number)
        case _:
            return f"{number:,}"
