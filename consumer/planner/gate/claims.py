"""One clause against the evidence: what kind of claim it makes, and whether the rows bear it out.

Each reader takes a clause it recognises and either returns, supported, or raises `Refused`. What is computed is a
closed list (count, a of b, sum, largest and smallest, range, comparison), recomputed exactly and only over complete
evidence; everything else that is derived is refused even when it is right.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise

from msgspec import Struct

from consumer.planner.evidence import Evidence, Row
from consumer.planner.gate.masks import Mask
from consumer.planner.gate.quantities import Kind, Quantity, comparator
from consumer.planner.gate.rows import calls, columns_for, holds, is_window, nouns, number, rows_with, values
from consumer.planner.gate.text import atoms
from consumer.planner.gate.verdict import Code, Refused
from consumer.planner.gate.vocabulary import DERIVED, GREATER, LARGEST, LESS, NEGATIONS, SMALLEST, TOTAL
from registry.intent import ColumnType

_OTHER_THAN = re.compile(r"\bother than\b")
_FACTORS = {"twice": 2, "double": 2, "thrice": 3}


class Clause(Struct, frozen=True):
    """A part of a sentence that makes one claim. `rest` is its text with the masks blanked out, same offsets."""

    text: str
    rest: str
    masks: tuple[Mask, ...]
    quantities: tuple[Quantity, ...]

    @property
    def words(self) -> frozenset[str]:
        return frozenset(a.text for a in atoms(self.rest))

    def part(self, start: int, end: int) -> "Clause":
        return Clause(
            self.text[start:end].ljust(end - start),
            " " * start + self.rest[start:end],
            tuple(m for m in self.masks if start <= m.start < end),
            tuple(q for q in self.quantities if start <= q.start < end),
        )


MEASURES = frozenset({ColumnType.MONEY, ColumnType.COUNT, ColumnType.PERCENT})

Read = tuple[int, frozenset[str]]
"""The evidence that bears a clause out, and the words of the clause that its reader has understood."""


def read(clause: Clause, evidence: Sequence[Evidence]) -> Read:
    """The evidence that supports the clause. Raises Refused with the nearest reason that none does."""
    if any(quantity.kind is Kind.MONEY and quantity.unit != "USD" for quantity in clause.quantities):
        raise Refused(Code.UNIT_MISMATCH)
    reader = _reader(clause)
    codes: list[Code] = []
    for place in _candidates(clause, evidence):
        try:
            return place, reader(clause, place, evidence[place])
        except Refused as refused:
            codes.append(refused.code)
    if not codes:
        raise Refused(Code.ROW_MISMATCH if clause.masks else Code.UNANCHORED)
    raise Refused(Code.SUPPRESSED_CELL if Code.SUPPRESSED_CELL in codes else codes[0])


def _candidates(clause: Clause, evidence: Sequence[Evidence]) -> list[int]:
    """Evidence that has every name of the clause; without names, that the clause's words speak of."""
    if clause.masks:
        return [i for i, e in enumerate(evidence) if rows_with(i, e, clause.masks) is not None]
    words = clause.words
    return [
        i
        for i, e in enumerate(evidence)
        if words & nouns(e) or any(words & calls(c) for c in e.columns if c.type is not ColumnType.BOOL)
    ]


def _reader(clause: Clause) -> Callable[[Clause, int, Evidence], frozenset[str]]:
    words, rest = clause.words, clause.rest.lower()
    if words & NEGATIONS:
        return _negation
    if _compared(clause) is not None or "outnumber" in rest:
        return _comparison
    if "range" in words or "ranges" in words or "ranged" in words:
        return _range
    if words & (LARGEST | SMALLEST) and not re.search(r"\bat least\b", rest):
        return _superlative
    if _a_of_b(clause) is not None:
        return _share_of_rows
    if words & DERIVED or any(q.kind is Kind.POINTS for q in clause.quantities):
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    if words & TOTAL:
        return _total
    return _plain


