"""Sentences about the evidence itself: what is empty, cut off, withheld or counted when. Both renderer and gate use
them: the gate takes such a sentence as true only where this module would write it of the same evidence."""

from consumer.planner.evidence import Cell, Evidence
from consumer.planner.words import day, shown

SHOWN_ROWS = 8
"""Rows written out for each node; the evidence holds all of them."""


def opening(evidence: Evidence) -> str:
    """The line above the rows: what they are and what they were asked for."""
    said = [_scope_part(evidence, name, value) for name, value in evidence.scope.items() if value is not None]
    return f"{evidence.heading} ({', '.join(said)})" if said else evidence.heading


def _scope_part(evidence: Evidence, name: str, value: Cell) -> str:
    if name == "window_months":
        way = "" if evidence.ahead is None else "next " if evidence.ahead else "last "
        return f"{way}{value} months"
    column = next((c for c in evidence.columns if c.name == name), None)
    return shown(column, value) if column is not None else _joined(value)


def _joined(value: Cell) -> str:
    return " and ".join(value) if isinstance(value, tuple) else str(value)


def notes(evidence: Evidence) -> tuple[str, ...]:
    """What a reader should know beside the rows."""
    found: list[str] = []
    noun, rows = evidence.noun[0], len(evidence.rows)
    if not rows:
        found.append(f"No {noun} was found.")
    if rows > SHOWN_ROWS:
        found.append(f"These are the first {SHOWN_ROWS} of the {rows} rows in the evidence.")
    if not evidence.complete:
        found.append(f"The list was cut at {rows} rows; there are more.")
    if any(column.sensitive for column in evidence.columns) and evidence.suppressed_cells:
        found.append("A count that could point to a few people is withheld, whatever it is.")
    if evidence.snapshot is not None:
        found.append(f"Counted on {day(evidence.snapshot)}.")
    return tuple(found)
