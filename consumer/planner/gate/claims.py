"""One clause against the evidence: what kind of claim it makes, and whether the rows bear it out.

Each reader takes a clause it recognises and either returns the words it has understood, supported, or raises `Refused`.
What is computed is a closed list (count, a of b, sum, largest and smallest, range, comparison), recomputed exactly and
only over complete evidence; everything else that is derived is refused even when it is right.
"""

import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from itertools import pairwise

from consumer.planner.evidence import SUPPRESSED, Evidence, Row
from consumer.planner.gate.clause import Clause, members
from consumer.planner.gate.columns import TYPES, columns_for, nouns, phrases
from consumer.planner.gate.masks import SCOPE, called, words_in
from consumer.planner.gate.quantities import Kind, Quantity, comparator
from consumer.planner.gate.roles import check_roles
from consumer.planner.gate.rows import hides, holds, is_window, number, rows_with, values
from consumer.planner.gate.text import atoms
from consumer.planner.gate.verdict import Code, Refused
from consumer.planner.gate.vocabulary import COUNTABLE, DERIVED, GREATER, LARGEST, LESS, NEGATIONS, SMALLEST, TOTAL
from registry.intent import ColumnType

_OTHER_THAN = re.compile(r"\bother than\b")
_FACTORS = {"twice": 2, "double": 2, "thrice": 3}
_RANGES = frozenset({"range", "ranges", "ranged"})
MEASURES = frozenset({ColumnType.MONEY, ColumnType.COUNT, ColumnType.PERCENT})

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
        each = list(members(clause)) if refused.code is Code.ROW_MISMATCH and reader is _plain else []
        if not each or any(_counts_rows(clause, q, evidence) for q in clause.quantities):
            raise
        for member in each:
            _plain(member, place, evidence)
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
    if _compared(clause) is not None or "outnumber" in said:
        return _comparison
    if said & _RANGES:
        return _range
    if said & (LARGEST | SMALLEST) and not re.search(r"\bat least\b", clause.rest.lower()):
        return _superlative
    if _a_of_b(clause) is not None:
        return _share_of_rows
    if said & DERIVED or any(q.kind is Kind.POINTS for q in clause.quantities):
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    return _total if said & TOTAL else _plain


