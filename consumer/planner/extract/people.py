"""What may be asked of the bench: clearance, compartments, and dimensions such as labor category."""

import re

from consumer.planner.extract.text import Text
from consumer.planner.extract.value import MISSING, Extracted, Span, Status, ambiguous, invalid
from registry.reference import Reference, Spellings

# A portion mark: TS//SI-G/TK//NOFORN. What follows the second pair of slashes controls dissemination, not access.
_PORTION = re.compile(r"(?<!\w)(TS|S|C)//([A-Z][A-Z-]*(?:/[A-Z][A-Z-]*)*)(?://[A-Z/ ,-]+)?(?!\w)")
_PORTION_LEVEL = {"TS": "TS_SCI", "S": "SECRET", "C": "CONFIDENTIAL"}
_BARE_LETTER = re.compile(r"\b(?:an?|or|and|have|hold|holds|with)\s+([QL])(?=[\s,.?]|$)")
_CAPITALS = re.compile(r"(?<![\w-])[A-Z]{2,}(?:-[A-Z]+)?(?![\w-])")


def _portions(text: Text) -> list[re.Match[str]]:
    return list(_PORTION.finditer(text.question)) if "//" in text.question else []


def clearance(text: Text, reference: Reference) -> Extracted:
    """The clearance asked for. The longest spelling wins where one holds another: top secret is not secret."""
    found: dict[str, list[Span]] = {}
    for match in _portions(text):
        found.setdefault(_PORTION_LEVEL[match[1]], []).append(match.span())
    marked = text.covered(span for spans in found.values() for span in spans)
    for level, first, end in text.runs(reference.clearances):
        words = text.words[first:end]
        span = (words[0].start, words[-1].end)
        if marked[span[0]] or not level.code:
            continue
        if end - first == 1 and len(words[0].folded) <= 3 and not words[0].written.isupper():
            continue  # `ts` in small letters is no clearance
        found.setdefault(level.code, []).append(span)
    if "TS_SCI" in found and "TS" in found and _adjacent(found["TS"], found["TS_SCI"]):
        found["TS_SCI"] += found.pop("TS")
    if len(found) > 1:
        spans = tuple(s for spans in found.values() for s in spans)
        return ambiguous("more than one clearance; ask about one at a time", spans)
    letters = tuple(m.span() for m in _BARE_LETTER.finditer(text.question)) if text.says("q", "l") else ()
    if letters and not any(a <= letters[0][0] < b for spans in found.values() for a, b in spans):
        note = "a bare Q or L does not name a clearance; say DOE Q or DOE L, and ask about one at a time"
        return ambiguous(note, letters, next(iter(found), None))
    if not found:
        return MISSING
    code, spans = next(iter(found.items()))
    return Extracted(Status.OK, code, tuple(spans))


def _adjacent(one: list[Span], other: list[Span]) -> bool:
    return any(0 <= b[0] - a[1] <= 3 for a in one for b in other)


def compartments(text: Text, reference: Reference, level: Extracted) -> Extracted:
    """The compartments asked for with those they imply, in order of code.

    People hold them beside TS or TS/SCI alone (32 CFR 117.10; the ISM rules have GAMMA at TOP SECRET only): with a
    lower clearance they are invalid, and without one the clearance must be given.
    """
    codes: dict[str, Span] = {}
    lowest: dict[str, None] = {}

    def add(mark: str, span: Span) -> None:
        compartment = reference.compartments.get(mark)
        if compartment is not None:
            lowest[compartment.lowest] = None
            for code in (*compartment.implies, compartment.code):
                codes.setdefault(code, span)

    portions = _portions(text)
    for match in portions:
        for mark in match[2].split("/"):
            add(mark, match.span())
    marked = text.covered(match.span() for match in portions)
    for match in _CAPITALS.finditer(text.question):
        if not marked[match.start()]:
            add(match[0], match.span())
    for mark, first, end in text.runs(reference.compartment_names):
        add(mark, (text.words[first].start, text.words[end - 1].end))
    if not codes:
        return MISSING
    value, spans = tuple(sorted(codes)), tuple(dict.fromkeys(codes.values()))
    if level.status is not Status.OK:
        return ambiguous("compartments need their clearance beside them; say TS/SCI", spans, value)
    ranks = {known.code: known.rank for known in reference.clearances.entries.values()}
    if any(ranks[str(level.value)] < ranks[code] for code in lowest):
        return invalid(f"{' and '.join(value)} can't be held with {level.value}; say TS/SCI", spans, value)
    return Extracted(Status.OK, value, spans)


def dimension(text: Text, spellings: Spellings[str]) -> Extracted:
    """A value of a closed dimension."""
    found: dict[str, list[Span]] = {}
    for code, first, end in text.runs(spellings):
        found.setdefault(code, []).append((text.words[first].start, text.words[end - 1].end))
    if len(found) > 1:
        spans = tuple(s for spans in found.values() for s in spans)
        return ambiguous("more than one value; ask about one at a time", spans, tuple(sorted(found)))
    if not found:
        return MISSING
    code, spans = next(iter(found.items()))
    return Extracted(Status.OK, code, tuple(spans))
