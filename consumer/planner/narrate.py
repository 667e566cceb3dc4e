"""Narration by slots: a model writes the sentences, code writes every value in them.

The model sees the names, types and row numbers of the evidence and refers to values: `{e1.r0.vendor}` is a cell,
`{sum:e1.obligated}` a sum, `{count:e1}` the number of rows. It never writes a digit, a number word or a name, so it
can't write a wrong one; and it never sees a value of the data, so the data can't instruct it: free text is put in by
code, in quotes. What comes back with references is rendered here; what comes back without any goes on as it is. Both
meet the gate.
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Protocol

from consumer.deadline import Deadline
from consumer.planner.evidence import SUPPRESSED, Evidence
from consumer.planner.gate.quantities import ONES, ORDINALS, TENS
from consumer.planner.words import shown
from registry import Column

ROWS_TOLD = 12
"""Rows of one evidence that a model may refer to."""
MAX_NARRATION = 6_000
"""Characters of a narration: what is longer is not read."""

INSTRUCTIONS = """\
Write two to six plain sentences that answer the question from the evidence below, for a capture manager.
Refer to values, never write them: {e1.r0.vendor} is the vendor in row 0 of e1, {sum:e1.obligated} the sum of a column,
{count:e1} the number of rows. Write no digit, no number word and no name yourself. Put what belongs to one row in one
sentence, with the columns that name the row, and call every column as the evidence calls it. State only what the
evidence holds: no judgement, no cause, no forecast, no advice, no comparison of your own. A value marked withheld may
only be called "suppressed to protect privacy"; one marked unknown is left out. Of evidence without rows say
only that none was found under its heading. Use no dashes. Return the sentences alone.
"""

_SLOT = re.compile(
    r"\{(?:(?P<how>sum|count):)?(?P<id>e\d{1,2})(?:\.r(?P<row>\d{1,3}))?(?:\.(?P<column>[a-z_]{1,60}))?\}"
)
_NUMBER_WORDS = "|".join((*ONES, *TENS, *ORDINALS, "hundred", "thousand", "million", "billion"))
_WRITTEN = re.compile(rf"\d|\b(?:{_NUMBER_WORDS})\b", re.IGNORECASE)


class Narrator(Protocol):
    """Who writes the words of an answer (`consumer.inference`)."""

    async def narrate(self, prompt: str, deadline: Deadline) -> str:
        """The model's text, empty when it declined. Raises Transient or TimeoutError when there is none."""
        ...


class BadSlots(Exception):
    """The narration refers to what is not there, or writes a value beside its references."""


async def narrate(narrator: Narrator, question: str, evidence: Sequence[Evidence], deadline: Deadline) -> str:
    """The narration with its references rendered, or a free text as the model wrote it.

    `question` must be masked: its values are none of the model's business. Raises BadSlots, Transient or TimeoutError.
    """
    async with deadline.scope():
        text = await narrator.narrate(prompt(question, evidence), deadline)
    if len(text) > MAX_NARRATION:
        raise BadSlots("too long")
    return fill(text.strip(), evidence) if "{" in text else text.strip()


def prompt(question: str, evidence: Sequence[Evidence]) -> str:
    """What the model is told: names, types and which cells there are, never a value of free text."""
    return "\n".join([INSTRUCTIONS, f"Question: {question}", "Evidence:", *(_described(item) for item in evidence)])


def _described(item: Evidence) -> str:
    parts = [f"{item.id}: {item.heading}. One row is one {item.noun[0]}."]
    if not item.rows:
        return f"{parts[0]} No rows."
    parts.append(f"Columns: {'; '.join(_told(column) for column in item.columns)}.")
    rows = item.rows[:ROWS_TOLD]
    parts.append(f"Rows r0 to r{len(rows) - 1}.")
    parts.append("These are all." if item.complete else "There are more: no sum and no count.")
    for word, sort in (("Withheld", SUPPRESSED), ("Unknown", None)):
        if cells := [
            f"r{place}.{column.name}"
            for place, row in enumerate(rows)
            for column, cell in zip(item.columns, row, strict=True)
            if (cell or None if isinstance(cell, tuple) else cell) is sort
        ]:
            parts.append(f"{word}: {', '.join(cells)}.")
    if item.order_by:
        end = "largest" if item.order_by[1] == "desc" else "smallest"
        parts.append(f"Ordered by {item.order_by[0]}, the {end} at r0.")
    return " ".join(parts)


def _told(column: Column) -> str:
    kinds = (
        column.type.value,
        column.unit or "",
        "names the row" if column.key else "",
        "sum" if column.additive else "",
    )
    label = f' "{column.label}"' if column.label else ""
    return f"{column.name}{label} ({', '.join(kind for kind in kinds if kind)})"


def fill(text: str, evidence: Sequence[Evidence]) -> str:
    """The text with every reference rendered. Raises BadSlots for one that is none, or for a value written beside."""
    by_id = {item.id: item for item in evidence}
    if _WRITTEN.search(_without_labels(_SLOT.sub("", text), evidence)):
        raise BadSlots("a value is written beside the references")
    filled = _SLOT.sub(lambda match: _value(match, by_id), text)
    if "{" in filled or "}" in filled:
        raise BadSlots("a reference can't be read")
    return filled


def _without_labels(text: str, evidence: Sequence[Evidence]) -> str:
    """The text without what columns are called: `top three share` is no number of the model's."""
    columns = [column for item in evidence for column in item.columns]
    called = {name for c in columns for name in (*c.words, c.label or "") if _WRITTEN.search(name)}
    for name in sorted(called, key=len, reverse=True):
        text = re.sub(rf"\b{re.escape(name)}\b", "", text, flags=re.IGNORECASE)
    return text


def _value(match: re.Match[str], by_id: dict[str, Evidence]) -> str:
    item = by_id.get(match["id"])
    if item is None:
        raise BadSlots("no such evidence")
    if match["how"] == "count":
        if not item.complete or match["row"] or match["column"]:
            raise BadSlots("a count needs complete evidence and nothing else")
        return str(len(item.rows))
    place = next((i for i, column in enumerate(item.columns) if column.name == match["column"]), None)
    if place is None:
        raise BadSlots("no such column")
    column = item.columns[place]
    if match["how"] == "sum":
        return shown(column, _sum(item, place))
    if match["row"] is None or int(match["row"]) >= len(item.rows):
        raise BadSlots("no such row")
    cell = item.rows[int(match["row"])][place]
    if cell is SUPPRESSED or cell is None or cell == ():
        raise BadSlots("a withheld count or an unknown value can't be written")
    return shown(column, cell)


def _sum(item: Evidence, place: int) -> Decimal:
    cells = [row[place] for row in item.rows]
    if not item.complete or not item.columns[place].additive or any(cell is SUPPRESSED for cell in cells):
        raise BadSlots("a sum needs complete evidence of an additive column")
    return sum((Decimal(cell) for cell in cells if isinstance(cell, int | Decimal)), Decimal(0))
