"""Known surfaces: every name, code and text of the evidence that a sentence may hold, with the cells they stand for.

What a mask covers is no claim: digits in a contract number or a company's name count for nothing. A mask carries its
addresses, so that all names of a clause can be asked for in one row.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from consumer.planner.evidence import Evidence
from consumer.planner.gate.text import Atom, atoms
from consumer.planner.gate.vocabulary import LEGAL_SUFFIXES, NEGATIONS
from registry.intent import ColumnType

SCOPE = -1
"""The column of an address that is a bound parameter and not a cell."""
NAMED = frozenset({ColumnType.ENTITY, ColumnType.ENUM, ColumnType.ID, ColumnType.TEXT})


INSIDE = frozenset(" -/&.,'()%#+:!*@")
"""What may stand between the words of one name."""


class Address(NamedTuple):
    """A value of a column (or of the scope) of one evidence."""

    evidence: int
    column: int
    value: str


class Mask(NamedTuple):
    start: int
    end: int
    addresses: tuple[Address, ...]


class Surfaces:
    """All surfaces of the evidence, by their first atom."""

    def __init__(self, evidence: Sequence[Evidence]) -> None:
        self._by_first: dict[str, dict[tuple[str, ...], list[Address]]] = {}
        self._quotable: set[str] = set()
        for place, item in enumerate(evidence):
            for surface, address in _surfaces(place, item):
                key = tuple(a.text for a in atoms(surface))
                if key and not (len(key) == 1 and key[0] in NEGATIONS):
                    self._by_first.setdefault(key[0], {}).setdefault(key, []).append(address)
            for column, declared in enumerate(item.columns):
                if declared.type is ColumnType.TEXT:
                    self._quotable |= {str(row[column]) for row in item.rows}
        self._lengths = {f: sorted({len(k) for k in t}, reverse=True) for f, t in self._by_first.items()}

    def quotes(self, text: str) -> bool:
        """Whether the text is a cell's, word for word."""
        return text in self._quotable

    def find(self, text: str) -> list[Mask]:
        """Masks in the text, longest first, without overlap."""
        words, place = atoms(text), 0
        found: list[Mask] = []
        while place < len(words):
            mask = self._at(text, words, place)
            if mask is None:
                place += 1
                continue
            found.append(mask[0])
            place = mask[1]
        return found

    def _at(self, text: str, words: Sequence[Atom], place: int) -> tuple[Mask, int] | None:
        table = self._by_first.get(words[place].text)
        for length in self._lengths.get(words[place].text, ()) if table else ():
            end = place + length
            addresses = table.get(tuple(w.text for w in words[place:end])) if table and end <= len(words) else None
            if addresses and _joined(text, words[place:end]):
                return Mask(words[place].start, words[end - 1].end, tuple(dict.fromkeys(addresses))), end
        return None


def _joined(text: str, words: Sequence[Atom]) -> bool:
    """Whether only what belongs inside a name stands between the atoms."""
    return all(set(text[a.end : b.start]) <= INSIDE for a, b in pairwise(words))


def _surfaces(place: int, evidence: Evidence) -> Iterator[tuple[str, Address]]:
    for column, declared in enumerate(evidence.columns):
        if declared.type not in NAMED:
            continue
        for value in {str(row[column]) for row in evidence.rows if isinstance(row[column], str)}:
            address = Address(place, column, value)
            yield value, address
            # free text of the data counts word for word, and by what the Registry itself calls it
            shortened = () if declared.untrusted else _shortened(value, declared.type)
            for alias in (*declared.aliases.get(value, ()), *shortened):
                yield alias, address
            if declared.plural:
                yield f"{value}s", address
    for value in evidence.scope.values():
        if isinstance(value, str):
            yield value, Address(place, SCOPE, value)


def _shortened(value: str, kind: ColumnType) -> Iterator[str]:
    """A company's name without its legal form."""
    words = [a.text for a in atoms(value)]
    if kind is ColumnType.ENTITY and len(words) > 2 and words[-1] in LEGAL_SUFFIXES:
        yield " ".join(words[:-1])
