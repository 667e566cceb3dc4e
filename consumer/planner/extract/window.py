"""Windows of time, in months, and fiscal years, which are no number of months."""

import re

from consumer.planner.extract.text import Text
from consumer.planner.extract.value import MISSING, Extracted, Span, Status, ambiguous, invalid

LONGEST_MONTHS = 600
HOW = "give the time in months, such as 18 months"

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SINGLE = "the next;the last;the past;the coming;the previous;past;coming;previous;following".split(";")
"""One of the unit that follows, if that is no plural: the coming months are no number of months."""
_NUMBERS: dict[str, float] = {
    **{word: value for value, word in enumerate(_SMALL)},
    **{word: 10 * value for value, word in enumerate(_TENS, 2)},
    **{f"{ten} {_SMALL[one]}": 10 * tens + one for tens, ten in enumerate(_TENS, 2) for one in range(1, 10)},
    **dict.fromkeys(("a", "an"), 1),
    **dict.fromkeys(_SINGLE, 1),
    **dict.fromkeys(("couple of", "a couple of", "couple"), 2),
    **dict.fromkeys(("half a", "half an"), 0.5),
    **dict.fromkeys(("dozen", "a dozen"), 12),
}
_UNITS = {
    **dict.fromkeys(("month", "months", "mo", "mos", "mth", "mths"), 1),
    **dict.fromkeys(("quarter", "quarters"), 3),
    **dict.fromkeys(("year", "years", "yr", "yrs"), 12),
    **dict.fromkeys(("day", "days", "week", "weeks"), 0),
}
_DAYS = {30: 1, 60: 2, 90: 3, 120: 4, 150: 5, 180: 6, 270: 9, 360: 12, 365: 12, 730: 24}
"""Numbers of days that are a number of months to anyone who says them."""

_GAP = r"\s\-‐‑–"
_SPELT = "|".join(
    sorted((re.escape(number).replace(r"\ ", rf"[{_GAP}]+") for number in _NUMBERS), key=len, reverse=True)
)
_QUANTITY = re.compile(
    rf"(?<![\w$.,/])(?P<number>[0-9]{{1,4}}(?:\.5)?|{_SPELT})(?:\s*\([0-9]{{1,4}}\))?[{_GAP}]+(?:full\s+|more\s+)?"
    r"(?P<unit>months?|mos?|mths?|quarters?|years?|yrs?|days?|weeks?)\b(?P<half>\s+and\s+a\s+half)?",
    re.IGNORECASE,
)
# 6 to 12 months: no query takes two ends.
_RANGE = re.compile(rf"(?:\b[0-9]{{1,4}}|\b(?:{_SPELT}))\s*(?:-|–|to|and|or)\s*$", re.IGNORECASE)
_VAGUE = re.compile(r"\b(?:few|several|some)\s+(?:months|quarters|years)\b", re.IGNORECASE)
_DATED = re.compile(
    r"\b(?:by|before|until|through|during|in|since)\s+(?:the\s+)?(?:(?:end|start|middle)\s+of\s+)?(?:[a-z]{3,9}\s+)?"
    r"20[0-9]{2}\b(?!\s*(?:naics|edition))",
    re.IGNORECASE,
)
# `next year` may be the calendar's or the fiscal one; `the next year` is twelve months.
_CALENDAR = re.compile(r"(?<!the )\b(?:next|last|this|current)\s+(?:calendar\s+)?(?:year|quarter)\b", re.IGNORECASE)
# What a length of time says of something else: an option of 12 months, 10 years of experience.
_NO_WINDOW = re.compile(
    r"\s+(?:(?:of\s+)?experience|old|aged|contracts?|options?|base|term|idiq|bpa|performance|warranty)\b", re.IGNORECASE
)
_BACK = frozenset("last past previous prior trailing recent since".split())
_AHEAD = frozenset("next coming within in following upcoming".split())
_FISCAL = re.compile(
    r"\b(?:FY[\s-]?['’]?([0-9]{4}|[0-9]{2})|fiscal\s+(?:year\s+)?['’]?([0-9]{4}|[0-9]{2}))\b", re.IGNORECASE
)


