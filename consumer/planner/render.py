"""The deterministic rendering: evidence as an answer that a person likes to read, and that is true by construction.

A heading for each node, its rows as plain sentences, what was withheld, dropped or cut off and why, and which words of
the question were used. The same evidence gives the same bytes. No dashes but those of names and codes.
"""

from collections.abc import Sequence

from consumer.planner.evidence import Cell, Evidence, Row
from consumer.planner.notes import SHOWN_ROWS, notes, opening
from consumer.planner.plan import Need
from consumer.planner.words import shown
from registry import Column
from registry.intent import ColumnType
from schemas.answer import Dropped, DropReason

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
    rows = [_row(evidence, row) for row in evidence.rows[:SHOWN_ROWS]]
    return "\n".join([opening(evidence), *(f"  {line}" for line in (*rows, *notes(evidence)))])


def _row(evidence: Evidence, row: Row) -> str:
    """One row: what it is about, then its values under their labels."""
    asked = {value for value in evidence.scope.values() if isinstance(value, str)}  # the heading says it already
    cells = [
        (column, cell)
        for column, cell in zip(evidence.columns, row, strict=True)
        if cell is not None and cell != () and column.name != "snapshot" and (cell not in asked or column.key)
    ]
    about = {c.name for c in evidence.columns if c.key} or {_first_name(evidence.columns)}
    subject = ", ".join(shown(column, cell) for column, cell in cells if column.name in about)
    values = "; ".join(_said(column, cell) for column, cell in cells if column.name not in about)
    return f"{subject}: {values}." if subject and values else f"{subject or values}."


def _said(column: Column, cell: Cell) -> str:
    """A value under its label; what is true or not by the word that the column has for it."""
    if isinstance(cell, bool) and len(column.words) > 1:
        return shown(column, cell)
    return f"{_label(column)} {shown(column, cell)}"


def _first_name(columns: Sequence[Column]) -> str:
    """The first proper name: what a row without declared keys is about."""
    return next((c.name for c in columns if c.type is ColumnType.ENTITY), "")


def _label(column: Column) -> str:
    """The label as it stands inside a sentence; abbreviations such as UEI keep their capitals."""
    label = column.label or column.name.replace("_", " ")
    return label if any(word.isupper() and len(word) > 1 for word in label.split()) else label.lower()
