"""Which column a quantity speaks of: by its type, and by the words that stand next to it."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from consumer.planner.evidence import Evidence
from consumer.planner.gate.clause import Clause, Tag
from consumer.planner.gate.masks import called
from consumer.planner.gate.quantities import ONES, ORDINALS, TENS, Kind, Quantity
from consumer.planner.gate.text import Atom, atoms, stem
from consumer.planner.gate.verdict import Code, Refused
from consumer.planner.gate.vocabulary import (
    COUNTABLE,
    DATE_PREPOSITIONS,
    DERIVED,
    EVENTS,
    FALLS,
    FORBIDDEN,
    GREATER,
    LARGEST,
    LESS,
    NEGATIONS,
    OPERATORS,
    SMALLEST,
    TOTAL,
    VAGUE,
)
from registry import Column
from registry.intent import ColumnType

UNTELLING = frozenset("of the on in at date a to".split())
LOADED = frozenset().union(
    DERIVED, FORBIDDEN, GREATER, LARGEST, LESS, NEGATIONS, OPERATORS, SMALLEST, TOTAL, VAGUE, ONES, TENS, ORDINALS
)
_LOADED_STEMS = frozenset(map(stem, LOADED))
TYPES: dict[Kind, frozenset[ColumnType]] = {
    Kind.MONEY: frozenset({ColumnType.MONEY}),
    Kind.PERCENT: frozenset({ColumnType.PERCENT}),
    Kind.ORDINAL: frozenset({ColumnType.RANK}),
    Kind.DATE: frozenset({ColumnType.DATE}),
    Kind.DURATION: frozenset({ColumnType.COUNT, ColumnType.DURATION}),
    Kind.NUMBER: frozenset({ColumnType.COUNT, ColumnType.RANK, ColumnType.DURATION}),
}
_EDGE = re.compile(r"[,;():]|\b(?:and|but|while)\b", re.IGNORECASE)
_OF = re.compile(r"\s+of\s+(?:the\s+|all\s+)*([^\W_]+)")


def phrases(column: Column) -> tuple[tuple[str, ...], ...]:
    """The phrases that single the column out, as stems. A day is called `award date` or, by a day, just `award`."""
    words = column.words or (column.name.replace("_", " "),)
    return _phrases(words, column.label or "", column.type is ColumnType.DATE)


@lru_cache(maxsize=4_096)
def _phrases(words: tuple[str, ...], label: str, dated: bool) -> tuple[tuple[str, ...], ...]:
    found = [tuple(stem(a.text) for a in atoms(text)) for text in (*words, label)]
    if dated:
        found = [tuple(word for word in phrase if word not in ("on", "date")) for phrase in found]
    return tuple(dict.fromkeys(p for p in found if p and not set(p) <= UNTELLING))


def tags(text: str, evidence: Sequence[Evidence]) -> Iterator[Tag]:
    """Declared phrases and labels that hold a word which would say something by itself: `top three`, `largest share`.

    A single word is never one: a forbidden word stays forbidden though a column be called by it.
    """
    words = atoms(text)
    if not any(a.text in LOADED or a.text.isdigit() for a in words):
        return
    present = {stem(a.text) for a in words}
    for place, item in enumerate(evidence):
        for column, declared in enumerate(item.columns):
            for phrase in phrases(declared):
                if len(phrase) > 1 and present.issuperset(phrase) and _loaded(phrase):
                    for at in places(words, phrase):
                        yield Tag(words[at].start, words[at + len(phrase) - 1].end, place, column)


@lru_cache(maxsize=4_096)
def _loaded(phrase: tuple[str, ...]) -> bool:
    return any(word in _LOADED_STEMS or word.isdigit() for word in phrase)


def places(words: Sequence[Atom], phrase: tuple[str, ...]) -> Iterator[int]:
    size = len(phrase)
    for at in range(len(words) - size + 1):
        if stem(words[at].text) == phrase[0] and tuple(stem(a.text) for a in words[at : at + size]) == phrase:
            yield at


def columns_for(clause: Clause, quantity: Quantity, evidence: Evidence) -> list[int]:
    """The columns of the quantity's type that the words around it call, best first; of several equally called, all.

    Raises Refused where a date or an amount could be of several columns and no word says of which.
    """
    fitting = [i for i, c in enumerate(evidence.columns) if c.type in TYPES.get(quantity.kind, ())]
    if quantity.kind is Kind.DURATION:
        fitting = [i for i in fitting if (evidence.columns[i].unit or "").rstrip("s") == quantity.unit]
    before, after = _around(clause, quantity)
    if quantity.kind is Kind.NUMBER:
        fitting = _counting(clause, quantity, evidence, fitting)
    tagged = {t.column for t in clause.tags if any(a.start <= t.start < a.end for a in (*before, *after))}
    if tagged & set(fitting):
        return sorted(tagged & set(fitting))
    chosen = _best(fitting, evidence, before, after, quantity.kind)
    if not chosen and _alone(clause, quantity):
        left = [a for a in clause.atoms if a.start < quantity.start]
        right = [a for a in clause.atoms if a.start > quantity.start]
        chosen = _best(fitting, evidence, left, right, quantity.kind)
    _check_words(clause, quantity, evidence, chosen)
    if chosen:
        return chosen
    if quantity.kind is Kind.NUMBER:
        counts = [i for i in fitting if evidence.columns[i].type is ColumnType.COUNT and evidence.columns[i].sensitive]
        return counts if len(counts) == 1 else []
    if len(fitting) > 1:
        raise Refused(Code.COLUMN_MISMATCH)
    return fitting


def _alone(clause: Clause, quantity: Quantity) -> bool:
    return sum(q.kind is quantity.kind for q in clause.quantities) == 1


def _around(clause: Clause, quantity: Quantity) -> tuple[list[Atom], list[Atom]]:
    """The words before and after the quantity, up to the next quantity, comma or conjunction."""
    start = max((q.end for q in clause.quantities if q.end <= quantity.start), default=0)
    end = min((q.start for q in clause.quantities if q.start >= quantity.end), default=len(clause.rest))
    for edge in _EDGE.finditer(clause.rest, start, quantity.start):
        if not (any(tag.start <= edge.start() < tag.end for tag in clause.tags) or _between(clause, edge)):
            start = edge.end()
    after = _EDGE.search(clause.rest, quantity.end, end)
    end = after.start() if after else end
    return (
        [a for a in clause.atoms if start <= a.start < quantity.start],
        [a for a in clause.atoms if quantity.end <= a.start < end],
    )


def _between(clause: Clause, edge: re.Match[str]) -> bool:
    """Whether the comma only stands between two names: `the share of A, B is` goes on."""
    left = max((m.end for m in clause.own if m.end <= edge.start()), default=0)
    right = min((m.start for m in clause.own if m.start >= edge.end()), default=0)
    return 0 < left < right and clause.rest[left:right].strip() == ","


def _counting(clause: Clause, quantity: Quantity, evidence: Evidence, fitting: list[int]) -> list[int]:
    """Of a number, the columns that count what the next word names."""
    follows = next((a.text for a in clause.atoms if a.start >= quantity.end), "")
    gap = clause.rest[quantity.end :].lstrip(" ")
    if not follows or not gap[:1].isalnum():
        return fitting
    counted = COUNTABLE | {w for c in evidence.columns if c.type is ColumnType.COUNT for w in called(c)}
    if follows not in counted - UNTELLING:
        return fitting
    return [i for i in fitting if follows in called(evidence.columns[i])]


def _best(
    fitting: Sequence[int], evidence: Evidence, before: Sequence[Atom], after: Sequence[Atom], kind: Kind
) -> list[int]:
    """The columns called by the longest phrase, then by the nearest one."""
    ranked: list[tuple[tuple[int, int], int]] = []
    for column in fitting:
        found = [
            (-len(phrase), distance)
            for phrase in phrases(evidence.columns[column])
            for distance in _distances(phrase, before, after, kind)
        ]
        if found:
            ranked.append((min(found), column))
    best = min((rank for rank, _ in ranked), default=None)
    return [column for rank, column in ranked if rank == best]


def _distances(phrase: tuple[str, ...], before: Sequence[Atom], after: Sequence[Atom], kind: Kind) -> Iterator[int]:
    """How far the phrase stands; on a tie a number belongs to what follows it, any other value to what leads to it."""
    late, early = (1, 0) if kind is Kind.NUMBER else (0, 1)
    for at in places(before, phrase):
        yield 2 * (len(before) - at - len(phrase)) + late
    for at in places(after, phrase):
        yield 2 * at + early


def _check_words(clause: Clause, quantity: Quantity, evidence: Evidence, chosen: Sequence[int]) -> None:
    """Words that would make the value another fact: awarded on an end, until a start, falling by a rise, percent of."""
    own = {w for i in chosen for w in called(evidence.columns[i])}
    if quantity.kind is Kind.DATE:
        leads = [a.text for a in clause.atoms if a.end <= quantity.start]
        if leads and leads[-1] in DATE_PREPOSITIONS and leads[-1] not in own:
            raise Refused(Code.COLUMN_MISMATCH)
        if not chosen and clause.words & EVENTS:
            raise Refused(Code.COLUMN_MISMATCH)
    if quantity.kind is Kind.PERCENT:
        if clause.said & FALLS:
            raise Refused(Code.DERIVED_NOT_WHITELISTED)
        of = _OF.match(clause.rest, quantity.end)
        counted = {w for c in evidence.columns if c.type is ColumnType.COUNT for w in called(c)} - own
        if of and of[1].lower() in counted | nouns(evidence) | COUNTABLE:
            raise Refused(Code.DERIVED_NOT_WHITELISTED)


def nouns(evidence: Evidence) -> frozenset[str]:
    """What one row, or several, are called."""
    plain = ["row", *(a.text for noun in evidence.noun for a in atoms(noun))]
    return frozenset(form for word in plain for form in (word, f"{word}s", f"{word.removesuffix('y')}ies"))
