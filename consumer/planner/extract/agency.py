"""The agency: an official name, a subtier's name or an abbreviation, quoted or not, and never a guess between two."""

from collections.abc import Sequence

from consumer.planner.extract.text import Quote, Text
from consumer.planner.extract.value import MISSING, Extracted, Span, Status, ambiguous, invalid
from registry.reference import Agency, Form, Reference, fold

_AGENCY_WORDS = frozenset(
    "department dept agency bureau administration office command service commission corps institute center".split()
)
_SMALL = frozenset("and of the for".split())
"""Words of a name that are written small."""
_AT = frozenset("at by from for with of to".split())
_NAMED = 4
"""Names that a note lists at most."""


def agency(text: Text, reference: Reference, taken: Sequence[Span] = ()) -> Extracted:
    """The official name of the one agency that the question names. `taken` are spans that mean something else.

    A quoted name that is no agency is invalid if it was meant as one; where a quotation mark never closes no name is
    taken, for it can't be known where it ends.
    """
    if text.unclosed is not None:
        return invalid(
            "a quotation mark is not closed; quote the agency's name on both sides",
            ((text.unclosed, len(text.question)),),
        )
    found: dict[Agency, list[Span]] = {}
    unknown: list[Span] = []
    for quote in text.quotes:
        named = reference.agencies.entries.get(fold(quote.content))
        if named:
            found.setdefault(named, []).append((quote.start, quote.end))
        elif _is_meant_as_agency(text, quote):
            unknown.append((quote.start, quote.end))
    elsewhere = text.covered((*((quote.start, quote.end) for quote in text.quotes), *taken))
    for named, first, end in text.runs(reference.agencies):
        span = (text.words[first].start, text.words[end - 1].end)
        if not elsewhere[span[0]] and _is_meant(text, named, first, end, reference):
            found.setdefault(named, []).append(span)
    if not found and not unknown:
        return _unknown(text, elsewhere)
    return _decide(found, unknown)


def _unknown(text: Text, elsewhere: bytearray) -> Extracted:
    """A name behind `at` that is no agency known here: answering without it would answer another question.

    Ambiguous and not invalid, for a place may stand there too; only an intent that takes an agency asks about it.
    """
    for place, folded in enumerate(text.folded[:-1] if text.says("at") else ()):
        if folded != "at":
            continue
        named = text.words[place + 1 + (text.words[place + 1].folded == "the") :][:1]
        if named and named[0].written[0].isupper() and named[0].written.isalpha() and not elsewhere[named[0].start]:
            note = f"{named[0].written[:40]} is not known as an agency; give its official name in quotes"
            return ambiguous(note, ((named[0].start, named[0].end),))
    return MISSING


def _decide(found: dict[Agency, list[Span]], unknown: list[Span]) -> Extracted:
    spans = tuple(s for places in found.values() for s in places)
    names = tuple(dict.fromkeys(name for named in found for name in named.names))
    if len(names) > 1:
        return ambiguous(f"the agency may be {_listed(sorted(names))}; give the full name of one in quotes", spans)
    if unknown:
        note = "the quoted name is not an official agency name; give it as USAspending lists it"
        return invalid(note, tuple(unknown))
    if not names:
        return MISSING
    departments = next(iter(found)).departments
    if departments:
        note = f"{names[0]} is an office of {_listed(departments)}; name the department instead"
        return ambiguous(note, spans)
    return Extracted(Status.OK, names[0], spans)


def _listed(names: Sequence[str]) -> str:
    more = f" or one of {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return " or ".join(names[:_NAMED]) + more


def _is_meant_as_agency(text: Text, quote: Quote) -> bool:
    """Whether a quotation that names no agency was meant to: it says so, or stands behind `at`."""
    if _AGENCY_WORDS & set(fold(quote.content).split()):
        return True
    before = [word.folded for word in text.words_before(quote.start, 2)]
    return bool(before) and (before[-1] in ("at", "agency") or before == ["at", "the"])


def _is_meant(text: Text, named: Agency, first: int, end: int, reference: Reference) -> bool:
    """Whether words outside quotes name an agency: in capitals where they are an abbreviation, and as a name else."""
    words = text.words[first:end]
    match named.form:
        case Form.ABBREVIATION:
            unless = reference.otherwise.get(named.spelling)
            return words[0].written.isupper() and (unless is None or (unless != "never" and _follows_at(text, first)))
        case Form.ALIAS:
            return all(word.written[0].isupper() for word in words if word.folded not in _SMALL) and not _is_part(
                text, first, end
            )
        case Form.NAME:
            # a name of one word, such as Benefits, is too often just a word
            return len(words) > 1 and any(word.written[0].isupper() for word in words)


def _is_part(text: Text, first: int, end: int) -> bool:
    """Whether the words are part of a longer name: Navy Federal, Salvation Army."""
    after = text.words[end] if end < len(text.words) else None
    if after is not None and after.written.istitle() and text.question[text.words[end - 1].end : after.start] == " ":
        return True
    before = text.words[first - 1] if first else None
    return (
        before is not None
        and first > 1  # the first word of a question has a capital anyway
        and before.written.istitle()
        and text.question[before.end : text.words[first].start] == " "
        and before.folded not in ("the", "us")
    )


def _follows_at(text: Text, first: int) -> bool:
    before = [w.folded for w in text.words[max(0, first - 2) : first]]
    return bool(before) and (before[-1] in _AT or (before[-1] == "the" and before[0] in _AT))
