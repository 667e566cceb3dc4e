"""Finds protected terms among the words of a question, through the disguises people put on them.

A `Terms` value answers for one word (`of_word`) and for words that only together spell a term (`joined`): spaced out
letters, a word cut in two, digits and signs for letters, drawn out letters, one slip of the keyboard.
"""

import re
from collections.abc import Mapping

from consumer.planner.normalise import Words, plainer, skeleton, unleet

MIN_MISSPELT = 6
"""Letters a term needs before one slip counts: shorter words have too many real neighbours."""
MAX_TERM = 16
MAX_PIECE = 3
"""Letters of each piece of a word cut in three."""
MAX_BLANKED = 32
"""Chunks with blanked letters looked at in one question."""
# A chunk with a digit or sign among letters, such as w0men, f3m4le, wom@n, w*men, wom_en.
_CHUNK = re.compile(r"(?<![A-Za-z0-9@$!|+*#_])[A-Za-z]*[0-9@$!|+*#_][A-Za-z0-9@$!|+*#_]{1,23}")
_MIXED = re.compile(r"[A-Za-z][0-9@$!|+*#_]|[0-9@$!|+*#_][A-Za-z]")
_WILD = re.compile(r"[*#_]+")


class Terms:
    """The protected terms, indexed once. `ordinary` are real words, never taken for a slip of a term."""

    def __init__(self, terms: Mapping[str, str], ordinary: frozenset[str]) -> None:
        self._terms = terms
        self._ordinary = ordinary
        self._endings = frozenset(term[-3:] for term in terms)
        self._by_length: dict[int, list[str]] = {}
        self._slips: dict[str, list[str]] = {}
        for term in terms:
            self._by_length.setdefault(len(term), []).append(term)
            if len(term) >= MIN_MISSPELT:
                for shorter in _shorter(term):
                    self._slips.setdefault(shorter, []).append(term)

    def of_word(self, word: str) -> str | None:
        """The term that a folded word is or is a disguise of."""
        if word in self._terms:
            return word
        if word in self._ordinary or word.isdigit():
            return None
        for reading in (*plainer(word), *(unleet(word) if not word.isalpha() else ())):
            if reading in self._terms and len(reading) > 2:
                return reading
        return self._misspelt(word)

    def _misspelt(self, word: str) -> str | None:
        if not MIN_MISSPELT - 1 <= len(word) <= MAX_TERM:
            return None
        candidates = list(self._slips.get(word, ()))
        for shorter in _shorter(word):
            if shorter in self._terms and len(shorter) >= MIN_MISSPELT:
                candidates.append(shorter)
            candidates.extend(self._slips.get(shorter, ()))
        return next((term for term in candidates if _one_slip(word, term)), None)

    def look_alike(self, words: Words, index: int) -> str | None:
        """The term that a word with letters of another alphabet looks like."""
        source = words.source[words.starts[index] : words.ends[index]]
        if source.isascii():
            return None
        found = skeleton(source)
        return found if found in self._terms else self._misspelt(found)

    def joined(self, words: Words) -> dict[int, str]:
        """Terms spelt by several neighbouring words, by the index of the last of them."""
        terms, endings = self._terms, self._endings
        found: dict[int, str] = {}
        letters = before = last = ""
        for index, text in enumerate(words.texts):
            if last + text in terms:
                found[index] = last + text
            if len(text) <= MAX_PIECE:
                if len(last) <= MAX_PIECE and len(before) <= MAX_PIECE and before + last + text in terms:
                    found[index] = before + last + text
                letters = letters[-MAX_TERM:] + text if len(text) == 1 else ""
                if letters[-3:] in endings and (term := self._ends_with_term(letters)):
                    found[index] = term
            else:
                letters = ""
            before, last = last, text
        return found

    def _ends_with_term(self, letters: str) -> str | None:
        for length in range(min(len(letters), MAX_TERM), 2, -1):
            if (tail := letters[-length:]) in self._terms:
                return tail
        return None

    def signed(self, cleaned: str) -> dict[int, str]:
        """Terms written with digits, signs or blanked letters, by their offset in the text."""
        found: dict[int, str] = {}
        if not _MIXED.search(cleaned):
            return found
        blanked = 0
        for match in _CHUNK.finditer(cleaned):
            chunk = match[0].lower()
            if chunk.isalpha() or not any(map(str.isalpha, chunk)):
                continue
            plain = chunk.strip("!*#_|+")
            if plain.isalpha() and plain != chunk and "_" not in chunk[1:-1]:
                continue
            if hit := next((r for r in unleet(plain) if r in self._terms and len(r) > 2), None):
                found[match.start()] = hit
            elif _WILD.search(plain) and blanked < MAX_BLANKED:
                blanked += 1
                if hit := self._wild(plain):
                    found[match.start()] = hit
        return found

    def _wild(self, chunk: str) -> str | None:
        if (bare := _WILD.sub("", chunk)) in self._terms:
            return bare
        if len(bare) < 3:
            return None
        pattern = re.compile("".join("." if letter in "*#_" else re.escape(letter) for letter in chunk))
        return next((term for term in self._by_length.get(len(chunk), ()) if pattern.fullmatch(term)), None)


def _shorter(word: str) -> set[str]:
    return {word[:at] + word[at + 1 :] for at in range(len(word))}


def _one_slip(word: str, term: str) -> bool:
    """Whether one letter was left out, added, changed, or swapped with its neighbour."""
    if abs(len(word) - len(term)) > 1 or word == term:
        return word == term
    at = next((i for i, (a, b) in enumerate(zip(word, term, strict=False)) if a != b), min(len(word), len(term)))
    if len(word) > len(term):
        return word[at + 1 :] == term[at:]
    if len(word) < len(term):
        return word[at:] == term[at + 1 :]
    swapped = word[at + 1 : at + 2] + word[at : at + 1]
    return word[at + 1 :] == term[at + 1 :] or (swapped == term[at : at + 2] and word[at + 2 :] == term[at + 2 :])
