"""The question prepared once for all extractors: words with offsets, quotations, runs of words."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple, TypeVar

from registry.reference import Spellings

T = TypeVar("T")

_WORD = re.compile(r"[A-Za-z0-9]+(?:['’][A-Za-z]+)?")
# Double quotation marks of one style may be closed by another: programs turn only some of them.
_OPENING = {'"': '"”', "“": '”"', "„": '“”"', "«": "»", "‹": "›", "`": "`"}
_CLOSING = {marks: re.compile(f"[{marks}]") for marks in (*_OPENING.values(), "'’")}
_MARK = re.compile("[\"“„«‹`'‘]")
_POSSESSIVE = re.compile(r"['’]s?$")


class Word(NamedTuple):
    """One word: as written, folded, and where it stands."""

    written: str
    folded: str
    start: int
    end: int


class Quote(NamedTuple):
    """A quotation without its marks; the span covers the content."""

    content: str
    start: int
    end: int


class Text:
    """One cleaned question."""

    def __init__(self, question: str) -> None:
        self.question = question

    @cached_property
    def words(self) -> tuple[Word, ...]:
        found: list[Word] = []
        for match in _WORD.finditer(self.question):
            written = match[0]
            plain = written if written.isalnum() else _POSSESSIVE.sub("", written).replace("'", "").replace("’", "")
            found.append(Word(written, plain.lower(), *match.span()))
        return tuple(found)

    @cached_property
    def folded(self) -> tuple[str, ...]:
        return tuple(word.folded for word in self.words)

    def says(self, *words: str) -> bool:
        """Whether one of the folded words stands in the question: cheap, before a search for what only goes with it."""
        return not self._said.isdisjoint(words)

    @cached_property
    def _said(self) -> frozenset[str]:
        return frozenset(self.folded)

    @cached_property
    def quotes(self) -> tuple[Quote, ...]:
        return self._quotations[0]

    @cached_property
    def unclosed(self) -> int | None:
        """Where a quotation opens that never closes."""
        return self._quotations[1]

    @cached_property
    def _quotations(self) -> tuple[tuple[Quote, ...], int | None]:
        found: list[Quote] = []
        text, place = self.question, 0
        singles = True  # until one finds no end: then no later one does either
        while mark := _MARK.search(text, place):
            place = mark.start()
            single = text[place] in "'‘"
            if not self._opens(place) or (single and not singles):
                place += 1
                continue
            end = self._closing(place, "'’" if single else _OPENING[text[place]])
            if end is None:
                if not single:
                    return tuple(found), place
                singles = False
                place += 1
                continue
            content = text[place + 1 : end]
            inner = _POSSESSIVE.sub("", content.strip())
            start = place + 1 + len(content) - len(content.lstrip())
            if inner:
                found.append(Quote(inner, start, start + len(inner)))
            place = end + 1
        return tuple(found), None

    def _opens(self, place: int) -> bool:
        """Whether a mark opens a quotation: a straight single one where a word starts, for else it is an apostrophe; a
        straight double one not behind a digit, for there it means inches."""
        before = self.question[place - 1 : place]
        match self.question[place]:
            case "'":
                return not before.isalnum() and self.question[place + 1 : place + 2].isalnum()
            case '"':
                return not before.isdigit()
            case _:
                return True

    def _closing(self, place: int, marks: str) -> int | None:
        """Where the quotation that opens at `place` ends: a single mark does not close inside a word."""
        single = marks == "'’"
        for mark in _CLOSING[marks].finditer(self.question, place + 1):
            after = self.question[mark.end() : mark.end() + 1]
            if not single or not after.isalnum():
                return mark.start()
        return None

    def covered(self, spans: Iterable[tuple[int, int]]) -> bytearray:
        """For each character whether one of the spans covers it: a look up that many spans don't slow down."""
        mask = bytearray(len(self.question))
        for start, end in spans:
            mask[start:end] = b"\x01" * (end - start)
        return mask

    def words_before(self, offset: int, count: int) -> tuple[Word, ...]:
        """The last `count` words that end before `offset`."""
        last = bisect_right(self.words, offset, key=lambda word: word.end)
        return self.words[max(0, last - count) : last]

    def runs(self, spellings: Spellings[T]) -> Iterator[tuple[T, int, int]]:
        """What runs of words spell, longest first and without overlap: (entry, first word, end)."""
        words, place = self.folded, 0
        if self._said.isdisjoint(spellings.lengths):
            return
        while place < len(words):
            for length in spellings.lengths.get(words[place], ()):
                entry = spellings.entries.get(" ".join(words[place : place + length]))
                if entry is not None and place + length <= len(words):
                    yield entry, place, place + length
                    place += length
                    break
            else:
                place += 1
