"""Windows of time, in months, and fiscal years, which are no number of months."""

import re

from consumer.planner.extract.text import Text
from consumer.planner.extract.value import MISSING, Extracted, Span, Status, ambiguous, invalid

LONGEST_MONTHS = 600
_UNITS = {"month": 1, "months": 1, "mo": 1, "mos": 1, "mth": 1, "mths": 1, "quarter": 3, "quarters": 3,
          "year": 12, "years": 12, "yr": 12, "yrs": 12}  # fmt: skip
_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90}
_NUMBERS = {word: value for value, word in enumerate(_SMALL)} | _TENS | {"a": 1, "an": 1, "couple": 2, "dozen": 12}
_WINDOW_WORDS = frozenset({"next", "last", "past", "coming", "following", "previous", "this"})
_BACK = frozenset("last past previous prior trailing recent since".split())
_AHEAD = frozenset("next coming within in following upcoming".split())
_FISCAL = re.compile(r"\b(?:FY\s?'?([0-9]{2}(?:[0-9]{2})?)|fiscal\s+(?:year\s+)?([0-9]{4}|[0-9]{2}))\b", re.IGNORECASE)
_AGES = frozenset({"old", "aged"})


def window(text: Text) -> Extracted:
    """The one window of the question, in months, its role `back` or `ahead` where the words say which way it looks.
    Two different ones are ambiguous."""
    found: dict[int, list[Span]] = {}
    roles: set[str] = set()
    words = text.words
    for place, word in enumerate(words):
        unit = _UNITS.get(word.folded)
        if unit is None or (place + 1 < len(words) and words[place + 1].folded in _AGES):
            continue
        number = _number_before(text, place)
        if number is None:
            continue
        count, first = number
        found.setdefault(count * unit, []).append((words[first].start, word.end))
        roles |= _direction(text, first, place)
    if len(found) > 1:
        spans = tuple(s for spans in found.values() for s in spans)
        return ambiguous("more than one window of time; give one, such as 18 months", spans)
    if not found:
        return MISSING
    months, spans = next(iter(found.items()))
    if not 1 <= months <= LONGEST_MONTHS:
        return invalid("a window is 1 to 600 months", tuple(spans))
    return Extracted(Status.OK, months, tuple(spans), role=roles.pop() if len(roles) == 1 else None)


def _direction(text: Text, first: int, unit: int) -> set[str]:
    """Which way the window between these words looks: `last 24 months` back, `within 18 months` ahead."""
    words = text.words
    near = [w.folded for w in words[max(0, first - 2) : first + 1]]
    after = [w.folded for w in words[unit + 1 : unit + 3]]
    if _BACK & set(near) or after[:1] == ["ago"]:
        return {"back"}
    return {"ahead"} if _AHEAD & set(near) or after == ["from", "now"] else set()


def _number_before(text: Text, place: int) -> tuple[int, int] | None:
    """The number that counts the unit at `place`, and the word it starts at."""
    words = text.words
    before = words[place - 1] if place else None
    if before is None or text.question[before.end : words[place].start].strip(" -‐‑") not in ("", "("):
        return None
    earlier = words[place - 2].folded if place >= 2 else ""
    if re.fullmatch(r"[0-9]{1,4}", before.folded):
        # the digits behind a point or a comma are part of another number
        return (
            None
            if text.question[before.start - 1 : before.start] in ("$", ".", ",")
            else (int(before.folded), place - 1)
        )
    if before.folded == "of" and earlier == "couple":
        return 2, place - 2
    number = 1 if before.folded in _WINDOW_WORDS else _NUMBERS.get(before.folded)
    if number is not None and number < 10 and earlier in _TENS:
        return _TENS[earlier] + number, place - 2
    return None if number is None else (number, place - 1)


def fiscal_year(text: Text) -> Extracted:
    """A federal fiscal year: October to September, so a range of dates and not a window."""
    found = {_full(match[1] or match[2]): match.span() for match in _FISCAL.finditer(text.question)}
    if len(found) > 1:
        return ambiguous("more than one fiscal year; ask about one at a time", tuple(found.values()))
    if not found:
        return MISSING
    year, span = next(iter(found.items()))
    return Extracted(Status.OK, year, (span,))


def _full(year: str) -> int:
    return int(year) if len(year) == 4 else 2000 + int(year)
