"""The reference data of a pack: agencies, NAICS, clearances, compartments and other closed dimensions.

CSV files in `<folder>/reference`. A pack without one of them simply lacks that kind of parameter. Sources of the facts:
USAspending's agency list, the Census Bureau's NAICS editions, 32 CFR 117 and the ISM rules for classification.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

T = TypeVar("T")

_NOT_WORD = re.compile(r"[^a-z0-9]+")


def fold(text: str) -> str:
    """How names are compared: lower case, everything that is no letter or digit a blank, no leading article."""
    folded = _NOT_WORD.sub(" ", text.lower().replace("&", " and ").replace("'", "")).strip()
    return folded.removeprefix("the ")


class Spellings(Generic[T]):
    """A table by folded spelling, with the number of words that spellings of each first word have, longest first."""

    def __init__(self, entries: Mapping[str, T] | None = None) -> None:
        self.entries: Mapping[str, T] = entries or {}
        lengths: dict[str, set[int]] = {}
        for spelling in self.entries:
            words = spelling.split(" ")
            lengths.setdefault(words[0], set()).add(len(words))
        self.lengths: Mapping[str, tuple[int, ...]] = {w: tuple(sorted(n, reverse=True)) for w, n in lengths.items()}


class Level(Struct, frozen=True):
    """A clearance. `rank` orders those of one ladder."""

    code: str
    rank: int


class Compartment(Struct, frozen=True):
    """A compartment, the wider ones that holding it implies, and the clearance it can only go with."""

    code: str
    implies: tuple[str, ...]
    needs: str


class Agency(NamedTuple):
    """Official names that one spelling stands for (more than one: ambiguous), and whether it is an abbreviation,
    which counts in capitals alone."""

    spelling: str
    names: tuple[str, ...]
    abbreviation: bool


class Reference(Struct, frozen=True, kw_only=True):
    """Look ups by folded text, save where a code is its own key.

    `naics` maps a code to whether it is retired, `compartments` a mark in capitals to what it is, `dimensions` a kind
    (such as `labor_category`) to its spellings and codes.
    """

    agencies: Spellings[Agency]
    naics: Mapping[str, bool]
    clearances: Spellings[Level]
    compartments: Mapping[str, Compartment]
    dimensions: Mapping[str, Spellings[str]]

    @property
    def words(self) -> frozenset[str]:
        """Every word of a dimension's values: what default deny must let pass."""
        tables = [self.clearances.entries, *(table.entries for table in self.dimensions.values())]
        return frozenset(word for table in tables for spelling in table for word in spelling.split())

    @property
    def names(self) -> tuple[str, ...]:
        """All official names of agencies."""
        return tuple(dict.fromkeys(name for agency in self.agencies.entries.values() for name in agency.names))


def load(folder: str) -> Reference:
    """Reads the tables that `folder/reference` has. Raises KeyError or ValueError for a file of another layout."""
    path = Path(folder) / "reference"
    clearances = {
        fold(phrase): Level(row["code"], int(row["rank"]))
        for row in _rows(path / "clearances.csv")
        for phrase in row["phrases"].split(";")
    }
    compartments = {
        mark: Compartment(row["code"], tuple(filter(None, row["implies"].split(";"))), row["needs"])
        for row in _rows(path / "compartments.csv")
        for mark in row["spellings"].split(";")
    }
    dimensions: dict[str, dict[str, str]] = {}
    for row in _rows(path / "dimensions.csv"):
        for phrase in row["phrases"].split(";"):
            spelling = fold(phrase)
            dimensions.setdefault(row["kind"], {}).update({spelling: row["code"], f"{spelling}s": row["code"]})
    return Reference(
        agencies=Spellings(_agencies(_rows(path / "agencies.csv"))),
        naics={row["code"]: row["edition"] == "retired" for row in _rows(path / "naics.csv")},
        clearances=Spellings(clearances),
        compartments=compartments,
        dimensions={kind: Spellings(table) for kind, table in dimensions.items()},
    )


def _rows(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _agencies(rows: list[dict[str, str]]) -> dict[str, Agency]:
    names: dict[str, dict[str, None]] = {}
    for row in rows:
        names.setdefault(fold(row["agency"]), {})[row["agency"]] = None
    official = frozenset(names)
    abbreviations: set[str] = set()
    for row in rows:
        for short in filter(None, row["short"].split(";")):
            spelling = fold(short)
            if spelling in official:
                continue  # the official name of one agency is no short form of another
            names.setdefault(spelling, {})[row["agency"]] = None
            if short.isupper() and " " not in short:
                abbreviations.add(spelling)
    return {s: Agency(s, tuple(found), s in abbreviations) for s, found in names.items()}
