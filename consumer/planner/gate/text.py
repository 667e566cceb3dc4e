"""The text as the gate reads it: one spelling of quotes, dashes and blanks, words with their places, sentences."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple, Protocol

_ABBREVIATION = re.compile(r"\b(?:U\.S|No|vs|St|Dr|Jr|Mr|Ms|[A-Z])\.$")
_FORM = re.compile(r"\b(?:Inc|Corp|Co|Ltd)\.$", re.IGNORECASE)
"""A legal form may end a sentence: what goes on in lower case tells that it does not."""
ATOM = re.compile(r"[^\W_]+")
_STOP = re.compile(r"[.!?][\"')]*(?=\s|$)")
_PUNCTUATION = re.compile(r"(?<=\w)[-/](?=\w)|[\s.,;:()'\"!?&]")
MAX_SENTENCE = 400
"""Characters of a sentence beside its names and quotes: what is longer is refused unread."""
MAX_LINE = 20_000


class Span(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


class Atom(NamedTuple):
    """A run of letters and digits, in lower case, with its place."""

    text: str
    start: int
    end: int


@lru_cache(maxsize=16_384)
def atoms(text: str) -> tuple[Atom, ...]:
    return tuple(Atom(m[0].lower(), m.start(), m.end()) for m in ATOM.finditer(text))


@lru_cache(maxsize=16_384)
def stem(word: str) -> str:
    """The word without its plural or third person s: `ends` is `end`."""
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def blank(text: str, spans: Sequence[Span]) -> str:
    """The text with the spans overwritten by blanks, so that every place stays where it is."""
    letters = list(text)
    for span in spans:
        letters[span.start : span.end] = " " * (span.end - span.start)
    return "".join(letters)


def symbols(text: str) -> bool:
    """Whether more than words and plain punctuation is left: `>`, `~` or a dash says something no rule has read."""
    return bool(_PUNCTUATION.sub("", ATOM.sub(lambda m: "" if m[0].isascii() else "\0", _spaced(text))))


def _spaced(text: str) -> str:
    """Dashes and slashes inside words are part of them."""
    return re.sub(r"(?<=[^\W_])[-/](?=[^\W_])", " ", text)


def sentences(line: str, spans: Sequence[Span]) -> list[tuple[int, int]]:
    """Where the sentences of one line stand: split at full stops, question and exclamation marks outside the spans."""
    found: list[tuple[int, int]] = []
    start = 0
    for match in _STOP.finditer(line):
        named = any(span.end == match.start() for span in spans)
        if any(span.start <= match.start() < span.end for span in spans) or _goes_on(line, start, match, named):
            continue
        found.append((start, match.end()))
        start = match.end()
    found.append((start, len(line)))
    return [(s, e) for s, e in found if line[s:e].strip()]


def _goes_on(line: str, start: int, stop: re.Match[str], named: bool) -> bool:
    """Whether the full stop belongs to an abbreviation and the sentence goes on behind it. Behind a name it is the
    end, as in `needs DOE Q.`, unless what follows is in lower case."""
    end = stop.start() + 1
    rest = line[end:].lstrip()
    if named or _FORM.search(line, start, end):
        return rest[:1].islower()
    return bool(rest) and _ABBREVIATION.search(line, start, end) is not None
