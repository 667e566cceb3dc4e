"""The agency: an official name, a subtier's name or an abbreviation, quoted or not, and never a guess between two."""

from consumer.planner.extract.text import Text, Word
from consumer.planner.extract.value import MISSING, Extracted, Span, Status, ambiguous, invalid
from registry.reference import Agency, Reference, fold

_AGENCY_WORDS = frozenset(
    "department dept agency bureau administration office command service commission corps institute center".split()
)
_AT = frozenset("at by from for with of to".split())
# Postal codes of states that are also abbreviations of agencies: `staff in VA` means Virginia.
_STATES = frozenset(
    "al ak az ar ca co ct de fl ga hi ia id il in ks ky la ma md me mi mn mo ms mt nc nd ne nh nj nm nv ny oh ok or pa "
    "ri sc sd tn tx ut va vt wa wi wv wy dc".split()
)
# Capitals that mean something else in a question about people or markets.
_OTHERWISE = frozenset("si tk hcs ts sci q l naics uei rfp rfi it us usa tbd pws sow".split())


def agency(text: Text, reference: Reference) -> Extracted:
    """The official name of the one agency that the question names.

    A quoted name that is no agency is invalid if it was meant as one; after a quotation mark that never closes no
    name is taken, for it can't be known where it ends.
    """
    found: dict[tuple[str, ...], list[Span]] = {}
    unknown: list[Span] = []
    for quote in text.quotes:
        named = reference.agencies.entries.get(fold(quote.content))
        if named:
            found.setdefault(named.names, []).append((quote.start, quote.end))
        elif _AGENCY_WORDS & set(fold(quote.content).split()):
            unknown.append((quote.start, quote.end))
    if text.unclosed is not None:
        return invalid(
            "a quotation mark is not closed; quote the agency's name on both sides",
            ((text.unclosed, len(text.question)),),
        )
    for named, first, end in text.runs(reference.agencies):
        span = (text.words[first].start, text.words[end - 1].end)
        if not any(q.start <= span[0] < q.end for q in text.quotes) and _is_meant(text, named, first, end):
            found.setdefault(named.names, []).append(span)
    return _decide(found, unknown)


def _decide(found: dict[tuple[str, ...], list[Span]], unknown: list[Span]) -> Extracted:
    spans = tuple(s for places in found.values() for s in places)
    names = tuple(dict.fromkeys(name for group in found for name in group))
    if len(names) > 1:
        return ambiguous(f"the agency may be {' or '.join(sorted(names)[:4])}; give the full name in quotes", spans)
    if unknown:
        return invalid(
            "the quoted name is not an official agency name; USAspending's agency list has them", tuple(unknown)
        )
    return Extracted(Status.OK, names[0], spans) if names else MISSING


def _is_meant(text: Text, named: Agency, first: int, end: int) -> bool:
    """Whether words outside quotes name an agency: in capitals where they are an abbreviation, and as a name else."""
    words = text.words[first:end]
    if end - first == 1 and named.spelling in _OTHERWISE:
        return False
    if named.abbreviation:
        return words[0].written.isupper() and not (named.spelling in _STATES and not _follows_at(text, first))
    if end - first == 1:
        return False  # a name of one word, such as State or Labor, is too often a word
    return any(_starts_high(word) for word in words)


def _follows_at(text: Text, first: int) -> bool:
    before = [w.folded for w in text.words[max(0, first - 2) : first]]
    return bool(before) and (before[-1] in _AT or (before[-1] == "the" and before[0] in _AT))


def _starts_high(word: Word) -> bool:
    return word.written[0].isupper()