def window(text: Text) -> Extracted:
    """The window of the question, in months, its role `back` or `ahead` where the words say which way it looks.

    One of each role may stand beside each other; any other two are ambiguous.
    """
    if not text.says(*_UNITS):
        dated = _DATED.search(text.question) if "20" in text.question else None
        return invalid(f"no query takes a calendar date; {HOW}", (dated.span(),)) if dated else MISSING
    found: dict[tuple[int, str | None], list[Span]] = {}
    for match in _QUANTITY.finditer(text.question):
        if _NO_WINDOW.match(text.question, match.end()):
            continue
        if _RANGE.search(text.question, max(0, match.start() - 24), match.start()):
            return ambiguous(f"a range is no one window of time; {HOW}", (match.span(),))
        role = _direction(text, match)
        months = _months(match)
        if months is None and role is not None and match["unit"].lower()[:1] in "dw":
            return invalid(HOW, (match.span(),))
        if months is not None:
            found.setdefault((months, role), []).append(match.span())
    return _decide(found) if found else _unusable(text)


def _unusable(text: Text) -> Extracted:
    """For a question that speaks of time and gives no number of months."""
    for pattern, why in (
        (_CALENDAR, "that may be the calendar's or the fiscal one"),
        (_VAGUE, "that is no number of months"),
        (_DATED, "no query takes a calendar date"),
    ):
        if match := pattern.search(text.question):
            return invalid(f"{why}; {HOW}", (match.span(),))
    return MISSING


def _decide(found: dict[tuple[int, str | None], list[Span]]) -> Extracted:
    spans = tuple(span for places in found.values() for span in places)
    lengths = {months for months, _ in found}
    roles = [role for _, role in found if role is not None]
    if not all(1 <= months <= LONGEST_MONTHS for months in lengths):
        return invalid(f"a window is 1 to {LONGEST_MONTHS} months", spans)
    if len(found) == len(roles) == 2 and len(set(roles)) == 2:
        by_role = {role: months for months, role in found if role is not None}
        return Extracted(Status.OK, tuple(by_role.values()), spans, by_role=by_role)
    if len(lengths) > 1:
        return ambiguous("more than one window of time; give one, such as 18 months", spans)
    return Extracted(Status.OK, lengths.pop(), spans, role=roles[0] if len(set(roles)) == 1 else None)


def _months(match: re.Match[str]) -> int | None:
    """The whole number of months that a quantity is, None where it is none."""
    written = " ".join(match["number"].lower().replace("-", " ").split())
    number = _NUMBERS[written] if written in _NUMBERS else float(written)
    unit = match["unit"].lower()
    if written in _SINGLE and unit.endswith("s"):
        return None
    if unit.startswith("day"):
        return _DAYS.get(int(number)) if number == int(number) else None
    if unit.startswith("week"):
        return None
    months = (number + 0.5 * bool(match["half"])) * _UNITS[unit]
    return int(months) if months == int(months) else None


def _direction(text: Text, match: re.Match[str]) -> str | None:
    """Which way a window looks: `last 24 months` back, `within 18 months` ahead. The nearest word decides, for
    `within the last 24 months` looks back."""
    after = text.question[match.end() : match.end() + 12].lower().split()
    if after[:1] == ["ago"]:
        return "back"
    near = [word.folded for word in text.words_before(match.start(), 2)]
    for word in reversed((*near, *match["number"].lower().split())):
        if word in _BACK:
            return "back"
        if word in _AHEAD:
            return "ahead"
    return "ahead" if after[:2] == ["from", "now"] or after[:1] == ["out"] else None


def fiscal_year(text: Text) -> Extracted:
    """A federal fiscal year: October to September, so a range of dates and not a window."""
    if "f" not in {word[:1] for word in text.folded}:
        return MISSING
    found = {_full(match[1] or match[2]): match.span() for match in _FISCAL.finditer(text.question)}
    if len(found) > 1:
        return ambiguous("more than one fiscal year; ask about one at a time", tuple(found.values()))
    if not found:
        return MISSING
    year, span = next(iter(found.items()))
    return Extracted(Status.OK, year, (span,))


def _full(year: str) -> int:
    return int(year) if len(year) == 4 else 2000 + int(year)
