"""Suppression comes first: who names a withheld row may say that it is withheld, and nothing else of its count."""

import re
from collections.abc import Sequence

from consumer.planner.evidence import SUPPRESSED, Evidence, Row
from consumer.planner.gate.clause import Clause
from consumer.planner.gate.columns import UNTELLING, columns_for, phrases, places
from consumer.planner.gate.masks import SCOPE, Mask, called, strings
from consumer.planner.gate.rows import rows_with, things
from consumer.planner.gate.text import Atom
from consumer.planner.gate.verdict import Code, Refused
from consumer.planner.gate.vocabulary import LICENSED, NEGATIONS, OPERATORS
from consumer.planner.words import WITHHELD_PHRASE

_PHRASE = re.compile(rf"\b{WITHHELD_PHRASE.replace('is ', '(?:is|are) ', 1)}\b", re.IGNORECASE)
_SAYING = frozenset("suppressed withheld".split())
_GIVING = frozenset("is are has have its for and shows counts".split())
_SAID = frozenset("suppressed protect privacy number count counts headcount".split())


def says_withheld(clause: Clause, evidence: Sequence[Evidence]) -> bool:
    """Whether the clause says of withheld cells that they are withheld, and is done with.

    Raises Refused where it says so of a published cell, or says anything else of a row that is wholly withheld.
    """
    says = _PHRASE.search(clause.rest) is not None
    for place, item in enumerate(evidence):
        counts = [i for i, column in enumerate(item.columns) if column.sensitive]
        named = _named(place, item, clause.masks) if counts else []
        if says and named and all(mask.at(place) for mask in clause.masks):
            _check_saying(clause, item, named, counts)
            return True
        hidden = any(all(row[i] is SUPPRESSED for row in same for i in counts) for same in things(named, item))
        if not says and hidden and not _about_else(clause.at(place), item):
            raise Refused(Code.SUPPRESSED_CELL)
    if clause.words & _SAYING:
        raise Refused(Code.SUPPRESSION_FALSE)
    return False


def _about_else(clause: Clause, evidence: Evidence) -> bool:
    """Whether the clause only gives values of columns that count no people, under their labels."""
    open_columns = [i for i, column in enumerate(evidence.columns) if not column.sensitive]
    if clause.said - UNTELLING - _GIVING - {w for i in open_columns for w in called(evidence.columns[i])}:
        return False
    chosen = [columns_for(clause, quantity, evidence) for quantity in clause.quantities]
    return all(columns and set(columns) <= set(open_columns) for columns in chosen)


def _named(place: int, evidence: Evidence, masks: Sequence[Mask]) -> list[Row]:
    """The rows of which the clause names every key that tells them apart."""
    keys = [i for i, column in enumerate(evidence.columns) if column.key]
    telling = [i for i in keys if len({row[i] for row in evidence.rows}) > 1] or keys
    addresses = [a for mask in masks for a in mask.at(place) if a.column != SCOPE]
    if not addresses or not telling:
        return []
    spoken = {(a.column, a.value) for a in addresses}
    if len(evidence.rows) == 1:
        return [row for row in evidence.rows if any((i, v) in spoken for i in keys for v in strings(row[i]))]
    named = [
        row
        for row in evidence.rows
        if all(row[key] is None or any((key, value) in spoken for value in strings(row[key])) for key in telling)
    ]
    whole = rows_with(place, evidence, masks) or []  # `wider group everyone` is no word about everyone
    return [row for row in named if row in whole] or named


def _check_saying(clause: Clause, evidence: Evidence, named: Sequence[Row], counts: Sequence[int]) -> None:
    meant = _columns(clause.atoms, evidence, counts)
    if not all(any(_hidden(row, meant or counts) for row in same) for same in things(named, evidence)):
        raise Refused(Code.SUPPRESSION_FALSE)
    licensed = LICENSED | _SAID | {w for c in evidence.columns for w in called(c)}
    words = clause.said - {a.text for i in meant for a in clause.atoms if a.text in called(evidence.columns[i])}
    if clause.quantities or words - licensed or words & (NEGATIONS | OPERATORS):
        raise Refused(Code.SUPPRESSED_CELL)


def _hidden(row: Row, counts: Sequence[int]) -> bool:
    return all(row[i] is SUPPRESSED for i in counts)


def _columns(words: Sequence[Atom], evidence: Evidence, counts: Sequence[int]) -> list[int]:
    """The counts that the words call, by the longest phrase."""
    sizes = {
        i: max(
            (len(p) for p in phrases(evidence.columns[i]) if next(places(words, p), None) is not None),
            default=0,
        )
        for i in counts
    }
    longest = max(sizes.values(), default=0)
    return [i for i, size in sizes.items() if size == longest] if longest else []
