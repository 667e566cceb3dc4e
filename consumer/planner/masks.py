"""Marks words that say nothing about people: official names, business terms, companies.

A mask covers its span and nothing beside it. A name whose every word is a protected term or a word for people, such as
a company called like a question, masks nothing.
"""

from collections.abc import Collection, Iterable

from consumer.planner.normalise import Words, clean, read
from registry.lexicon import Lexicon, Phrase

MAX_COMPANY_WORDS = 4
"""Words before a legal suffix that may be a company nobody told us of."""
_NAME_GAPS = (" ", ", ", " & ", "-")


class Masks:
    """The phrases of a lexicon and the `names` that hold one of the `touchy` words, by first word, longest first."""

    def __init__(self, lexicon: Lexicon, names: Iterable[str], touchy: Collection[str]) -> None:
        self._lexicon = lexicon
        self._touchy = touchy
        self._phrases = by_first_word((*lexicon.masks, *filter(None, map(self._masking, names))))

    def _masking(self, name: str) -> Phrase | None:
        lex = self._lexicon
        phrase = read(clean(name)).texts
        while len(phrase) > 2 and phrase[-1] in lex.legal_suffixes:
            phrase = phrase[:-1]
        telling = [word in self._touchy or word in lex.people for word in phrase]
        harmless = [not told and word not in lex.counters for word, told in zip(phrase, telling, strict=True)]
        return phrase if len(phrase) > 1 and any(telling) and any(harmless) else None

    def mark(self, words: Words, names: Iterable[str] = ()) -> bytearray:
        """A byte a word, 1 inside a mask. `names` are masked too, whatever their words."""
        masked = bytearray(len(words.texts))
        own = by_first_word({read(clean(name)).texts for name in names} - {()})
        for index, text in enumerate(words.texts):
            if not masked[index]:
                length = match(own, words.texts, index) if text in own else 0
                if not length and text in self._phrases:
                    length = match(self._phrases, words.texts, index)
                masked[index : index + length] = b"\1" * length
            if text in self._lexicon.legal_suffixes:
                self._mark_company(words, index, masked)
        return masked

    def _mark_company(self, words: Words, suffix: int, masked: bytearray) -> None:
        """A run of capitalised words before a legal suffix is a company, if none of them is for people."""
        lex = self._lexicon
        start = suffix
        while start > 0 and suffix - start < MAX_COMPANY_WORDS and words.gap(start) in _NAME_GAPS:
            text = words.texts[start - 1]
            if not words.source[words.starts[start - 1]].isupper() or text in lex.english or text in lex.people:
                break
            start -= 1
        if suffix - start >= 2 and any(text not in self._touchy for text in words.texts[start:suffix]):
            masked[start : suffix + 1] = b"\1" * (suffix + 1 - start)


def by_first_word(phrases: Iterable[Phrase]) -> dict[str, list[Phrase]]:
    """Phrases by their first word, longest first."""
    index: dict[str, list[Phrase]] = {}
    for phrase in phrases:
        index.setdefault(phrase[0], []).append(phrase)
    for same in index.values():
        same.sort(key=len, reverse=True)
    return index


def match(index: dict[str, list[Phrase]], texts: Phrase, at: int) -> int:
    """Words of the longest phrase that stands at `at`, 0 when none does."""
    for phrase in index.get(texts[at], ()):
        if texts[at : at + len(phrase)] == phrase:
            return len(phrase)
    return 0
