"""Evidence as it leaves the service: rows of one intent, each value already fit for JSON."""

from msgspec import Struct

WITHHELD = "withheld"
"""What stands in a row for a suppressed cell, whatever the reason: zero, small, or told apart by another cell."""

Cell = str | int | bool | list[str] | None
"""Money is a decimal string, dates are ISO 8601."""


class Column(Struct, frozen=True, kw_only=True):
    """Name and type (`money`, `count`, `percent`, `rank`, `date`, `entity`, `id`, ...) of one column."""

    name: str
    type: str


class Evidence(Struct, frozen=True, kw_only=True):
    """What one node of the plan found. `complete` is false when a row cap cut the result."""

    id: str
    intent: str
    plane: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    complete: bool
    suppressed_cells: int
