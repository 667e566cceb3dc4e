"""The question prepared once for all extractors: words with offsets, quotations, runs of words."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import NamedTuple, TypeVar

from registry.reference import Spellings

T = TypeVar("T")

_WORD = re.compile(r"[A-Za-z0-9]+(?:['’][A-Za-z]+)?")
# Double quotation marks of one style may be closed by another: programs turn only some of them.
_OPENING = {'"': '"”', "“": '”"', "„": '“”"', "«": "»", "‹": "›", "`": "`"}
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
            folded = _POSSESSIVE.sub("", written).replace("'", "").replace("’", "").lower()
            found.append(Word(written, folded, match.start(), match.end()))
        return tuple(found)

    @cached_property
    def folded(self) -> tuple[str, ...]:
        return tuple(word.folded for word in self.words)

    @cached_property
    def quotes(self) -> tuple[Quote, ...]:
        return tuple(self._quotations()[0])

    @cached_property
    def unclosed(self) -> int | None:
        """Where a quotation opens that never closes."""
        return self._quotations()[1]

    def _quotations(self) -> tuple[list[Quote], int | None]:
        found: list[Quote] = []
        text, place = self.question, 0
        singles = True  # until one finds no end: then no later one does either
        while place < len(text):
            closing = _OPENING.get(text[place])
            if closing is not None and text[place] == '"' and text[place - 1 : place].isdigit():
                closing = None  # inches
            single = text[place] == "‘" or (text[place] == "'" and self._opens(place))
            if closing is None and not (single and singles):
                place += 1
                continue
            end = self._closing(place, "'’" if single else closing or "")
            if end is None:
                if not single:
                    return found, place
                singles = False
                place += 1
                continue
            content = text[place + 1 : end]
            inner = _POSSESSIVE.sub("", content.strip())
            start = place + 1 + len(content) - len(content.lstrip())
            if inner:
                found.append(Quote(inner, start, start + len(inner)))
            place = end + 1
        return found, None

    def _opens(self, place: int) -> bool:
        """A straight single quote opens where a word starts after a blank."""
        before = self.question[place - 1] if place else " "
        after = self.question[place + 1 : place + 2]
        return not before.isalnum() and after.isalnum()

    def _closing(self, place: int, marks: str) -> int | None:
        single = marks == "'’"
        for end in range(place + 1, len(self.question)):
            if self.question[end] not in marks:
                continue
            after = self.question[end + 1 : end + 2]
            if not single or not after.isalnum():
                return end
        return None

    def words_before(self, offset: int, count: int) -> tuple[Word, ...]:
        """The last `count` words that end before `offset`."""
        last = bisect_right(self.words, offset, key=lambda word: word.end)
        return self.words[max(0, last - count) : last]

    def runs(self, spellings: Spellings[T]) -> Iterator[tuple[T, int, int]]:
        """What runs of words spell, longest first and without overlap: (entry, first word, end)."""
        words, place = self.folded, 0
        while place < len(words):
            for length in spellings.lengths.get(words[place], ()):
                entry = spellings.entries.get(" ".join(words[place : place + length]))
                if entry is not None and place + length <= len(words):
                    yield entry, place, place + length
                    place += length
                    break
            else:
                place += 1