def _plain(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """Every quantity is a cell of one row that holds every name of the clause, or the number of such rows."""
    rows = _said_rows(clause, place, evidence)
    if not rows and evidence.rows:
        raise Refused(Code.ROW_MISMATCH)
    told = _told(clause, evidence)
    counts = [q for q in told if _counts_rows(clause, q, evidence)]
    facts = [q for q in told if q not in counts]
    if not rows and (facts or not counts):
        raise Refused(Code.VALUE_MISMATCH if facts else Code.ROW_MISMATCH)
    if not clause.masks and not told:
        raise Refused(Code.UNANCHORED)
    matching = _matching(clause, facts, rows, evidence)
    for quantity in counts:
        if not evidence.complete:
            raise Refused(Code.INCOMPLETE_EVIDENCE)
        if quantity.value != len(matching) or comparator(clause.rest, quantity)[0]:
            raise Refused(Code.COUNT_MISMATCH)
    if facts and not counts and not _anchored(clause, place) and len(matching) != len(rows):
        raise Refused(Code.UNANCHORED)
    return frozenset()


def _told(clause: Clause, evidence: Evidence) -> list[Quantity]:
    """The quantities that are claims: all but the window that was asked for."""
    return [q for q in clause.quantities if not is_window(clause, q, evidence)]


def _anchored(clause: Clause, place: int) -> bool:
    """Whether a name of a row, and not only of the question, stands in the clause."""
    return any(a.column != SCOPE for mask in clause.masks for a in mask.at(place))


def _matching(clause: Clause, facts: Sequence[Quantity], rows: Sequence[Row], evidence: Evidence) -> list[Row]:
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


def _counts_rows(clause: Clause, quantity: Quantity, evidence: Evidence) -> bool:
    """Whether the number counts rows, as in `four awards`, and nothing that a column counts."""
    if quantity.kind is not Kind.NUMBER:
        return False
    after = [a.text for a in atoms(clause.rest[quantity.end :])][:3]
    named = nouns(evidence)
    place = next((i for i, word in enumerate(after[:2]) if word in named), None)
    if place is None or set(after[place + 1 :][:1]) & (COUNTABLE - named):
        return False
    return not columns_for(clause, quantity, evidence)


def _said_rows(clause: Clause, place: int, evidence: Evidence) -> list[Row]:
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
    if len(_told(clause, evidence)) > 2 or not any(_counts_rows(clause, q, evidence) for q in pair):
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    if len(rows) != len(evidence.rows) and not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    total = len(evidence.rows) if evidence.complete else evidence.total_rows
    if whole.value not in (total, evidence.total_rows) or some.value != len(rows):
        raise Refused(Code.COUNT_MISMATCH)
    return frozenset()


def _measure(clause: Clause, evidence: Evidence, kind: Kind | None = None) -> int:
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


def _total(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """A sum over complete rows of an additive column; a cell where its column is called total, or the row is alone."""
    try:
        return _sum(clause, place, evidence)
    except Refused as refused:
        alone = clause.masks and len(_said_rows(clause, place, evidence)) == 1
        if refused.code is Code.SUPPRESSED_CELL or not (alone or _called_total(clause, evidence)):
            raise
    return _plain(clause, place, evidence) | (TOTAL & clause.said)


def _called_total(clause: Clause, evidence: Evidence) -> bool:
    """Whether the column itself is called total, as `total obligations` is of a row."""
    return bool(clause.masks) and bool(TOTAL & clause.said & called(evidence.columns[_measure(clause, evidence)]))


def _sum(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    rows = _said_rows(clause, place, evidence)
    if not rows and evidence.rows:
        raise Refused(Code.ROW_MISMATCH)
    if not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    measured = False
    for quantity in _told(clause, evidence):
        if _counts_rows(clause, quantity, evidence):
            if quantity.value != len(rows):
                raise Refused(Code.COUNT_MISMATCH)
            continue
        if quantity.kind not in (Kind.MONEY, Kind.PERCENT, Kind.NUMBER):
            raise Refused(Code.UNPARSED_OPERATOR)
        column = _measure(clause, evidence, quantity.kind)
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
    column = _measure(clause, evidence)
    _check_superlative_noun(clause, column, evidence)
    ordered = evidence.order_by == (evidence.columns[column].name, "desc" if largest else "asc")
    if not evidence.complete and not ordered:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    found = values(evidence.rows, column)
    extreme = max(found) if largest else min(found)
    rows = [r for r in _said_rows(clause, place, evidence) if number(r[column]) == extreme]
    if not rows:
        raise Refused(Code.AGGREGATE_MISMATCH)
    told = _told(clause, evidence)
    if not told and not _anchored(clause, place):
        raise Refused(Code.UNANCHORED)
    _matching(clause, told, rows, evidence)
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
    rows = _said_rows(clause, place, evidence)
    if not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    ends = _told(clause, evidence)
    if len(ends) != 2 or ends[0].kind is not ends[1].kind:
        raise Refused(Code.UNPARSED_OPERATOR)
    if ends[0].kind not in (Kind.MONEY, Kind.PERCENT, Kind.NUMBER):
        raise Refused(Code.DERIVED_NOT_WHITELISTED)
    found = values(rows, _measure(clause, evidence, ends[0].kind))
    if not found or not (holds(min(found), ends[0], "") and holds(max(found), ends[1], "")):
        raise Refused(Code.AGGREGATE_MISMATCH)
    return clause.said & _RANGES


def _compared(clause: Clause) -> int | None:
    """Where `than` stands in a comparison of two things; None where it belongs to a comparator before a number."""
    match = re.search(r"\bthan\b", clause.rest, re.IGNORECASE)
    if match is None or "than" not in clause.said:
        return None
    after = clause.rest[match.end() :]
    follows = re.match(r"\s*(?:a\s+)?(?:twice|thrice|double|\w+\s+times)\b", after, re.IGNORECASE)
    number_next = any(q.start - match.end() <= 3 for q in clause.quantities if q.start >= match.end())
    return match.start() if follows or not number_next else None


def _comparison(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """Two rows by one column: larger or smaller than, or so many times."""
    at = _compared(clause)
    if at is None:
        raise Refused(Code.SUPPRESSED_CELL if _touches_withheld(clause, place, evidence) else Code.COMPARISON_FALSE)
    if not any(m.start > at for m in clause.own) or not any(m.start < at for m in clause.masks):
        raise Refused(Code.UNPARSED_OPERATOR)
    factor, factor_word, beyond = _factor(clause, at)
    left, right = clause.part(0, at), clause.part(beyond, len(clause.rest)).of(())
    column = _measure(clause, evidence)
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
    rows = _matching(part, part.quantities, rows_with(place, evidence, part.masks) or [], evidence)
    if len({number(row[column]) for row in rows}) != 1 or not values(rows, column):
        raise Refused(Code.ROW_MISMATCH)
    return rows[0]


def _negation(clause: Clause, place: int, evidence: Evidence) -> frozenset[str]:
    """Only two: `no <rows>` of complete empty evidence, and `none of the N other than` all distinct values."""
    said = clause.said
    if not evidence.complete:
        raise Refused(Code.INCOMPLETE_EVIDENCE)
    if "no" in said and not evidence.rows and said & nouns(evidence) and not _told(clause, evidence):
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
