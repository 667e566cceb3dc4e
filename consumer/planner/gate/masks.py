"""Known surfaces: every name, code and text of the evidence that a sentence may hold, with the cells they stand for.

What a mask covers is no claim: digits in a contract number or a company's name count for nothing. A mask carries its
addresses, so that all names of a clause can be asked for in one row.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from consumer.planner.evidence import Cell, Evidence
from consumer.planner.gate.quantities import MONTHS, ONES, ORDINALS, TENS
from consumer.planner.gate.text import ATOM, Atom, atoms
from consumer.planner.gate.vocabulary import (
    DERIVED,
    FORBIDDEN,
    LARGEST,
    LEGAL_SUFFIXES,
    LICENSED,
    NEGATIONS,
    OPERATORS,
    SMALLEST,
    TOTAL,
    VAGUE,
)
from consumer.planner.words import cited, normalise
from registry import Column
from registry.intent import ColumnType

SCOPE = -1
"""The column of an address that is a bound parameter, and so holds for every row."""
NAMED = frozenset({ColumnType.ENTITY, ColumnType.ENUM, ColumnType.ID, ColumnType.TEXT})
PLAIN = frozenset().union(
    LICENSED, OPERATORS, VAGUE, FORBIDDEN, NEGATIONS, DERIVED, TOTAL, LARGEST, SMALLEST, ONES, TENS, ORDINALS, MONTHS
)
"""Words of prose: one of them alone is a name only where it is written as the name is, with a capital."""
LOADED = FORBIDDEN | VAGUE
INSIDE = frozenset(" -/&.,'()%#+:!*@")
"""What may stand between the words of one name."""
_QUOTE = re.compile(r'"([^"]*)"')
_MEASURED = re.compile(
    r"\s?(?:%|percent|million|thousand|billion|bn\b|mn\b|k\b|m\b|b\b|dollars|usd|euros?\b|points?\b)"
    r"|[\s-]?(?:months?|years?|days?|weeks?)\b|[.,/-]\d",
    re.IGNORECASE,
)
_MONEYED = re.compile(r"(?:[$€£]\s?|usd\s?|eur\s?|\d[.,/]|-)$", re.IGNORECASE)
SHORT_CODE = 3
"""Digits of a code that is read as a number unless a word of its column stands before it."""


class Address(NamedTuple):
    """A value of a column (or of the scope) of one evidence."""

    evidence: int
    column: int
    value: str


class Mask(NamedTuple):
    start: int
    end: int
    addresses: tuple[Address, ...]

    def at(self, place: int) -> tuple[Address, ...]:
        """The addresses in one evidence."""
        return tuple(a for a in self.addresses if a.evidence == place)


class Surfaces:
    """The surfaces of the evidence that a text may hold, by their first atom: of two hundred rows it names a few."""

    def __init__(self, evidence: Sequence[Evidence], text: str) -> None:
        self._by_first: dict[str, dict[tuple[str, ...], list[tuple[str, Address]]]] = {}
        self._quotes: dict[str, list[Address]] = {}
        self.plain: dict[str, list[Address]] = {}
        """Values that are words of prose, such as the kind `contract`: names only where a label leads to them."""
        self._evidence = evidence
        present = {a.text for a in atoms(text)}
        for place, item in enumerate(evidence):
            for surface, address in _surfaces(place, item, present):
                written, key = _spelled(surface)
                if not present.issuperset(key):
                    continue
                if len(key) == 1 and key[0] in PLAIN and written == key[0]:
                    self.plain.setdefault(written, []).append(address)
                elif key:
                    self._by_first.setdefault(key[0], {}).setdefault(key, []).append((written, address))
            for column, declared in enumerate(item.columns):
                if declared.type is ColumnType.TEXT and '"' in text:
                    for value in _names(item, column):
                        self._quotes.setdefault(cited(value), []).append(Address(place, column, value))
        self._lengths = {f: sorted({len(k) for k in t}, reverse=True) for f, t in self._by_first.items()}

    def quotes(self, text: str) -> bool:
        """Whether the text is a cell's, word for word."""
        return text in self._quotes

    def find(self, line: str) -> list[Mask]:
        """Masks of the line in order, longest first, without overlap. A quote is a mask with its marks."""
        found = [
            Mask(m.start(), m.end(), tuple(self._quotes[m[1]])) for m in _QUOTE.finditer(line) if m[1] in self._quotes
        ]
        taken = [(mask.start, mask.end) for mask in found]
        words, place = atoms(line), 0
        while place < len(words):
            word = words[place]
            skip = any(start <= word.start < end for start, end in taken) if taken else False
            mask = None if skip else self._at(line, words, place)
            if mask is None:
                place += 1
                continue
            found.append(mask[0])
            place = mask[1]
        return sorted(found)

    def _at(self, text: str, words: Sequence[Atom], place: int) -> tuple[Mask, int] | None:
        table = self._by_first.get(words[place].text)
        if table is None:
            return None
        for length in self._lengths[words[place].text]:
            end = place + length
            if end > len(words):
                continue
            entries = table.get(tuple(w.text for w in words[place:end]))
            if not entries:
                continue
            start, stop = words[place].start, words[end - 1].end
            addresses = dict.fromkeys(
                address
                for surface, address in entries
                if self._written(text, words, place, end, surface, address, (start, stop))
            )
            if addresses:
                start, stop = _with_marks(text, start, stop, [surface for surface, _ in entries])
                return Mask(start, stop, tuple(addresses)), end
        return None

    def _written(
        self, text: str, words: Sequence[Atom], place: int, end: int, surface: str, address: Address,
        span: tuple[int, int],
    ) -> bool:  # fmt: skip
        """Whether the words are this name: nothing foreign between them, no number that only looks like a code."""
        start, stop = span
        if address.column == SCOPE and surface == self._evidence[address.evidence].heading:
            return text[start:stop] == surface  # in other letters its words are words
        if not _joined(text, words[place:end]) and text[start:stop].casefold() not in surface.casefold():
            return False
        if end - place > 1:
            return True
        word = words[place].text
        if word in PLAIN:
            return text[start:stop] == surface
        if not word.isdigit():
            return True
        if _MONEYED.search(text, 0, start) or _MEASURED.match(text, stop):
            return False
        return len(word) > SHORT_CODE or self._introduced(words, place, address)

    def _introduced(self, words: Sequence[Atom], place: int, address: Address) -> bool:
        if address.column == SCOPE or place == 0:
            return False
        return words[place - 1].text in called(self._evidence[address.evidence].columns[address.column])


