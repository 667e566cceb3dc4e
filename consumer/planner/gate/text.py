"""The text as the gate reads it: one spelling of quotes, dashes and blanks, sentences, words with their places."""

import re
import unicodedata
from typing import NamedTuple

_FOLD = str.maketrans({
    "\u2018": "'", "\u2019": "'", "\u201a": "'", "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u2010": "-",
    "\u2011": "-", "\u2012": "-", "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u00a0": " ", "\u202f": " ",
})  # fmt: skip
_ABBREVIATION = re.compile(r"\b(?:Inc|Corp|Co|Ltd|U\.S|No|vs|St|Dr|Jr|Mr|Ms|[A-Z])\.$")
_ATOM = re.compile(r"[A-Za-z0-9]+")
MAX_SENTENCE = 400
"""Characters of a sentence: what is longer is refused unread."""


class Atom(NamedTuple):
    """A run of letters and digits, in lower case, with its place."""

    text: str
    start: int
    end: int


def normalise(text: str) -> str:
    """NFKC without format characters, quotes and dashes folded."""
    plain = unicodedata.normalize("NFKC", text).translate(_FOLD)
    return "".join(c for c in plain if unicodedata.category(c) != "Cf")


def atoms(text: str) -> list[Atom]:
    return [Atom(m[0].lower(), m.start(), m.end()) for m in _ATOM.finditer(text)]


def sentences(text: str) -> list[str]:
    """Split after full stops, question and exclamation marks, and at line ends."""
    found: list[str] = []
    for line in text.splitlines():
        start = 0
        for match in re.finditer(r"[.!?][\"')]*(?=\s|$)", line):
            part = line[start : match.end()]
            if _ABBREVIATION.search(part) and match.end() < len(line):
                continue
            found.append(part.strip())
            start = match.end()
        found.append(line[start:].strip())
    return [s for s in found if s]
