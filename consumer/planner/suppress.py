"""Suppression over the union of one answer's evidence, before anything is rendered or told to a model.

The published cells are already safe against each other; this stage makes sure that what one answer shows side by
side is too. First the threshold, defensively: a count of people below k becomes the sentinel, whatever let it through,
zero included (CMS cell size policy: cells of 1 to 10 may be neither shown nor derivable). Then the complement: where
one withheld part and its whole stand in one evidence, the whole is withheld too, or the part would follow by
subtraction. It only ever withholds.
"""

from collections.abc import Sequence
from decimal import Decimal

from msgspec.structs import replace

from consumer.planner.evidence import SUPPRESSED, Cell, Evidence, Row

WHOLE = frozenset({"any", "all", "total", "everyone", "any clearance", "all clearances", "any time", ""})
"""How a key column names the group that holds all others."""


def suppress(evidence: Sequence[Evidence], k: int) -> tuple[Evidence, ...]:
    """The evidence with every count of people below `k` withheld, and every whole that would give one away."""
    return tuple(_complement(_threshold(item, item.k or k)) for item in evidence)


def _threshold(evidence: Evidence, k: int) -> Evidence:
    counts = [place for place, column in enumerate(evidence.columns) if column.sensitive]
    if not counts:
        return evidence
    rows = tuple(
        tuple(SUPPRESSED if place in counts and _is_small(cell, k) else cell for place, cell in enumerate(row))
        for row in evidence.rows
    )
    return replace(evidence, rows=rows)


def _is_small(cell: Cell, k: int) -> bool:
    return isinstance(cell, int | Decimal) and not isinstance(cell, bool) and cell < k


def _complement(evidence: Evidence) -> Evidence:
    """Withholds a whole whose parts in this evidence are all shown but one, or hide fewer than k together."""
    rows = list(evidence.rows)
    keys = [place for place, column in enumerate(evidence.columns) if column.key]
    for count in (place for place, column in enumerate(evidence.columns) if column.sensitive):
        for key in keys:
            for at, row in enumerate(rows):
                if row[count] is SUPPRESSED or not _is_whole(row[key]):
                    continue
                parts = [r for r in rows if r is not row and _same_but(r, row, key, keys) and not _is_whole(r[key])]
                hidden = [r for r in parts if r[count] is SUPPRESSED]
                if len(hidden) == 1 or (hidden and _remainder(row, parts, count) < (evidence.k or 0)):
                    rows[at] = tuple(SUPPRESSED if place == count else cell for place, cell in enumerate(row))
    return replace(evidence, rows=tuple(rows))


def _is_whole(cell: Cell) -> bool:
    return isinstance(cell, str) and cell.strip().lower() in WHOLE


def _same_but(one: Row, other: Row, key: int, keys: Sequence[int]) -> bool:
    return all(one[place] == other[place] for place in keys if place != key)


def _remainder(whole: Row, parts: Sequence[Row], count: int) -> Decimal:
    shown = sum((Decimal(str(r[count])) for r in parts if r[count] is not SUPPRESSED), Decimal(0))
    return Decimal(str(whole[count])) - shown