def _plain(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """Every quantity is a cell of one row that holds every name of the clause, or the number of those rows."""
    rows = _said_rows(clause, place, evidence)
    if not rows and evidence.rows:
        raise Refused(Code.ROW_MISMATCH)
    if not clause.quantities:
        if not clause.masks:
            raise Refused(Code.UNANCHORED)
        if not rows:
            raise Refused(Code.ROW_MISMATCH)
        return frozenset()
    if (
        not clause.masks
        and len(rows) > 1
        and not all(_counts_or_window(clause, q, evidence) for q in clause.quantities)
    ):
        raise Refused(Code.UNANCHORED)
    refusal = Refused(Code.ROW_MISMATCH)
    for row in rows:
        try:
            for quantity in clause.quantities:
                _in_row(clause, quantity, row, evidence, rows)
            return frozenset()
        except Refused as refused:
            if refused.code is Code.SUPPRESSED_CELL:
                raise
            refusal = refused
    if not evidence.rows:
        for quantity in clause.quantities:
            if not is_window(evidence, quantity):
                raise Refused(Code.COUNT_MISMATCH)
    raise refusal


def _in_row(clause: Clause, quantity: Quantity, row: Row, evidence: Evidence, rows: Sequence[Row]) -> None:
    if is_window(evidence, quantity):
        return
    how, _ = comparator(clause.rest, quantity)
    columns = columns_for(evidence, quantity, clause.words)
    if any(holds(row[column], quantity, how) for column in columns):
        return
    if quantity.kind is Kind.NUMBER and not how and _names_rows(clause, quantity, evidence):
        if not evidence.complete:
            raise Refused(Code.INCOMPLETE_EVIDENCE)
        if quantity.value == len(rows):
            return
        raise Refused(Code.COUNT_MISMATCH)
    if not columns:
        raise Refused(
            Code.DERIVED_NOT_WHITELISTED if quantity.kind in (Kind.ORDINAL, Kind.DURATION) else Code.TYPE_MISMATCH
        )
    raise Refused(Code.VALUE_MISMATCH)


def _counts_or_window(clause: Clause, quantity: Quantity, evidence: Evidence) -> bool:
    return is_window(evidence, quantity) or _names_rows(clause, quantity, evidence)


def _names_rows(clause: Clause, quantity: Quantity, evidence: Evidence) -> bool:
    """Whether the number counts rows: `four awards`."""
    after = [a.text for a in atoms(clause.rest[quantity.end :])][:2]
    return bool(nouns(evidence) & set(after))


def _said_rows(clause: Clause, place: int, evidence: Evidence) -> list[Row]:
    """Rows that hold the clause's names, and for which its yes or no words are true."""
    rows = rows_with(place, evidence, clause.masks) or []
    words = clause.words
    for column, declared in enumerate(evidence.columns):
        if declared.type is not ColumnType.BOOL or len(declared.words) < 2:
            continue
        said = {index == 0 for index, word in enumerate(declared.words[:2]) if set(word.lower().split()) <= words}
        if len(said) == 1:
            held = [row for row in rows if row[column] is next(iter(said))]
            if rows and not held and not _a_of_b(clause):
                raise Refused(Code.VALUE_MISMATCH)
            rows = held
    return rows


def _a_of_b(clause: Clause) -> tuple[Quantity, Quantity] | None:
    """`two of the four`."""
    numbers = [q for q in clause.quantities if q.kind is Kind.NUMBER]
    for one, other in pairwise(numbers):
        if re.fullmatch(r"\s*of\s+(?:the\s+)?", clause.rest[one.end : other.start], re.IGNORECASE):
            return one, other
    return None


def _share_of_rows(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    pair = _a_of_b(clause)
    assert pair is not None
    some, whole = pair
    rows = _said_rows(clause, place, evidence)
    narrowed = len(rows) != len(evidence.rows)
    if len(clause.quantities) > 2 or not (_names_rows(clause, whole, evidence) or _names_rows(clause, some, evidence)):
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    if narrowed and not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    total = len(evidence.rows) if evidence.complete else evidence.total_rows
    if whole.value not in (total, evidence.total_rows) or some.value != len(rows):
        raise Refused(Code.COUNT_MISMATCH)
    return frozenset()


def _measure(clause: Clause, evidence: Evidence) -> int:
    """The column that a sum, extreme or comparison is about: the one its words call, else the money."""
    usable = [
        i for i, c in enumerate(evidence.columns) if c.type in (ColumnType.MONEY, ColumnType.COUNT, ColumnType.PERCENT)
    ]
    words = clause.words - nouns(evidence)
    named = [i for i in usable if calls(evidence.columns[i]) & words]
    money = [i for i in usable if evidence.columns[i].type is ColumnType.MONEY]
    sensitive = [i for i in usable if evidence.columns[i].sensitive]
    chosen = named or money[:1] or sensitive[:1]
    if not chosen:
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    return chosen[0]


def _total(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """A sum over complete rows of an additive column; the number of rows beside it must be theirs."""
    try:
        return (
            _plain(clause, place, evidence) | (TOTAL & clause.words) if clause.masks else _sum(clause, place, evidence)
        )
    except Refused as refused:
        if refused.code is Code.SUPPRESSED_CELL:
            raise
        return _sum(clause, place, evidence)


def _sum(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    rows = _said_rows(clause, place, evidence)
    column = _measure(clause, evidence)
    if not evidence.columns[column].additive:
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    if not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    total = sum(values(rows, column), Decimal(0))
    measured = False
    for quantity in clause.quantities:
        if is_window(evidence, quantity):
            continue
        if quantity.kind is Kind.NUMBER and _names_rows(clause, quantity, evidence):
            if quantity.value != len(rows):
                raise Refused(Code.COUNT_MISMATCH)
            continue
        if not holds(total, quantity, comparator(clause.rest, quantity)[0]):
            raise Refused(Code.AGGREGATE_MISMATCH)
        measured = True
    if not measured:
        raise Refused(Code.UNPARSED_OPERATOR)
    return TOTAL & clause.words


def _superlative(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """The largest or smallest row, over complete evidence or at the matching end of its order."""
    words = clause.words
    if any(q.kind is Kind.ORDINAL for q in clause.quantities) or words & DERIVED:
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    largest = bool(words & LARGEST)
    column = _measure(clause, evidence)
    ordered = evidence.order_by == (evidence.columns[column].name, "desc" if largest else "asc")
    if not evidence.complete and not ordered:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    found = values(evidence.rows, column)
    extreme = max(found) if largest else min(found)
    rows = [r for r in _said_rows(clause, place, evidence) if number(r[column]) == extreme]
    if not rows:
        raise Refused(Code.AGGREGATE_MISMATCH)
    for quantity in clause.quantities:
        _in_row(clause, quantity, rows[0], evidence, rows)
    return words & (LARGEST | SMALLEST)


def _range(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    rows = _said_rows(clause, place, evidence)
    if not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    ends = [q for q in clause.quantities if not is_window(evidence, q)]
    if len(ends) != 2 or ends[0].kind is not ends[1].kind:
        raise Refused(Code.UNPARSED_OPERATOR)
    found = values(rows, _measure(clause, evidence))
    if not found or not (holds(min(found), ends[0], "") and holds(max(found), ends[1], "")):
        raise Refused(Code.AGGREGATE_MISMATCH)
    return clause.words & {"range", "ranges", "ranged"}


def _compared(clause: Clause) -> int | None:
    """Where `than` stands in a comparison of two things; None where it belongs to a comparator before a number."""
    match = re.search(r"\bthan\b", clause.rest, re.IGNORECASE)
    if match is None:
        return None
    after = clause.rest[match.end() :]
    follows = re.match(r"\s*(?:a\s+)?(?:twice|thrice|double|\w+\s+times)\b", after, re.IGNORECASE)
    number_next = any(q.start - match.end() <= 3 for q in clause.quantities if q.start >= match.end())
    return match.start() if follows or not number_next else None


def _comparison(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """Two rows by one column: larger or smaller than, or so many times."""
    at = _compared(clause)
    if at is None:
        raise Refused(Code.COMPARISON_FALSE)
    if not any(m.start > at for m in clause.masks) or not any(m.start < at for m in clause.masks):
        raise Refused(Code.UNPARSED_OPERATOR)
    factor, factor_word, beyond = _factor(clause, at)
    left, right = clause.part(0, at), clause.part(beyond, len(clause.text))
    column = _measure(clause, evidence)
    one, other = (_single(part, place, evidence, column) for part in (left, right))
    for part, row in ((left, one), (right, other)):
        for quantity in part.quantities:
            _in_row(clause, quantity, row, evidence, [row])
    first, second = number(one[column]), number(other[column])
    assert first is not None and second is not None
    words = {a.text for a in atoms(left.rest)}
    true = first > factor * second if words & GREATER else first < factor * second if words & LESS else False
    if not true:
        raise Refused(Code.COMPARISON_FALSE)
    return frozenset({"than", factor_word, "times"}) | (words & (GREATER | LESS))


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
    rows = rows_with(place, evidence, part.masks) or []
    fitting = [
        r
        for r in rows
        if all(any(holds(r[c], q, "") for c in columns_for(evidence, q, part.words)) for q in part.quantities)
    ]
    if len({number(r[column]) for r in fitting}) != 1 or not values(fitting, column):
        raise Refused(Code.ROW_MISMATCH)
    return fitting[0]


def _negation(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """Only two: `no <rows>` of complete empty evidence, and `none of the N other than` all distinct values."""
    words = clause.words
    if not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    only_window = all(is_window(evidence, quantity) for quantity in clause.quantities)
    if "no" in words and not evidence.rows and words & nouns(evidence) and only_window:
        return frozenset({"no"})
    if "none" in words and _OTHER_THAN.search(clause.rest.lower()) and _lists_all(clause, place, evidence):
        return frozenset({"none", "other", "than"})
    raise Refused(Code.NEGATION_UNVERIFIABLE)


def _lists_all(clause: Clause, place: int, evidence: Evidence) -> bool:
    """Whether the names are all the distinct values of one column, and the number that of the rows."""
    addresses = [a for mask in clause.masks for a in mask.addresses if a.evidence == place and a.column >= 0]
    columns = {address.column for address in addresses}
    counts = [q for q in clause.quantities if q.kind is Kind.NUMBER]
    if len(columns) != 1 or len(counts) != 1 or counts[0].value != len(evidence.rows):
        return False
    column = next(iter(columns))
    return {str(row[column]) for row in evidence.rows} == {address.value for address in addresses}
