"""Typed evidence inside the service: what suppression, gate and rendering reason about.

It carries more than the wire's `schemas.Evidence`: the declared columns, the bound scope and the meaning of each
value. Invariant: a suppressed cell is `SUPPRESSED` from the moment its row becomes evidence; no count below the
threshold ever exists in a value of this type.
"""

from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from typing import Final

from msgspec import Struct

import schemas
from registry import Column
from schemas.evidence import WITHHELD


class Suppressed(Enum):
    """The one sentinel: zero, small and withheld by overlap are the same value."""

    CELL = "cell"

    def __repr__(self) -> str:
        return "SUPPRESSED"


SUPPRESSED: Final = Suppressed.CELL

Cell = str | int | bool | Decimal | date | datetime | tuple[str, ...] | Suppressed | None
Row = tuple[Cell, ...]


class Evidence(Struct, frozen=True, kw_only=True):
    """What one intent returned. `scope` holds the bound parameters as the asker would write them, `as_of` the day
    that counts as today, `total_rows` is None when a cap bit and the total is unknown. `snapshot` is the date of
    the published bench snapshot where the plane is suppressed, `k` its threshold. `ahead` tells
    whether the window looks ahead or back, None where there is none."""

    id: str
    intent: str
    plane: str
    heading: str
    noun: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    complete: bool = True
    total_rows: int | None = None
    order_by: tuple[str, str] | None = None
    scope: dict[str, Cell] = {}
    as_of: date
    k: int | None = None
    snapshot: date | None = None
    ahead: bool | None = None

    @property
    def suppressed_cells(self) -> int:
        return sum(cell is SUPPRESSED for row in self.rows for cell in row)


def to_wire(evidence: Evidence) -> schemas.Evidence:
    """The evidence as it stands in the answer event: `withheld` for suppressed cells, strings for money, dates."""
    return schemas.Evidence(
        id=evidence.id,
        intent=evidence.intent,
        plane=evidence.plane,
        columns=tuple(schemas.Column(name=c.name, type=c.type.value) for c in evidence.columns),
        rows=tuple(tuple(_wire(cell) for cell in row) for row in evidence.rows),
        complete=evidence.complete,
        suppressed_cells=evidence.suppressed_cells,
    )


def _wire(cell: Cell) -> str | int | bool | list[str] | None:
    if cell is SUPPRESSED:
        return WITHHELD
    if isinstance(cell, Decimal):
        return format(cell, "f")
    if isinstance(cell, date):  # datetime is a date
        return cell.isoformat()
    if isinstance(cell, tuple):
        return list(cell)
    return cell
