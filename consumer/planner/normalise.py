"""What the service reads of a question: one plain text, and its words folded to ASCII.

Disguises are taken off here, in the order that Unicode Technical Report 36 gives: compatibility forms, then format
and combining marks, then letters that look like others. Text that shows a reader other words than it holds (right to
left overrides, tag characters) can't be cleaned with confidence and is reported as hostile instead.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple, cast

from anyascii import anyascii
from confusable_homoglyphs import confusables

# Right to left embedding, override and isolate change the order in which Latin letters are shown. Their left to right
# twins and the marks do nothing to Latin text and come along when text is copied out of phones and file dialogs.
_REORDER = re.compile("[\u202b\u202e\u2067\U000e0000-\U000e007f]")
# Letters and symbols that show as nothing, outside the categories Cf and M (Unicode's Default_Ignorable, U+2800).
_INVISIBLE = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800")
# A word: letters and digits, apostrophes inside it, or one pictograph.
_WORD = re.compile(r"[^\W_]+(?:['’ʼ`´][^\W_]+)*|[\u2600-\u27bf\U0001f000-\U0001faff]")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:['`][a-z0-9]+)*")
_MULTIPLE = re.compile(r"(.)\1{2,}")


def is_hostile(question: str) -> bool:
    """Whether the text holds characters that show a reader other words than it holds."""
    return not question.isascii() and _REORDER.search(question) is not None


def clean(question: str) -> str:
    """The question as every later stage reads it; spans are offsets into this text.

    NFKC, no format characters, no combining marks left over, no invisible letters, control characters as blanks. A
    plain ASCII question comes back as it is.
    """
    if question.isascii() and question.isprintable():
        return question
    kept: list[str] = []
    for letter in unicodedata.normalize("NFKC", question):
        category = unicodedata.category(letter)
        if category == "Cc":
            kept.append(" ")
        elif category != "Cf" and category[0] != "M" and letter not in _INVISIBLE:
            kept.append(letter)
    return "".join(kept)


class Words(NamedTuple):
    """The words of a cleaned text: folded, with their offsets into it."""

    source: str
    texts: tuple[str, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]

    def gap(self, index: int) -> str:
        """What stands between word `index` and the one before it."""
        return self.source[self.ends[index - 1] : self.starts[index]] if index else self.source[: self.starts[0]]


def read(cleaned: str) -> Words:
    """Splits a cleaned text into folded words."""
    if cleaned.isascii():
        found = list(_ASCII_WORD.finditer(cleaned.lower()))
        texts = [text if (text := match[0]).isalnum() else fold(text) for match in found]
    else:
        found = list(_WORD.finditer(cleaned))
        texts = [fold(match[0]) for match in found]
    spans = [match.span() for match in found]
    return Words(cleaned, tuple(texts), tuple([start for start, _ in spans]), tuple([end for _, end in spans]))


def fold(word: str) -> str:
    """One word in lower case ASCII letters and digits, possessives and apostrophes taken off."""
    if word.isascii() and word.isalnum():
        return word.lower()
    folded = anyascii(word).lower().strip(":")
    folded = folded.removesuffix("'s").removesuffix("`s")
    return "".join(letter for letter in folded if letter.isalnum())


def skeleton(word: str) -> str:
    """The Latin letters that `word` looks like, where anyascii goes by sound (Cyrillic es is c, not s)."""
    return "".join(letter if letter.isascii() else _look_alike(letter) for letter in word).lower()


@lru_cache(maxsize=4_096)
def _look_alike(letter: str) -> str:
    table = cast("dict[str, list[dict[str, str]]]", confusables.confusables_data)
    for form in (letter, letter.lower(), letter.upper()):
        for twin in table.get(form, ()):
            if twin["c"].isascii() and twin["c"].isalpha():
                return twin["c"]
    return anyascii(letter)


_LEET = str.maketrans("034578@$!|+", "oeastbasiit")
_LEET_SYMBOLS = frozenset("@$!|+")


def unleet(text: str) -> tuple[str, ...]:
    """What letters the digits and signs of `text` may stand for; 1 may be i or l, 9 may be g."""
    plain = text.translate(_LEET).replace("9", "g").replace("6", "g").replace("2", "z")
    return (plain.replace("1", "i"), plain.replace("1", "l"))


def plainer(word: str) -> tuple[str, ...]:
    """Readings of a folded word with drawn out letters and letter pairs that look like one (rn, vv, cl)."""
    shorter = (_MULTIPLE.sub(r"\1", word), _MULTIPLE.sub(r"\1\1", word)) if _MULTIPLE.search(word) else ()
    pairs = tuple(word.replace(a, b) for a, b in (("rn", "m"), ("vv", "w"), ("cl", "d")) if a in word)
    return shorter + pairs
