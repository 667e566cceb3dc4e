"""Quantities in prose: money, percent, counts, ordinals, dates and durations, with the place they are rounded to.

Own grammar, about as long as this: the ready made number libraries read "two of the four" as six and 4.8bn as barns.
"""

import re
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from enum import StrEnum

from msgspec import Struct

ONES = {
    w: i
    for i, w in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
}
TENS = {w: 10 * i for i, w in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)}
ORDINALS = {w: i for i, w in enumerate("first second third fourth fifth sixth seventh eighth ninth tenth".split(), 1)}
SCALES = {"k": 3, "thousand": 3, "m": 6, "mn": 6, "mm": 6, "million": 6, "b": 9, "bn": 9, "billion": 9}
MONTHS = {
    name: number
    for number, names in enumerate(
        ("january jan", "february feb", "march mar", "april apr", "may", "june jun", "july jul", "august aug",
         "september sep sept", "october oct", "november nov", "december dec"), 1,
    )
    for name in names.split()
}  # fmt: skip
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
_DATES = re.compile(
    rf"(?P<iso>\b\d{{4}}-\d{{2}}-\d{{2}}\b)|(?P<us>\b\d{{1,2}}/\d{{1,2}}/\d{{4}}\b)"
    rf"|\b(?P<m1>{_MONTH})\.?\s+(?P<d1>\d{{1,2}})(?:st|nd|rd|th)?,?\s+(?P<y1>\d{{4}})\b"
    rf"|\b(?P<d2>\d{{1,2}})\s+(?P<m2>{_MONTH})\.?,?\s+(?P<y2>\d{{4}})\b|\b(?P<m3>{_MONTH})\.?,?\s+(?P<y3>\d{{4}})\b"
    r"|\b(?:fy\s?|fiscal\s+(?:year\s+)?)(?P<fy>\d{4}|\d{2})\b|(?<=\bin )(?P<y4>(?:19|20)\d\d)\b(?![.,]\d)",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"(?P<sign>-)?(?:(?P<currency>us\$|usd|\$|€|£|eur)\s?)?(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?P<ordinal>st|nd|rd|th)?(?:\s?(?P<scale>thousand|million|billion|bn|mn|mm|[kmb])\b)?"
    r"(?P<after>\s?%|\s+percentage\s+points?|\s+percent\b|\s+points?\b|\s+(?:us\s+)?dollars\b|\s+usd\b|\s+euros?\b)?",
    re.IGNORECASE,
)
_WORDS = re.compile(rf"\b(?:{'|'.join((*TENS, *ONES, *ORDINALS))})(?:[-\s](?:{'|'.join((*ONES, *ORDINALS))}))?\b", re.I)
_DURATION = re.compile(r"[\s-]*(months?|years?|days?|weeks?)\b", re.IGNORECASE)


class Kind(StrEnum):
    MONEY = "money"
    PERCENT = "percent"
    POINTS = "points"
    NUMBER = "number"
    ORDINAL = "ordinal"
    DURATION = "duration"
    DATE = "date"


class Quantity(Struct, frozen=True):
    """`value` rounded to `place`; a date is the interval `since` to `until`. `unit` is a currency or a unit of time."""

    kind: Kind
    start: int
    end: int
    value: Decimal = Decimal(0)
    place: Decimal = Decimal(1)
    unit: str = ""
    since: date = date.min
    until: date = date.max


def quantities(text: str) -> list[Quantity]:
    """All quantities of the text, in order. Raises ValueError for a date that is none."""
    found = [_date(match) for match in _DATES.finditer(text)]
    blanked = _blank(text, found)
    for match in _NUMBER.finditer(blanked):
        quantity = _number(match, blanked)
        found.append(quantity)
    blanked = _blank(blanked, found)
    found += [_word(match, blanked) for match in _WORDS.finditer(blanked)]
    return sorted(found, key=lambda q: q.start)


def _blank(text: str, found: list[Quantity]) -> str:
    letters = list(text)
    for quantity in found:
        letters[quantity.start : quantity.end] = " " * (quantity.end - quantity.start)
    return "".join(letters)


