"""Two rows compared by one column: larger or smaller than, or so many times."""

import re
from decimal import Decimal

from consumer.planner.evidence import SUPPRESSED, Evidence, Row
from consumer.planner.gate.clause import Clause
from consumer.planner.gate.facts import measure, rows_holding
from consumer.planner.gate.rows import number, rows_with, values
from consumer.planner.gate.verdict import Code, Refused
from consumer.planner.gate.vocabulary import GREATER, LESS

_FACTORS = {"twice": 2, "double": 2, "thrice": 3}


def compared(clause: Clause) -> int | None:
    """Where `than` stands in a comparison of two things; None where it belongs to a comparator before a number."""
    match = re.search(r"\bthan\b", clause.rest, re.IGNORECASE)
    if match is None or "than" not in clause.said:
        return None
    after = clause.rest[match.end() :]
    follows = re.match(r"\s*(?:a\s+)?(?:twice|thrice|double|\w+\s+times)\b", after, re.IGNORECASE)
    number_next = any(q.start - match.end() <= 3 for q in clause.quantities if q.start >= match.end())
    return match.start() if follows or not number_next else None


def comparison(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """Two rows by one column: larger or smaller than, or so many times."""
    at = compared(clause)
    if at is None:
        raise Refused(Code.SUPPRESSED_CELL if _touches_withheld(clause, place, evidence) else Code.COMPARISON_FALSE)
    if not any(m.start > at for m in clause.own) or not any(m.start < at for m in clause.masks):
        raise Refused(Code.UNPARSED_OPERATOR)
    factor, factor_word, beyond = _factor(clause, at)
    left, right = clause.part(0, at), clause.part(beyond, len(clause.rest)).of(())
    column = measure(clause, evidence)
    one, other = (_single(part, place, evidence, column) for part in (left, right))
    first, second = number(one[column]), number(other[column])
    assert first is not None and second is not None
    words = frozenset(a.text for a in left.atoms)
    greater, less = bool(words & GREATER), bool(words & LESS)
    if greater is less or not (first > factor * second if greater else first * factor < second):
        raise Refused(Code.COMPARISON_FALSE)
    return frozenset({"than", factor_word, "times"}) | (words & (GREATER | LESS))


def _touches_withheld(clause: Clause, place: int, evidence: Evidence) -> bool:
    rows = {row for mask in clause.masks for row in rows_with(place, evidence, [mask]) or []}
    return any(cell is SUPPRESSED for row in rows for cell in row)


def _factor(clause: Clause, at: int) -> tuple[Decimal, str, int]:
    """`twice`, `three times`: the factor, its word, and where the right side begins."""
    after = at + len("than")
    match = re.match(r"\s*(twice|thrice|double)\b", clause.rest[after:], re.IGNORECASE)
    if match:
        return Decimal(_FACTORS[match[1].lower()]), match[1].lower(), after + match.end()
    times = re.search(r"\btimes\b", clause.rest[after:], re.IGNORECASE)
    counted = [q for q in clause.quantities if after <= q.start and times and q.end <= after + times.start()]
    if times and counted:
        return counted[0].value, "times", after + times.end()
    return Decimal(1), "than", after


def _single(part: Clause, place: int, evidence: Evidence, column: int) -> Row:
    rows = rows_holding(part, part.quantities, rows_with(place, evidence, part.masks) or [], evidence)
    if len({number(row[column]) for row in rows}) != 1 or not values(rows, column):
        raise Refused(Code.ROW_MISMATCH)
    return rows[0]
