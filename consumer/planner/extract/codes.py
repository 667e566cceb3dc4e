"""Codes: NAICS, the Unique Entity ID, UUIDs of opportunities and requirements."""

import re

from consumer.planner.extract.text import Text
from consumer.planner.extract.value import MISSING, Extracted, Span, Status, ambiguous, invalid
from registry.reference import Reference

# Six digits that stand alone: not part of a contract number, a ZIP+4, a phone number, money, a decimal or a range.
_SIX = re.compile(
    r"(?<![\w$€£#.,/+-])(?<![$€£] )([0-9]{6}(?:\s?[/,–-]\s?[0-9]{6}(?![0-9]))*)"
    r"(?![\w]|[.,/-][0-9]|\s?(?:dollars|USD)\b)"
)
_CODE = re.compile(r"[0-9]{6}")
_NAMED = re.compile(r"\bNAICS(?:\s+(?:codes?|industry|sector))?[\s:#]*([0-9]{2,10})\b", re.IGNORECASE)
_YEAR_MONTH = re.compile(r"(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])")

_UEI_TOKEN = re.compile(r"(?<![\w-])[A-Za-z0-9]{12}(?![\w-])")
_UEI_NAMED = re.compile(r"\bUEI[\s:#\"“'‘]+(?=[A-Za-z]*[0-9])([A-Za-z0-9]{6,20})(?![\w-])", re.IGNORECASE)
_UEI_SHAPE = re.compile(r"[A-HJ-NP-Z][A-HJ-NP-Z1-9]{10}[1-9]")
_UEI_CONTEXT = frozenset({"uei", "vendor", "profile", "partner", "entity", "company", "contractor", "firm", "sam"})

_UUID = re.compile(
    r"(?<![\w-])([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}|[0-9a-fA-F]{32})(?![\w-])"
)
_NEARLY_UUID = re.compile(r"(?<![\w-])[0-9a-zA-Z]{5,14}(?:-[0-9a-zA-Z]{2,8}){3}-[0-9a-zA-Z]{6,16}(?![\w-])")
# A contract number of the FAR (subpart 4.16): six characters of the office, the fiscal year, a letter, the serial.
_PIID = re.compile(r"(?<![\w-])[A-Z0-9]{6}-?[0-9]{2}-?[A-Z]-?[A-Z0-9]{4,8}(?![\w-])")
_ROLES: dict[str, str] = {
    **dict.fromkeys(("opportunity", "notice", "solicitation", "rfp", "rfi", "rfq", "bid"), "opportunity"),
    **dict.fromkeys(("requirement", "req"), "requirement"),
}
_ROLE_REACH = 3
"""Words before a uuid that may say what it is."""


def naics(text: Text, reference: Reference) -> Extracted:
    """The industry code. Two codes are ambiguous, an unknown or shortened one is invalid; a retired one is good."""
    if not reference.naics:
        return MISSING
    found: dict[str, list[Span]] = {}
    for listed in _SIX.finditer(text.question):
        for match in _CODE.finditer(text.question, listed.start(), listed.end()):
            before = text.question[max(0, match.start() - 16) : match.start()].rstrip(" :#").lower()
            if (
                before.endswith(("naics", "naics code"))
                or match[0] in reference.naics
                or not _YEAR_MONTH.fullmatch(match[0])
            ):
                found.setdefault(match[0], []).append(match.span())
    named = _NAMED.finditer(text.question) if text.says("naics") else ()
    short = next((match for match in named if len(match[1]) != 6), None)
    if short is not None:
        return invalid(f"{short[1]} is not a six digit NAICS code; give one such as 541512", (short.span(1),))
    known = {code: spans for code, spans in found.items() if code in reference.naics}
    if len(known) < len(found):
        code, spans = next((code, spans) for code, spans in found.items() if code not in reference.naics)
        return invalid(f"{code} is in no edition of NAICS; give a six digit code such as 541512", tuple(spans))
    if len(known) > 1:
        spans = tuple(span for places in known.values() for span in places)
        return ambiguous("more than one NAICS code; ask about one at a time", spans, tuple(known))
    if not known:
        return MISSING
    code, spans = next(iter(known.items()))
    note = f"NAICS {code} is retired; awards under it are still found" if reference.naics[code] else None
    return Extracted(Status.OK, code, tuple(spans), note)


