"""One clause against the evidence: what kind of claim it makes, and whether the rows bear it out.

Each reader takes a clause it recognises and either returns the words it has understood, supported, or raises `Refused`.
What is computed is a closed list (count, a of b, sum, largest and smallest, range, comparison), recomputed exactly and
only over complete evidence; everything else that is derived is refused even when it is right.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal

from consumer.planner.evidence import Evidence
from consumer.planner.gate.clause import Clause, members
from consumer.planner.gate.columns import nouns, phrases
from consumer.planner.gate.comparison import compared, comparison
from consumer.planner.gate.facts import (
    a_of_b,
    anchored,
    claimed,
    counts_rows,
    measure,
    plain,
    rows_holding,
    said_rows,
    share_of_rows,
)
from consumer.planner.gate.masks import called, words_in
from consumer.planner.gate.quantities import Kind, comparator
from consumer.planner.gate.roles import check_roles
from consumer.planner.gate.rows import holds, number, values
from consumer.planner.gate.verdict import Code, Refused
from consumer.planner.gate.vocabulary import COUNTABLE, DERIVED, LARGEST, NEGATIONS, SMALLEST, TOTAL

_OTHER_THAN = re.compile(r"\bother than\b")
_RANGES = frozenset({"range", "ranges", "ranged"})

Read = tuple[int, frozenset[str]]
"""The evidence that bears a clause out, and the words of the clause that its reader has understood."""
Reader = Callable[[Clause, int, Evidence], frozenset[str]]


def read(clause: Clause, evidence: Sequence[Evidence]) -> Read:
    """The evidence that supports the clause. Raises Refused with the nearest reason that none does."""
    if any(quantity.kind is Kind.MONEY and quantity.unit != "USD" for quantity in clause.quantities):
        raise Refused(Code.UNIT_MISMATCH)
    codes: list[Code] = []
    supported: Read | None = None
    denies = "no" in clause.said
    for place in _candidates(clause, evidence):
        if denies and _is_silent(clause, evidence[place]):
            continue
        try:
            understood = _supported(clause.at(place), place, evidence[place])
        except Refused as refused:
            codes.append(refused.code)
            if denies:  # what no evidence may hold must be missing in all of which the clause could speak
                break
            continue
        supported = place, understood
        if not denies:
            return supported
    if supported is not None and not codes:
        return supported
    if not codes:
        raise Refused(Code.ROW_MISMATCH if clause.masks else Code.UNANCHORED)
    raise Refused(Code.SUPPRESSED_CELL if Code.SUPPRESSED_CELL in codes else codes[0])


def _supported(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    check_roles(clause, place, evidence)
    reader = _reader(clause)
    try:
        return reader(clause, place, evidence)
    except Refused as refused:
        each = list(members(clause)) if refused.code is Code.ROW_MISMATCH and reader is plain else []
        if not each or any(counts_rows(clause, q, evidence) for q in clause.quantities):
            raise
        for member in each:
            plain(member, place, evidence)
        return frozenset()


def _candidates(clause: Clause, evidence: Sequence[Evidence]) -> list[int]:
    """Evidence that has every name of the clause; without names, that the clause's words speak of."""
    if clause.masks:
        return [i for i in range(len(evidence)) if all(mask.at(i) for mask in clause.masks)]
    words = clause.words
    headed = [i for i, e in enumerate(evidence) if e.heading and words_in((e.heading,)) <= words]
    return headed or [i for i, e in enumerate(evidence) if words & nouns(e) or _speaks_of(clause, e)]


def _is_silent(clause: Clause, evidence: Evidence) -> bool:
    """Whether a denial is none of this evidence's: it has no row at all, and its rows are called otherwise."""
    return evidence.complete and not evidence.rows and not clause.said & nouns(evidence)


def _speaks_of(clause: Clause, evidence: Evidence) -> bool:
    return any(clause.stems.issuperset(phrase) for column in evidence.columns for phrase in phrases(column))


def _reader(clause: Clause) -> Reader:
    said = clause.said
    if said & NEGATIONS:
        return _negation
    if compared(clause) is not None or "outnumber" in said:
        return comparison
    if said & _RANGES:
        return _range
    if said & (LARGEST | SMALLEST) and not re.search(r"\bat least\b", clause.rest.lower()):
        return _superlative
    if a_of_b(clause) is not None:
        return share_of_rows
    if said & DERIVED or any(q.kind is Kind.POINTS for q in clause.quantities):
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    return _total if said & TOTAL else plain


