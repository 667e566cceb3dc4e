"""The reference data of a pack: agencies, NAICS, clearances, compartments and other closed dimensions.

CSV files in `<folder>/reference`. A pack without one of them simply lacks that kind of parameter. Sources of the facts:
USAspending's agency list, the Census Bureau's NAICS editions, 32 CFR 117 and the ISM rules for classification.
"""

import csv
import re
from collections.abc import Mapping
from enum import Enum
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
    """A clearance. `rank` orders those of one ladder. Without a code it is a spelling that holds the word of a
    clearance and means none, such as trade secret."""

    code: str
    rank: int


class Compartment(Struct, frozen=True):
    """A compartment, the wider ones that holding it implies, and the lowest clearance that people can hold it with."""

    code: str
    implies: tuple[str, ...]
    lowest: str


class Form(Enum):
    """What a spelling of an agency is, which decides where it counts outside quotes."""

    NAME = "name"
    ABBREVIATION = "abbreviation"
    ALIAS = "alias"


class Agency(NamedTuple):
    """Official names that one spelling stands for (more than one: ambiguous). `departments` are those that each have
    an office of this very name, which is then ambiguous too."""

    spelling: str
    names: tuple[str, ...]
    form: Form
    departments: tuple[str, ...] = ()


class Reference(Struct, frozen=True, kw_only=True):
    """Look ups by folded text, save where a code is its own key.

    `naics` maps a code to whether it is retired, `compartments` a mark in capitals to what it is,
    `compartment_names` those marks that are words and are read in small letters too, `dimensions` a kind
    (such as `labor_category`) to its spellings and codes. `otherwise` says when capitals that are an agency's
    abbreviation and something else too may mean the agency: `never`, `at` (behind a word such as at or by), or `place`
    (the same, for they are a state's code as well). `synonyms` maps a word of questions to the one that intents are
    found by.
    """

    agencies: Spellings[Agency]
    naics: Mapping[str, bool]
    clearances: Spellings[Level]
    compartments: Mapping[str, Compartment]
    compartment_names: Spellings[str]
    dimensions: Mapping[str, Spellings[str]]
    otherwise: Mapping[str, str] = {}
    synonyms: Mapping[str, str] = {}

    @property
    def words(self) -> frozenset[str]:
        """Every word of a dimension's values: what default deny must let pass."""
        levels = [spelling for spelling, level in self.clearances.entries.items() if level.code]
        values = [spelling for table in self.dimensions.values() for spelling in table.entries]
        return frozenset(word for spelling in (*levels, *values) for word in spelling.split())

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
        mark: Compartment(row["code"], tuple(filter(None, row["implies"].split(";"))), row["lowest"])
        for row in _rows(path / "compartments.csv")
        for mark in row["spellings"].split(";")
    }
    dimensions: dict[str, dict[str, str]] = {}
    for row in _rows(path / "dimensions.csv"):
        for phrase in row["phrases"].split(";"):
            spelling = fold(phrase)
            dimensions.setdefault(row["kind"], {}).update({spelling: row["code"], f"{spelling}s": row["code"]})
    return Reference(
        agencies=Spellings(_agencies(_rows(path / "agencies.csv"), _rows(path / "aliases.csv"))),
        naics={row["code"]: row["edition"] == "retired" for row in _rows(path / "naics.csv")},
        clearances=Spellings(clearances),
        compartments=compartments,
        compartment_names=Spellings({fold(mark): mark for mark in compartments if _is_word(mark)}),
        dimensions={kind: Spellings(table) for kind, table in dimensions.items()},
        synonyms={w: row["as"] for row in _rows(path / "synonyms.csv") for w in row["words"].split(";")},
        otherwise={row["word"].lower(): row["unless"] for row in _rows(path / "otherwise.csv")},
    )


def _is_word(mark: str) -> bool:
    """GAMMA and TALENT KEYHOLE are words; SI, HCS-P are none."""
    return len(mark) > 4 and "-" not in mark


def _rows(file: Path) -> list[dict[str, str]]:
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _agencies(rows: list[dict[str, str]], aliases: list[dict[str, str]]) -> dict[str, Agency]:
    """By folded spelling: official names first, which no other form may take, then other forms of departments,
    abbreviations and common names."""
    names: dict[str, dict[str, None]] = {}
    forms: dict[str, Form] = {}
    departments: dict[str, dict[str, None]] = {}

    def add(spelling: str, name: str, form: Form) -> None:
        if forms.setdefault(spelling, form) is form or form is not Form.ALIAS:
            names.setdefault(spelling, {})[name] = None

    for row in rows:
        add(fold(row["agency"]), row["agency"], Form.NAME)
        departments.setdefault(row["agency"], {})[row["department"]] = None
    official = frozenset(names)
    for row in rows:
        for spelling in _turned(row["agency"]) - official:
            add(spelling, row["agency"], Form.NAME)
        for short in filter(None, row["short"].split(";")):
            if (spelling := fold(short)) not in official:
                single = short.isupper() and " " not in short
                add(spelling, row["agency"], Form.ABBREVIATION if single else Form.NAME)
    for row in aliases:
        add(fold(row["alias"]), row["agency"], Form.ALIAS)
    shared = {name: tuple(found) for name, found in departments.items() if len(found) > 1 and "" not in found}
    return {s: Agency(s, tuple(n), forms[s], shared.get(next(iter(n)), ())) for s, n in names.items()}


def _turned(name: str) -> frozenset[str]:
    """Other ways to write a department, as files of SAM.gov and people do: `energy department of`, `dept of energy`,
    `energy department`, `u s department of energy`."""
    folded = fold(name)
    if not folded.startswith("department of "):
        return frozenset()
    article = "the " if folded.startswith("department of the ") else ""
    topic = folded.removeprefix("department of ").removeprefix("the ")
    return frozenset(
        (
            f"{topic} department of {article}".strip(),
            f"dept of {article}{topic}",
            f"{topic} department",
            f"u s {folded}",
            f"us {folded}",
        )
    )
