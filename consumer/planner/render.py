"""The deterministic rendering: evidence as an answer that a person likes to read, and that is true by construction.

A heading for each node, its rows as plain sentences, what was withheld, dropped or cut off and why, and which words of
the question were used. The same evidence gives the same bytes. No dashes but those of names and codes.
"""

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Decimal

from consumer.planner.evidence import SUPPRESSED, Cell, Evidence, Row
from consumer.planner.plan import Need
from registry import Column
from registry.intent import ColumnType
from schemas.answer import Dropped, DropReason

WITHHELD_PHRASE = "is suppressed to protect privacy"
"""The one thing ever said of a withheld count: no number, no bound, no hint."""
SHOWN_ROWS = 8
"""Rows written out for each node; the evidence holds all of them."""

REASONS = {
    DropReason.UNBOUND: "a value it needs was not in the question or could not be taken from another part",
    DropReason.FAILED: "it failed",
    DropReason.TIMEOUT: "it took too long",
    DropReason.UNAUTHORIZED: "you may not read that part",
}


def rendering(evidence: Sequence[Evidence], dropped: Sequence[Dropped] = (), notes: Sequence[str] = ()) -> str:
    """The whole answer text. `notes` are sentences about the values of the question, such as a retired code."""
    parts = [_node(item) for item in evidence]
    if dropped:
        parts.append("\n".join(f"Left out: {d.intent}, because {REASONS[d.reason]}." for d in dropped))
    if notes:
        parts.append("\n".join(_sentence(note) for note in notes))
    return "\n\n".join(parts)


def clarification(needs: Sequence[Need]) -> str:
    """What is missing or ambiguous, and how to give it."""
    if not needs:
        return "The question does not say what to look up. Name an agency, a NAICS code, a UEI or an opportunity."
    if len(needs) == 1:
        return f"To answer this, please {needs[0].note}." if _is_request(needs[0].note) else _sentence(needs[0].note)
    lines = [f"  {need.kind.replace('_', ' ')}: {need.note}." for need in needs]
    return "To answer this, some values are missing or unclear:\n" + "\n".join(lines)


def _is_request(note: str) -> bool:
    return note.split(" ", 1)[0] in ("name", "give")


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}{'' if note.endswith('.') else '.'}"


def _node(evidence: Evidence) -> str:
    lines = [f"{evidence.heading}{_scope(evidence)}"]
    if not evidence.rows:
        lines.append(f"No {evidence.noun[0]} was found.")
    lines += [f"  {_row(evidence, row)}" for row in evidence.rows[:SHOWN_ROWS]]
    if len(evidence.rows) > SHOWN_ROWS:
        lines.append(f"  The evidence holds {len(evidence.rows)} rows in all.")
    if not evidence.complete:
        lines.append(f"  These are the first {len(evidence.rows)}; there are more.")
    if evidence.suppressed_cells:
        lines.append("  A count that could point to a few people is withheld, whatever it is.")
    if evidence.snapshot is not None:
        lines.append(f"  Counted on {day(evidence.snapshot)}.")
    return "\n".join(lines)


def _scope(evidence: Evidence) -> str:
    said = [_scope_part(evidence, name, value) for name, value in evidence.scope.items() if value is not None]
    return f" ({', '.join(said)})" if said else ""


def _scope_part(evidence: Evidence, name: str, value: Cell) -> str:
    if name == "window_months":
        return f"{value} months"
    column = next((c for c in evidence.columns if c.name == name), None)
    return shown(column, value) if column is not None else _joined(value)


def _joined(value: Cell) -> str:
    return " and ".join(value) if isinstance(value, tuple) else str(value)


def _row(evidence: Evidence, row: Row) -> str:
    """One row: what it is about, then its values under their labels."""
    asked = {value for value in evidence.scope.values() if isinstance(value, str)}  # the heading says it already
    cells = [
        (column, cell)
        for column, cell in zip(evidence.columns, row, strict=True)
        if cell is not None and column.name != "snapshot" and (cell not in asked or column.key)
    ]
    about = {c.name for c in evidence.columns if c.key} or {_first_name(evidence.columns)}
    subject = ", ".join(shown(column, cell) for column, cell in cells if column.name in about)
    values = "; ".join(f"{_label(column)} {shown(column, cell)}" for column, cell in cells if column.name not in about)
    return f"{subject}: {values}." if subject and values else f"{subject or values}."


def _first_name(columns: Sequence[Column]) -> str:
    """The first proper name: what a row without declared keys is about."""
    return next((c.name for c in columns if c.type is ColumnType.ENTITY), "")


def _label(column: Column) -> str:
    """The label as it stands inside a sentence; abbreviations such as UEI keep their capitals."""
    label = column.label or column.name.replace("_", " ")
    return label if any(word.isupper() and len(word) > 1 for word in label.split()) else label.lower()


def shown(column: Column, cell: Cell) -> str:
    """A cell for people, by its column's type."""
    if cell is SUPPRESSED:
        return WITHHELD_PHRASE
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, date):
        return day(cell)
    if isinstance(cell, tuple):
        return ", ".join(cell)
    if isinstance(cell, Decimal | int):
        return _number(column, cell)
    return "unknown" if cell is None else _called(column, cell)


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


def money(amount: Decimal) -> str:
    """Dollars and cents, as `$1,234,567.89`; what was taken back with its sign in front."""
    return f"{'-' if amount < 0 else ''}${abs(amount):,.2f}"


def day(value: date) -> str:
    """A date for people: `14 March 2026`, with the time in UTC where there is one."""
    if isinstance(value, datetime):
        return f"{value.day} {value:%B %Y} at {value:%H:%M} UTC"
    return f"{value.day} {value:%B %Y}"