def is_uei(text: str) -> bool:
    """Whether the twelve characters are a Unique Entity ID by GSA's standard, check digit included.

    The last character is a check digit over the eleven before it: each character's code times its place, the last
    digit of each product added up; of a sum of several digits the same is taken again, digit by digit. (Held against
    every UEI of the award files.)
    """
    if not _UEI_SHAPE.fullmatch(text):
        return False
    total = sum(place * ord(letter) % 10 for place, letter in enumerate(text[:11], 1))
    while total > 9:
        total = sum(place * int(digit) % 10 for place, digit in enumerate(str(total), 1))
    return total == int(text[11])


def uei(text: Text) -> Extracted:
    """The vendor's UEI, in capitals. A token that is quoted or named as one and fails its check is invalid."""
    quoted = {(q.start, q.end) for q in text.quotes}
    found: dict[str, list[Span]] = {}
    broken: list[Span] = []
    for match in _UEI_TOKEN.finditer(text.question):
        candidate = match[0].upper()
        if is_uei(candidate):
            found.setdefault(candidate, []).append(match.span())
        elif match.span() in quoted or (_is_named(text, match.start()) and not candidate.isalpha()):
            broken.append(match.span())
    if text.says("uei"):
        broken += [match.span(1) for match in _UEI_NAMED.finditer(text.question) if len(match[1]) != 12]
    if broken and found:
        return invalid("one UEI fails its check; ask about one vendor at a time", tuple(broken))
    if len(found) > 1:
        return ambiguous("more than one UEI; ask about one vendor at a time", tuple(s[0] for s in found.values()))
    if found:
        value, spans = next(iter(found.items()))
        return Extracted(Status.OK, value, tuple(spans))
    if broken:
        return invalid("the UEI fails its check digit; compare its twelve characters with SAM.gov", tuple(broken))
    return MISSING


def uuids(text: Text) -> Extracted:
    """The opportunity's or requirement's UUID, with hyphens. One inside other quoted text is not taken apart."""
    found: dict[str, tuple[Span, str | None]] = {}
    for match in _UUID.finditer(text.question):
        around = next((q for q in text.quotes if q.start <= match.start() < q.end), None)
        if around is not None and around.content != match[0]:
            return invalid("the quoted text holds more than a UUID; quote the UUID alone", (match.span(),))
        plain = match[0].replace("-", "").lower()
        value = "-".join((plain[:8], plain[8:12], plain[12:16], plain[16:20], plain[20:]))
        found.setdefault(value, (match.span(), _role(text, match.start())))
    if not found:
        broken = _NEARLY_UUID.search(text.question) if text.question.count("-") >= 4 else None
        note = "that is no UUID; it has 8, 4, 4, 4 and 12 hexadecimal digits"
        return invalid(note, (broken.span(),)) if broken else MISSING
    spans = tuple(span for span, _ in found.values())
    by_role = {role: value for value, (_, role) in found.items() if role is not None}
    if len(found) == 1:
        value, (_, role) = next(iter(found.items()))
        return Extracted(Status.OK, value, spans, None, role)
    if len(by_role) == len(found):
        return Extracted(Status.OK, tuple(found), spans, by_role=by_role)
    return ambiguous("more than one UUID; say which is the opportunity's and which the requirement's", spans)


def contract_number(text: Text) -> Extracted:
    """A procurement instrument identifier: known for what it is, so that none of its digits is taken for a code."""
    found = {match[0].replace("-", ""): match.span() for match in _PIID.finditer(text.question)}
    if not found:
        return MISSING
    note = "no query takes a contract number; ask by agency, NAICS code or the vendor's UEI"
    return Extracted(Status.OK, next(iter(found)), tuple(found.values()), note)


def _role(text: Text, start: int) -> str | None:
    before = [word.folded for word in text.words_before(start, _ROLE_REACH)]
    return next((_ROLES[word] for word in reversed(before) if word in _ROLES), None)


def _is_named(text: Text, start: int) -> bool:
    before = [word.folded for word in text.words_before(start, 2)]
    return any(word in _UEI_CONTEXT for word in before)
