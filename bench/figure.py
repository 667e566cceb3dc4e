"""What every part of the bench gives: a figure, and where there is one its reference and the ratio to it."""

from collections.abc import Iterable
from typing import NamedTuple

import msgspec


class Figure(NamedTuple):
    """`ratio` is this figure to `beside`, as the name of the column says: 0.9 is nine tenths of it."""

    part: str
    name: str
    value: float
    unit: str
    beside: str = ""
    ratio: float | None = None


def lines(figures: Iterable[Figure]) -> Iterable[str]:
    """A table for people: a heading a part, a line a figure."""
    part = ""
    for figure in figures:
        if figure.part != part:
            part = figure.part
            yield f"\n{part}"
        line = f"  {figure.name:<58}{figure.value:>12,.{1 if figure.value < 100 else 0}f} {figure.unit:<12}"
        yield line + (f"{figure.ratio:>6.2f} of {figure.beside}" if figure.ratio is not None else "")


def as_json(figures: Iterable[Figure]) -> bytes:
    return msgspec.json.format(msgspec.json.encode([figure._asdict() for figure in figures]))
