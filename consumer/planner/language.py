"""Whether a question is English, by its small words and its letters; no model and no data but the lexicon."""

from consumer.planner.normalise import Words
from registry.lexicon import Lexicon

ENOUGH = 0.25
"""Share of small English words above which no further look is taken."""
MIN_WORDS = 4
FOREIGN_LETTERS = 0.3
"""Share of letters outside the Latin alphabet that no English question has."""


def is_english(words: Words, lexicon: Lexicon, known: frozenset[str]) -> bool:
    """False when most small words are another language's, when no word is known, or when the letters are not Latin.

    Terse English ("541512 Navy recompetes 18 months") has no small words but known ones.
    """
    source = words.source
    if not source.isascii():
        letters = [letter for letter in source if letter.isalpha()]
        strange = sum(ord(letter) > 0x24F and not 0x1E00 <= ord(letter) <= 0x1EFF for letter in letters)
        if letters and strange / len(letters) > FOREIGN_LETTERS:
            return False
    texts = [text for text in words.texts if text.isalpha()]
    english = sum(text in lexicon.english for text in texts)
    if not texts or english >= len(texts) * ENOUGH:
        return True
    others = [text for text in texts if text not in lexicon.english]
    foreign = max(sum(text in small for text in others) for small in lexicon.foreign.values())
    if foreign >= 2 and foreign > english:
        return False
    return len(texts) < MIN_WORDS or english > 0 or any(text in known for text in texts)