def called(column: Column) -> frozenset[str]:
    """The words by which prose may call the column: its own, its unit's, its label's and its name's."""
    return words_in((*column.words, column.unit or "", column.label or "", column.name.replace("_", " ")))


@lru_cache(maxsize=4_096)
def words_in(texts: tuple[str, ...]) -> frozenset[str]:
    return frozenset(a.text for text in texts for a in atoms(text))


def strings(cell: Cell) -> tuple[str, ...]:
    """The names that a cell holds: one, several in a list, or none."""
    if isinstance(cell, str):
        return (cell,)
    return cell if isinstance(cell, tuple) else ()


def _with_marks(text: str, start: int, stop: int, surfaces: Sequence[str]) -> tuple[int, int]:
    """The span with the marks that the name itself opens or ends with."""
    for surface in surfaces:
        inner = atoms(surface)
        head, tail = surface[: inner[0].start], surface[inner[-1].end :]
        if head and text.startswith(head, max(0, start - len(head))) and start >= len(head):
            start -= len(head)
        if tail.rstrip(".") and text.startswith(tail, stop):
            stop += len(tail)
    return start, stop


def _joined(text: str, words: Sequence[Atom]) -> bool:
    """Whether only what belongs inside a name stands between the atoms."""
    return all(set(text[a.end : b.start]) <= INSIDE for a, b in pairwise(words))


def _names(evidence: Evidence, column: int) -> set[str]:
    found: set[str] = set()
    for row in evidence.rows:
        cell = row[column]
        if isinstance(cell, str):
            found.add(cell)
        elif isinstance(cell, tuple):
            found.update(cell)
    return found


@lru_cache(maxsize=65_536)
def _first(surface: str) -> str:
    """The first atom of a surface, empty where it has none."""
    match = ATOM.search(normalise(surface))
    return match[0].lower() if match else ""


@lru_cache(maxsize=65_536)
def _spelled(surface: str) -> tuple[str, tuple[str, ...]]:
    """A surface as the gate reads it, and its atoms."""
    written = normalise(surface)
    return written, tuple(a.text for a in atoms(written))


def _surfaces(place: int, evidence: Evidence, present: set[str]) -> Iterator[tuple[str, Address]]:
    for column, declared in enumerate(evidence.columns):
        if declared.type not in NAMED:
            continue
        for value in _names(evidence, column):
            for surface in _of_value(value, declared, present):
                yield surface, Address(place, column, value)
    if " " in evidence.heading:
        yield evidence.heading, Address(place, SCOPE, evidence.heading)
    for name, value in evidence.scope.items():
        for part in strings(value):
            yield part, Address(place, SCOPE, part)
            for column in (c for c in evidence.columns if c.name == name):
                for alias in column.aliases.get(part, ()):
                    yield alias, Address(place, SCOPE, part)


def _of_value(value: str, column: Column, present: set[str]) -> Iterator[str]:
    """How prose may write a value: as it is, by the Registry's aliases, without a legal form, in the plural."""
    if column.aliases:
        yield from column.aliases.get(value, ())
    if _first(value) not in present:
        return
    free = column.untrusted and column.type is ColumnType.TEXT
    if not (free and _loaded(value)):
        yield value
    if not column.untrusted:  # free text of the data counts word for word
        yield from _shortened(value, column.type)
    if column.plural:
        yield f"{value}s"


def _loaded(value: str) -> bool:
    """Whether free text says what no sentence may say: then it stands in quotes or not at all."""
    return not LOADED.isdisjoint(_spelled(value)[1])


def _shortened(value: str, kind: ColumnType) -> Iterator[str]:
    """A company's name without its legal form."""
    _, words = _spelled(value)
    if kind is ColumnType.ENTITY and len(words) > 2 and words[-1] in LEGAL_SUFFIXES:
        yield " ".join(words[:-1])