def _number(match: re.Match[str], text: str) -> Quantity:
    digits = match["digits"].replace(",", "")
    try:
        value = Decimal(digits)
    except InvalidOperation:
        raise ValueError("no number") from None
    scale = Decimal(10) ** SCALES.get((match["scale"] or "").lower(), 0)
    decimals = len(digits.partition(".")[2])
    value, place = value * scale, scale / (Decimal(10) ** decimals)
    value = -value if match["sign"] else value
    currency, after = (match["currency"] or "").strip().lower(), (match["after"] or "").strip().lower()
    start, end = match.span()
    if currency or "dollar" in after or after.startswith(("usd", "euro")):
        unit = "USD" if currency in ("$", "us$", "usd") or "dollar" in after or after == "usd" else "other"
        return Quantity(Kind.MONEY, start, end, value, place, "other" if after.startswith("euro") else unit)
    if "point" in after:
        return Quantity(Kind.POINTS, start, end, value, place)
    if after:
        return Quantity(Kind.PERCENT, start, end, value, place)
    if match["ordinal"]:
        return Quantity(Kind.ORDINAL, start, end, value)
    return _timed(Quantity(Kind.NUMBER, start, end, value, place), text)


def _word(match: re.Match[str], text: str) -> Quantity:
    words = re.split(r"[-\s]", match[0].lower())
    value = sum(TENS.get(w, ONES.get(w, ORDINALS.get(w, 0))) for w in words)
    kind = Kind.ORDINAL if words[-1] in ORDINALS else Kind.NUMBER
    return _timed(Quantity(kind, match.start(), match.end(), Decimal(value)), text)


def _timed(quantity: Quantity, text: str) -> Quantity:
    """A number before a unit of time is a duration."""
    unit = _DURATION.match(text, quantity.end)
    if quantity.kind is not Kind.NUMBER or unit is None:
        return quantity
    return Quantity(
        Kind.DURATION, quantity.start, unit.end(), quantity.value, quantity.place, unit[1].lower().rstrip("s")
    )


def _date(match: re.Match[str]) -> Quantity:
    parts = match.groupdict()
    if parts["fy"]:
        year = int(parts["fy"]) + (2000 if len(parts["fy"]) == 2 else 0)
        since, until = date(year - 1, 10, 1), date(year, 9, 30)
    elif parts["iso"]:
        since = until = date.fromisoformat(parts["iso"])
    elif parts["us"]:
        month, day, year = (int(p) for p in parts["us"].split("/"))
        since = until = date(year, month, day)
    elif parts["y4"]:
        since, until = date(int(parts["y4"]), 1, 1), date(int(parts["y4"]), 12, 31)
    elif parts["y3"]:
        month, year = MONTHS[parts["m3"].lower()], int(parts["y3"])
        since = date(year, month, 1)
        until = date(year + month // 12, month % 12 + 1, 1) - timedelta(days=1)
    else:
        month = MONTHS[(parts["m1"] or parts["m2"]).lower()]
        since = until = date(int(parts["y1"] or parts["y2"]), month, int(parts["d1"] or parts["d2"]))
    return Quantity(Kind.DATE, match.start(), match.end(), since=since, until=until)


HEDGES = frozenset("about roughly approximately around".split())
OVER, UNDER = ("over", "more than", "above", "exceeding"), ("under", "less than", "fewer than", "below")
AT_LEAST, AT_MOST = ("at least",), ("at most", "up to", "no more than")
_COMPARATORS = re.compile(
    rf"\b(?:just\s+)?({'|'.join((*HEDGES, *OVER, *UNDER, *AT_LEAST, *AT_MOST))})\s+(?:a\s+|an\s+)?$", re.IGNORECASE
)


def comparator(text: str, quantity: Quantity) -> tuple[str, int]:
    """The hedge or comparator right before the quantity, in lower case, and where it starts; empty without one."""
    match = _COMPARATORS.search(text, 0, quantity.start)
    return (match[1].lower(), match.start()) if match else ("", quantity.start)


def agrees(value: Decimal, quantity: Quantity, how: str) -> bool:
    """Whether a cell's value may be written so: rounded to the written place (ties either way) and within 5 percent."""
    x, place = quantity.value, quantity.place
    if how in OVER:
        return value > x and value - x <= max(place, x / 20)
    if how in UNDER:
        return value < x and x - value <= max(place, x / 20)
    if how in AT_LEAST:
        return value >= x
    if how in AT_MOST:
        return value <= x
    if how in HEDGES and x == x.to_integral_value() and place == 1 and x:
        place = Decimal(10) ** (len(str(int(x))) - len(str(int(x)).rstrip("0")))
    if value == x:
        return True
    exact = quantity.kind in (Kind.NUMBER, Kind.ORDINAL) and abs(x) < 100 and place == 1
    return not exact and 2 * abs(value - x) <= place and abs(value - x) * 20 <= abs(value)
