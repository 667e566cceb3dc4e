"""Who gives and who receives: a row that holds both names does not say that money went the other way."""

import re

from consumer.planner.evidence import Evidence
from consumer.planner.gate.clause import Clause
from consumer.planner.gate.masks import SCOPE, Mask, called
from consumer.planner.gate.text import Atom
from consumer.planner.gate.verdict import Code, Refused
from registry.intent import ColumnType

GIVERS = frozenset("agency office buyer department customer prime".split())
TAKERS = frozenset("vendor firm company contractor incumbent sub subcontractor holder".split())
RECEIVING = frozenset("received receives receive won wins got".split())
GIVING = frozenset("awarded obligated paid spent gave subawarded bought buys".split())
PASSIVE = frozenset("was were is are been be".split())
_IS = re.compile(r"\s*(?:is|was|are|were|as)\s+(?:an?\s+|the\s+)?$", re.IGNORECASE)


def check_roles(clause: Clause, place: int, evidence: Evidence) -> None:
    """Raises Refused where a name stands in a part that its column doesn't play."""
    words = clause.atoms
    contracts = [m.start for m in clause.masks if any(_is_id(a.column, evidence) for a in m.at(place))]
    for at, word in enumerate(words):
        if any(start < word.start for start in contracts):
            continue  # a contract obligates, to whomever
        if word.text in RECEIVING:
            _not(_before(clause, word), GIVERS, place, evidence)
            _not(_after(clause, word, "from"), TAKERS, place, evidence)
        elif word.text in GIVING:
            passive = at > 0 and words[at - 1].text in PASSIVE
            _not(_before(clause, word), GIVERS if passive else TAKERS, place, evidence)
            if not passive:
                _not(_after(clause, word, "to"), GIVERS, place, evidence)
        if word.text in GIVERS | TAKERS:
            _apposed(clause, word, place, evidence)


def _is_id(column: int, evidence: Evidence) -> bool:
    return column != SCOPE and evidence.columns[column].type is ColumnType.ID


def _apposed(clause: Clause, word: Atom, place: int, evidence: Evidence) -> None:
    """`vendor X`, `X is a vendor`: the name must be one of a column that is called so."""
    columns = {i for i, c in enumerate(evidence.columns) if c.type is ColumnType.ENTITY and word.text in called(c)}
    if not columns:
        return
    near = [m for m in clause.masks if m.start > word.end and not clause.rest[word.end : m.start].strip()]
    lead = clause.rest[: word.start]
    if match := _IS.search(lead):
        near += [m for m in clause.masks if m.end <= match.start() + 1 and not lead[m.end : match.start()].strip()][-1:]
    for mask in near:
        here = mask.at(place)
        named = {a.column for a in here if evidence.columns[a.column].type is ColumnType.ENTITY and a.column != SCOPE}
        if named and not named & columns:
            raise Refused(Code.ROW_MISMATCH)


def _not(mask: Mask | None, wrong: frozenset[str], place: int, evidence: Evidence) -> None:
    if mask is None:
        return
    roles = [_role(a.column, a.value, evidence) for a in mask.at(place)]
    if roles and all(role == wrong for role in roles):
        raise Refused(Code.ROW_MISMATCH)


def _role(column: int, value: str, evidence: Evidence) -> frozenset[str]:
    if column == SCOPE:
        words = frozenset(name for name, held in evidence.scope.items() if held == value)
    elif evidence.columns[column].type is ColumnType.ENTITY:
        words = called(evidence.columns[column])
    else:
        return frozenset()
    return GIVERS if words & GIVERS else TAKERS if words & TAKERS else frozenset()


def _before(clause: Clause, word: Atom) -> Mask | None:
    """The nearest name before the word; in a relative clause that is what it speaks of."""
    return max((m for m in clause.masks if m.end <= word.start), key=lambda m: m.end, default=None)


def _after(clause: Clause, word: Atom, preposition: str) -> Mask | None:
    """The name right behind the preposition that follows the word."""
    for atom in clause.atoms:
        if atom.start > word.start and atom.text == preposition:
            follows = [m for m in clause.masks if m.start >= atom.end]
            return min(follows, key=lambda m: m.start, default=None)
    return None
