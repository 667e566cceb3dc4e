"""The gate over a whole text: sentence by sentence, clause by clause, word by word. Fails closed."""

import re
import time
from collections.abc import Sequence

from consumer.planner.evidence import Evidence
from consumer.planner.gate.claims import read
from consumer.planner.gate.clause import Clause, clauses, strong_parts
from consumer.planner.gate.columns import columns_for, nouns, tags
from consumer.planner.gate.labels import labelled, plain_values
from consumer.planner.gate.masks import Mask, Surfaces, called, words_in
from consumer.planner.gate.quantities import comparator, quantities
from consumer.planner.gate.rows import is_window
from consumer.planner.gate.text import MAX_LINE, MAX_SENTENCE, atoms, blank, sentences, symbols
from consumer.planner.gate.verdict import Code, GateVerdict, Refused
from consumer.planner.gate.vocabulary import FORBIDDEN, FORBIDDEN_PHRASES, LICENSED, NEGATIONS, OPERATORS, VAGUE
from consumer.planner.gate.withheld import says_withheld
from consumer.planner.notes import notes, opening
from consumer.planner.words import normalise

LIMIT_SECONDS = 0.025
_QUOTE = re.compile(r'"([^"]*)"')
_WAY = re.compile(r"\b(?:next|last|past|previous)\s*$", re.IGNORECASE)


def gate(text: str, evidence: Sequence[Evidence], limit_seconds: float = LIMIT_SECONDS) -> GateVerdict:
    """The verdict on the whole text. Never raises."""
    until = time.thread_time() + limit_seconds  # a busy machine takes time from others, none from the gate
    place = -1
    try:
        plain = normalise(text)
        surfaces = Surfaces(evidence, plain)
        openings = {normalise(opening(item)): number for number, item in enumerate(evidence)}
        under = 0 if len(evidence) == 1 else -1
        for line in plain.splitlines():
            if len(line) > MAX_LINE:
                raise Refused(Code.GATE_ERROR)
            opened = openings.get(line.strip())
            if opened is not None:
                under, place = opened, place + 1
                continue
            masks = surfaces.find(line)
            quotes = [Mask(m.start(), m.end(), ()) for m in _QUOTE.finditer(line)]
            for start, end in sentences(line, (*masks, *quotes)):
                place += 1
                if under < 0 or line[start:end].strip() not in notes(evidence[under]):
                    _check(line, start, end, masks, evidence, surfaces)
                if time.thread_time() > until:
                    return GateVerdict(Code.GATE_ERROR, place)
    except Refused as refused:
        return GateVerdict(refused.code, max(place, 0))
    except Exception:  # noqa: BLE001 fails closed: a sentence that breaks the reader is not supported
        return GateVerdict(Code.GATE_ERROR, max(place, 0))
    return GateVerdict(Code.OK) if place >= 0 else GateVerdict(Code.UNANCHORED)


def _check(
    line: str, start: int, end: int, masks: Sequence[Mask], evidence: Sequence[Evidence], surfaces: Surfaces
) -> None:
    for quote in _QUOTE.finditer(line, start, end):
        if not surfaces.quotes(quote[1]):
            raise Refused(Code.QUOTE_MISMATCH)
    here = tuple(m for m in masks if start <= m.start < end)
    rest = " " * start + blank(line, here)[start:end]
    if named := plain_values(here, rest, surfaces.plain, evidence):
        here = tuple(sorted((*here, *named)))
        rest = " " * start + blank(line, here)[start:end]
    here = labelled(here, rest, evidence)
    tagged = tuple(tags(rest, evidence))
    bare = blank(rest, tagged)
    found = tuple(quantities(bare))  # `May 2027` is a date and no forecast
    sentence = Clause(rest, here, found, tagged)
    for part in strong_parts(sentence):
        if _length(part, line) > MAX_SENTENCE:
            raise Refused(Code.GATE_ERROR)
        if says_withheld(part, evidence):
            continue
        _check_words([a.text for a in atoms(blank(part.rest, (*part.tags, *part.quantities)))])
        if symbols(blank(part.rest, part.quantities)):
            raise Refused(Code.UNPARSED_OPERATOR)
        for clause in clauses(part):
            place, understood = read(clause, evidence)
            _consume(clause.at(place), evidence[place], understood)


def _length(part: Clause, line: str) -> int:
    """Characters of the part, quotes of the data not counted."""
    spans = [*part.atoms, *part.own]
    if not spans:
        return 0
    whole = max(span.end for span in spans) - min(span.start for span in spans)
    return whole - sum(m.end - m.start for m in part.own if line[m.start] == '"')


def _check_words(words: Sequence[str]) -> None:
    if FORBIDDEN.intersection(words):
        raise Refused(Code.FORBIDDEN_CLAIM)
    for phrase in FORBIDDEN_PHRASES:
        if any(tuple(words[i : i + len(phrase)]) == phrase for i in range(len(words))):
            raise Refused(Code.FORBIDDEN_CLAIM)
    if VAGUE.intersection(words):
        raise Refused(Code.VAGUE_QUANTIFIER)


def _consume(clause: Clause, evidence: Evidence, understood: frozenset[str]) -> None:
    """Every word must be a name, a quantity, a word of this evidence, or one that a rule has read."""
    _check_tags(clause, evidence)
    letters = list(blank(clause.rest, clause.tags))
    for quantity in clause.quantities:
        _, start = comparator(clause.rest, quantity)
        way = _WAY.search(clause.rest, 0, start)
        if way and is_window(clause, quantity, evidence):
            start = way.start()
        letters[start : quantity.end] = " " * (quantity.end - start)
    words = [a.text for a in atoms("".join(letters))]
    _check_words(words)
    licensed = LICENSED | understood | nouns(evidence) | {w for c in evidence.columns for w in called(c)}
    licensed |= words_in((evidence.heading, *(name.replace("_", " ") for name in evidence.scope)))
    for word in words:
        if word in understood:
            continue
        if word in OPERATORS or word in NEGATIONS:
            raise Refused(Code.UNPARSED_OPERATOR)
        if word not in licensed:
            digits = any(c.isdigit() for c in word)
            raise Refused(Code.UNKNOWN_IDENTIFIER if digits else Code.UNLICENSED_WORD)


def _check_tags(clause: Clause, evidence: Evidence) -> None:
    """A declared phrase must lead to a value of its column: `one offer` by itself is a claim that nothing bears out."""
    for tag in clause.tags:
        named = any(a.column == tag.column for mask in clause.masks for a in mask.at(tag.evidence))
        if not named and not any(tag.column in columns_for(clause, q, evidence) for q in clause.quantities):
            raise Refused(Code.UNPARSED_OPERATOR)