def _total(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """A sum over complete rows of an additive column; a cell where its column is called total, or the row is alone."""
    try:
        return _sum(clause, place, evidence)
    except Refused as refused:
        alone = clause.masks and len(said_rows(clause, place, evidence)) == 1
        if refused.code is Code.SUPPRESSED_CELL or not (alone or _called_total(clause, evidence)):
            raise
    return plain(clause, place, evidence) | (TOTAL & clause.said)


def _called_total(clause: Clause, evidence: Evidence) -> bool:
    """Whether the column itself is called total, as `total obligations` is of a row."""
    return bool(clause.masks) and bool(TOTAL & clause.said & called(evidence.columns[measure(clause, evidence)]))


def _sum(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    rows = said_rows(clause, place, evidence)
    if not rows and evidence.rows:
        raise Refused(Code.ROW_MISMATCH)
    if not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    measured = False
    for quantity in claimed(clause, evidence):
        if counts_rows(clause, quantity, evidence):
            if quantity.value != len(rows):
                raise Refused(Code.COUNT_MISMATCH)
            continue
        if quantity.kind not in (Kind.MONEY, Kind.PERCENT, Kind.NUMBER):
            raise Refused(Code.UNPARSED_OPERATOR)
        column = measure(clause, evidence, quantity.kind)
        if not evidence.columns[column].additive:
            raise Refused(Code.DERIVED_NOT_WHITELISTED)
        total = sum(values(rows, column), Decimal(0))
        if not holds(total, quantity, comparator(clause.rest, quantity)[0]):
            raise Refused(Code.AGGREGATE_MISMATCH)
        measured = True
    if not measured:
        raise Refused(Code.UNPARSED_OPERATOR)
    return TOTAL & clause.said


def _superlative(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """The largest or smallest row, over complete evidence or at the matching end of its order."""
    said = clause.said
    largest, smallest = said & LARGEST, said & SMALLEST
    if largest and smallest:
        raise Refused(Code.UNPARSED_OPERATOR)
    if any(q.kind is Kind.ORDINAL for q in clause.quantities) or said & DERIVED:
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    column = measure(clause, evidence)
    _check_superlative_noun(clause, column, evidence)
    ordered = evidence.order_by == (evidence.columns[column].name, "desc" if largest else "asc")
    if not evidence.complete and not ordered:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    found = values(evidence.rows, column)
    extreme = max(found) if largest else min(found)
    rows = [r for r in said_rows(clause, place, evidence) if number(r[column]) == extreme]
    if not rows:
        raise Refused(Code.AGGREGATE_MISMATCH)
    told = claimed(clause, evidence)
    if not told and not anchored(clause, place):
        raise Refused(Code.UNANCHORED)
    rows_holding(clause, told, rows, evidence)
    return said & (LARGEST | SMALLEST | TOTAL)


def _check_superlative_noun(clause: Clause, column: int, evidence: Evidence) -> None:
    """The largest what: a row, the measure, or a name that no two rows share."""
    words = [a.text for a in clause.atoms]
    distinct = {
        w
        for i, c in enumerate(evidence.columns)
        if len({row[i] for row in evidence.rows}) == len(evidence.rows)
        for w in called(c)
    }
    known = nouns(evidence) | called(evidence.columns[column]) | distinct | TOTAL | {"of", "number", "amount"}
    for at, word in enumerate(words[:-1]):
        if word in LARGEST | SMALLEST and words[at + 1] in COUNTABLE - known:
            raise Refused(Code.DERIVED_NOT_WHITELISTED)


def _range(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    rows = said_rows(clause, place, evidence)
    if not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    ends = claimed(clause, evidence)
    if len(ends) != 2 or ends[0].kind is not ends[1].kind:
        raise Refused(Code.UNPARSED_OPERATOR)
    if ends[0].kind not in (Kind.MONEY, Kind.PERCENT, Kind.NUMBER):
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    found = values(rows, measure(clause, evidence, ends[0].kind))
    if not found or not (holds(min(found), ends[0], "") and holds(max(found), ends[1], "")):
        raise Refused(Code.AGGREGATE_MISMATCH)
    return clause.said & _RANGES


def _negation(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """Only two: `no <rows>` of complete empty evidence, and `none of the N other than` all distinct values."""
    said = clause.said
    if not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    if "no" in said and not evidence.rows and said & nouns(evidence) and not claimed(clause, evidence):
        return frozenset({"no"})
    if "none" in said and _OTHER_THAN.search(clause.rest.lower()) and _lists_all(clause, place, evidence):
        return frozenset({"none", "other", "than"})
    raise Refused(Code.NEGATION_UNVERIFIABLE)


def _lists_all(clause: Clause, place: int, evidence: Evidence) -> bool:
    """Whether the names are all the distinct values of one column, and the number that of the rows."""
    addresses = [a for mask in clause.masks for a in mask.at(place) if a.column >= 0]
    columns = {address.column for address in addresses}
    counts = [q for q in clause.quantities if q.kind is Kind.NUMBER]
    if len(columns) != 1 or len(counts) != 1 or counts[0].value != len(evidence.rows):
        return False
    column = next(iter(columns))
    return {str(row[column]) for row in evidence.rows} == {address.value for address in addresses}
