"""Claims about single rows: values that stand in one row with the names of the clause, and how many rows there are.

What every other reader builds on: which quantities are claims, which rows the clause speaks of, which column it means.
"""

import re
from collections.abc import Sequence
from itertools import pairwise

from consumer.planner.evidence import Evidence, Row
from consumer.planner.gate.clause import Clause
from consumer.planner.gate.columns import TYPES, columns_for, nouns, phrases
from consumer.planner.gate.masks import SCOPE
from consumer.planner.gate.quantities import Kind, Quantity, comparator
from consumer.planner.gate.rows import hides, holds, is_window, rows_with
from consumer.planner.gate.text import atoms
from consumer.planner.gate.verdict import Code, Refused
from consumer.planner.gate.vocabulary import COUNTABLE
from registry.intent import ColumnType

MEASURES = frozenset({ColumnType.MONEY, ColumnType.COUNT, ColumnType.PERCENT})


def plain(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """Every quantity is a cell of one row that holds every name of the clause, or the number of such rows."""
    rows = said_rows(clause, place, evidence)
    if not rows and evidence.rows:
        raise Refused(Code.ROW_MISMATCH)
    told = claimed(clause, evidence)
    counts = [q for q in told if counts_rows(clause, q, evidence)]
    facts = [q for q in told if q not in counts]
    if not rows and (facts or not counts):
        raise Refused(Code.VALUE_MISMATCH if facts else Code.ROW_MISMATCH)
    if not clause.masks and not told:
        raise Refused(Code.UNANCHORED)
    matching = rows_holding(clause, facts, rows, evidence)
    for quantity in counts:
        if not evidence.complete:
            raise Refused(Code.INCOMPLETE_EVIDENCE)
        if quantity.value != len(matching) or comparator(clause.rest, quantity)[0]:
            raise Refused(Code.COUNT_MISMATCH)
    if facts and not counts and not anchored(clause, place) and len(matching) != len(rows):
        raise Refused(Code.UNANCHORED)
    return frozenset()


def share_of_rows(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    pair = a_of_b(clause)
    assert pair is not None
    some, whole = pair
    rows = said_rows(clause, place, evidence)
    if len(claimed(clause, evidence)) > 2 or not any(counts_rows(clause, q, evidence) for q in pair):
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    if len(rows) != len(evidence.rows) and not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    total = len(evidence.rows) if evidence.complete else evidence.total_rows
    if whole.value not in (total, evidence.total_rows) or some.value != len(rows):
        raise Refused(Code.COUNT_MISMATCH)
    return frozenset()


def claimed(clause: Clause, evidence: Evidence) -> list[Quantity]:
    """The quantities that are claims: all but the window that was asked for."""
    return [q for q in clause.quantities if not is_window(clause, q, evidence)]


def anchored(clause: Clause, place: int) -> bool:
    """Whether a name of a row, and not only of the question, stands in the clause."""
    return any(a.column != SCOPE for mask in clause.masks for a in mask.at(place))


def rows_holding(clause: Clause, facts: Sequence[Quantity], rows: Sequence[Row], evidence: Evidence) -> list[Row]:
    """The rows that hold all the quantities, each in a column that the words around it call. Raises Refused if none."""
    matching = list(rows)
    for quantity in facts:
        columns = columns_for(clause, quantity, evidence)
        if not columns:
            derived = quantity.kind in (Kind.ORDINAL, Kind.DURATION)
            raise Refused(Code.DERIVED_NOT_WHITELISTED if derived else Code.TYPE_MISMATCH)
        if any(hides(rows, column, evidence) for column in columns):
            raise Refused(Code.SUPPRESSED_CELL)
        how, _ = comparator(clause.rest, quantity)
        held = [row for row in matching if any(holds(row[column], quantity, how) for column in columns)]
        if not held:
            raise Refused(Code.VALUE_MISMATCH)
        matching = held
    return matching


def counts_rows(clause: Clause, quantity: Quantity, evidence: Evidence) -> bool:
    """Whether the number counts rows, as in `four awards`, and nothing that a column counts."""
    if quantity.kind is not Kind.NUMBER:
        return False
    after = [a.text for a in atoms(clause.rest[quantity.end :])][:3]
    named = nouns(evidence)
    place = next((i for i, word in enumerate(after[:2]) if word in named), None)
    if place is None or set(after[place + 1 :][:1]) & (COUNTABLE - named):
        return False
    return not columns_for(clause, quantity, evidence)


def said_rows(clause: Clause, place: int, evidence: Evidence) -> list[Row]:
    """Rows that hold the clause's names, and for which its yes or no words are true."""
    rows = rows_with(place, evidence, clause.masks) or []
    for column, declared in enumerate(evidence.columns):
        if declared.type is not ColumnType.BOOL or len(declared.words) < 2:
            continue
        yes, no = (set(word.lower().split()) <= clause.words for word in declared.words[:2])
        said = {answer for answer, spoken in ((True, yes), (False, no)) if spoken}
        if len(said) == 2:
            raise Refused(Code.UNPARSED_OPERATOR)
        if said:
            held = [row for row in rows if row[column] is next(iter(said))]
            if rows and not held and not a_of_b(clause):
                raise Refused(Code.VALUE_MISMATCH)
            rows = held
    return rows


def a_of_b(clause: Clause) -> tuple[Quantity, Quantity] | None:
    """`two of the four`."""
    numbers = [q for q in clause.quantities if q.kind is Kind.NUMBER]
    for one, other in pairwise(numbers):
        if re.fullmatch(r"\s*of\s+(?:the\s+)?", clause.rest[one.end : other.start], re.IGNORECASE):
            return one, other
    return None


def measure(clause: Clause, evidence: Evidence, kind: Kind | None = None) -> int:
    """The column that a sum, extreme or comparison is about: the one its words call, else the money."""
    usable = [
        i for i, c in enumerate(evidence.columns) if c.type in MEASURES and (kind is None or c.type in TYPES[kind])
    ]
    words = clause.stems - nouns(evidence)
    size = {i: max((len(p) for p in phrases(evidence.columns[i]) if words.issuperset(p)), default=0) for i in usable}
    named = [i for i in usable if size[i] and size[i] == max(size.values())]
    money = [i for i in usable if evidence.columns[i].type is ColumnType.MONEY]
    sensitive = [i for i in usable if evidence.columns[i].sensitive]
    chosen = named or (money if len(money) == 1 else []) or (sensitive if len(sensitive) == 1 else [])
    if not chosen:
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    return chosen[0]
