"""The gate over a whole text: sentence by sentence, clause by clause, word by word. Fails closed."""

import re
import time
from collections.abc import Sequence

from consumer.planner.evidence import SUPPRESSED, Evidence
from consumer.planner.gate.claims import Clause, read
from consumer.planner.gate.masks import Mask, Surfaces
from consumer.planner.gate.quantities import Quantity, comparator, quantities
from consumer.planner.gate.rows import nouns, words_of
from consumer.planner.gate.text import MAX_SENTENCE, atoms, normalise, sentences
from consumer.planner.gate.verdict import Code, GateVerdict, Refused
from consumer.planner.gate.vocabulary import FORBIDDEN, FORBIDDEN_PHRASES, LICENSED, NEGATIONS, OPERATORS, VAGUE

LIMIT_SECONDS = 0.025
WITHHELD = "suppressed to protect privacy"
WITHHELD_WORDS = frozenset("suppressed protect privacy".split())
_QUOTE = re.compile(r'"([^"]*)"')
_SPLIT = re.compile(r";|(?<=\s)(?:while|and)(?=\s)", re.IGNORECASE)


def gate(text: str, evidence: Sequence[Evidence], limit_seconds: float = LIMIT_SECONDS) -> GateVerdict:
    """The verdict on the whole text. Never raises."""
    until = time.perf_counter() + limit_seconds
    place = -1
    try:
        surfaces = Surfaces(evidence)
        for place, sentence in enumerate(sentences(normalise(text))):
            _check(sentence, evidence, surfaces)
            if time.perf_counter() > until:
                return GateVerdict(Code.GATE_ERROR, place)
    except Refused as refused:
        return GateVerdict(refused.code, place)
    except Exception:  # noqa: BLE001 fails closed: a sentence that breaks the reader is not supported
        return GateVerdict(Code.GATE_ERROR, place)
    return GateVerdict(Code.OK) if place >= 0 else GateVerdict(Code.UNANCHORED)


def _check(sentence: str, evidence: Sequence[Evidence], surfaces: Surfaces) -> None:
    if len(sentence) > MAX_SENTENCE:
        raise Refused(Code.GATE_ERROR)
    for quote in _QUOTE.finditer(sentence):
        if not surfaces.quotes(quote[1]):
            raise Refused(Code.QUOTE_MISMATCH)
    masks = tuple(surfaces.find(sentence))
    rest = _blank(sentence, masks)
    words = [a.text for a in atoms(rest)]
    if _withheld(sentence, masks, words, evidence):
        return
    found = tuple(quantities(rest))
    _check_words([a.text for a in atoms(_blank(rest, found))])  # `May 2027` is a date and no forecast
    clause = Clause(sentence, rest, masks, found)
    inherited: tuple[Mask, ...] = ()
    for part in _clauses(clause):
        anchored = part if part.masks else Clause(part.text, part.rest, inherited, part.quantities)
        place, understood = read(anchored, evidence)
        _consume(anchored, evidence[place], understood)
        inherited = anchored.masks


def _blank(sentence: str, spans: Sequence[Mask | Quantity]) -> str:
    letters = list(sentence)
    for span in spans:
        letters[span.start : span.end] = " " * (span.end - span.start)
    return "".join(letters)


def _check_words(words: Sequence[str]) -> None:
    if FORBIDDEN.intersection(words):
        raise Refused(Code.FORBIDDEN_CLAIM)
    for phrase in FORBIDDEN_PHRASES:
        if any(tuple(words[i : i + len(phrase)]) == phrase for i in range(len(words))):
            raise Refused(Code.FORBIDDEN_CLAIM)
    if VAGUE.intersection(words):
        raise Refused(Code.VAGUE_QUANTIFIER)


def _withheld(sentence: str, masks: Sequence[Mask], words: Sequence[str], evidence: Sequence[Evidence]) -> bool:
    """Whether the sentence says of a withheld cell that it is withheld, and nothing else.

    Whoever names all keys of a withheld row speaks of its count: any other words are refused.
    """
    spoken = [e for place, e in enumerate(evidence) if _names_withheld(place, e, masks)]
    says = WITHHELD in sentence.lower()
    if not spoken:
        if "suppressed" in words or "withheld" in words:
            raise Refused(Code.SUPPRESSION_FALSE)
        return False
    licensed = LICENSED | WITHHELD_WORDS | {w for e in spoken for c in e.columns for w in words_of(c)}
    if not says or any(any(c.isdigit() for c in w) or w not in licensed or w in NEGATIONS for w in words):
        raise Refused(Code.SUPPRESSED_CELL)
    return True


def _names_withheld(place: int, evidence: Evidence, masks: Sequence[Mask]) -> bool:
    keys = [i for i, column in enumerate(evidence.columns) if column.key]
    named = {(a.column, a.value) for mask in masks for a in mask.addresses if a.evidence == place}
    return any(
        any(cell is SUPPRESSED for cell in row) and keys and all((key, str(row[key])) in named for key in keys)
        for row in evidence.rows
    )


def _clauses(clause: Clause) -> list[Clause]:
    """Parts that make a claim each: split where both sides hold a name and a quantity; `respectively` pairs lists."""
    if re.search(r"\brespectively\b", clause.rest, re.IGNORECASE):
        return _paired(clause)
    cuts = [0]
    ends: list[int] = []
    for match in _SPLIT.finditer(clause.rest):
        left, right = clause.part(cuts[-1], match.start()), clause.part(match.end(), len(clause.text))
        strong = ";" in match[0] or "while" in match[0].lower()
        both = left.masks and left.quantities and right.masks and right.quantities
        if strong or both:
            ends.append(match.start())
            cuts.append(match.end())
    ends.append(len(clause.text))
    return [clause.part(start, end) for start, end in zip(cuts, ends, strict=True)]


def _paired(clause: Clause) -> list[Clause]:
    """`A and B received x and y, respectively` as two claims."""
    if len(clause.masks) != len(clause.quantities) or len(clause.masks) < 2:
        raise Refused(Code.UNPARSED_OPERATOR)
    rest = list(clause.rest)
    for quantity in clause.quantities:
        rest[quantity.start : quantity.end] = " " * (quantity.end - quantity.start)
    return [
        Clause(clause.text, "".join(rest), (mask,), (quantity,))
        for mask, quantity in zip(clause.masks, clause.quantities, strict=True)
    ]


def _consume(clause: Clause, evidence: Evidence, understood: frozenset[str]) -> None:
    """Every word must be a name, a quantity, a word of this evidence, or one that a rule has read."""
    letters = list(clause.rest)
    for quantity in clause.quantities:
        _, start = comparator(clause.rest, quantity)
        letters[start : quantity.end] = " " * (quantity.end - start)
    licensed = LICENSED | understood | nouns(evidence) | {w for c in evidence.columns for w in words_of(c)}
    licensed |= {a.text for a in atoms(evidence.heading)} | {
        a.text for a in atoms(" ".join(evidence.scope).replace("_", " "))
    }
    for word in (a.text for a in atoms("".join(letters))):
        if word in understood:
            continue
        if word in OPERATORS or word in NEGATIONS:
            raise Refused(Code.UNPARSED_OPERATOR)
        if word not in licensed:
            digits = any(c.isdigit() for c in word)
            raise Refused(Code.UNKNOWN_IDENTIFIER if digits else Code.UNLICENSED_WORD)
