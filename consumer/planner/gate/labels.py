"""Which column a name is given as: `the parent of A is B` says that B is a parent, and of A.

A row that holds both names bears such a sentence out only where the name stands under the label that the sentence
gives it. So a label that leads to a name leaves the name the addresses of its own column, in each evidence.
"""

import re
from collections.abc import Mapping, Sequence

from consumer.planner.evidence import Evidence
from consumer.planner.gate.columns import nouns, phrases
from consumer.planner.gate.masks import NAMED, SCOPE, Address, Mask, called, strings, words_in
from consumer.planner.gate.text import Atom, atoms, stem
from registry.intent import ColumnType

_IS = frozenset("is are was were".split())
_ARTICLES = frozenset("the a an its their this that our".split())
_PREPOSITIONS = frozenset("of on for to under with at in by from".split())
_BETWEEN = re.compile(r"[\s.,]*(?:and\s+|&\s*)?")
_LIST = frozenset({"and"})

Token = Atom | Mask


def plain_values(
    masks: Sequence[Mask], rest: str, plain: Mapping[str, Sequence[Address]], evidence: Sequence[Evidence]
) -> list[Mask]:
    """The words of prose that a label makes a value: `the kind is contract`."""
    words = [word for word in atoms(rest) if word.text in plain] if plain else []
    if not words:
        return []
    tokens: list[Token] = sorted((*atoms(rest), *masks), key=lambda token: token.start)
    return [
        Mask(word.start, word.end, tuple(plain[word.text]))
        for word in words
        if any(_leads(tokens, tokens.index(word), item) for item in evidence)
    ]


def labelled(masks: Sequence[Mask], rest: str, evidence: Sequence[Evidence]) -> tuple[Mask, ...]:
    """The names with the addresses that their labels leave them. A name without a label is a row's key where it can
    be one, so that `A has parent B` is about A and not about a firm whose parent is A."""
    tokens: list[Token] = sorted((*atoms(rest), *masks), key=lambda token: token.start)
    found: list[Mask] = []
    meant: dict[int, frozenset[int]] = {}
    for at, token in enumerate(tokens):
        if not isinstance(token, Mask):
            continue
        if not (_lists(tokens, at, rest) and any(a.column in meant.get(a.evidence, ()) for a in token.addresses)):
            meant = {place: label for place, item in enumerate(evidence) if (label := _label(tokens, at, item))}
        kept: list[Address] = []
        for place in {a.evidence for a in token.addresses}:
            here = token.at(place)
            columns = meant.get(place) or _keys(here, evidence[place])
            kept += [a for a in here if not columns or _fits(a, columns, evidence[place], place in meant)]
        found.append(token._replace(addresses=tuple(kept)))
    return tuple(found)


def _fits(address: Address, columns: frozenset[int], evidence: Evidence, labelled: bool) -> bool:
    """Whether the value may stand under the columns' label; what was asked for is a value of the same kind of thing."""
    if address.column != SCOPE:
        return address.column in columns
    names = [name for name, held in evidence.scope.items() if address.value in strings(held)]
    called_so = {word for i in columns for word in called(evidence.columns[i])}
    return not labelled or any(words_in((name.replace("_", " "),)) <= called_so for name in names)


def _keys(addresses: Sequence[Address], evidence: Evidence) -> frozenset[int]:
    return frozenset(a.column for a in addresses if a.column != SCOPE and evidence.columns[a.column].key)


def _lists(tokens: Sequence[Token], at: int, rest: str) -> bool:
    """Whether the name only goes on with the list of the one before it."""
    before = at - 1
    if before >= 0 and isinstance(word := tokens[before], Atom) and word.text in _LIST:
        before -= 1
    if before < 0 or not isinstance(last := tokens[before], Mask):
        return False
    return _BETWEEN.fullmatch(rest, last.end, tokens[at].start) is not None


def _label(tokens: Sequence[Token], at: int, evidence: Evidence) -> frozenset[int]:
    """The columns that words call: those that lead to the name, or those behind its own `is`."""
    if columns := _leads(tokens, at, evidence):
        return columns
    if at + 1 < len(tokens) and _word(tokens, at + 1, _IS):
        start = at + 2
        while start < len(tokens) and _word(tokens, start, _ARTICLES):
            start += 1
        return next(
            (c for end in range(start + 4, start, -1) if (c := _whole(tokens, start, end, evidence))), frozenset()
        )
    return frozenset()


def _leads(tokens: Sequence[Token], at: int, evidence: Evidence) -> frozenset[int]:
    """The columns called right before the name, or before an `is` that leads to it. What a row is called leads to its
    number too: `requirement R-03`."""
    end = _skip(tokens, at, _ARTICLES)
    columns, _ = _called(tokens, end, evidence)
    if columns and _word(tokens, end - 1, nouns(evidence)):
        keys = any(column.key for column in evidence.columns)
        ids = {i for i, c in enumerate(evidence.columns) if c.type is ColumnType.ID and (c.key or not keys)}
        return columns | ids
    if not columns and end and _word(tokens, end - 1, _IS):
        return _said_to_be(tokens, end - 1, evidence)
    return columns


def _whole(tokens: Sequence[Token], start: int, end: int, evidence: Evidence) -> frozenset[int]:
    """The columns that all words from start to end together call."""
    columns, size = _called(tokens, min(end, len(tokens)), evidence)
    return columns if size == min(end, len(tokens)) - start else frozenset()


def _said_to_be(tokens: Sequence[Token], end: int, evidence: Evidence) -> frozenset[int]:
    """The columns called before `is`: `the incumbent of the award A is B` says that B is the incumbent."""
    while end > 0:
        while end > 0 and isinstance(tokens[end - 1], Mask):
            end -= 1
        end = _skip(tokens, end, _ARTICLES)
        columns, size = _called(tokens, end, evidence)
        start = _skip(tokens, end - size, _ARTICLES)
        if not (start > 0 and _word(tokens, start - 1, _PREPOSITIONS)):
            return columns
        end = start - 1
    return frozenset()


def _called(tokens: Sequence[Token], end: int, evidence: Evidence) -> tuple[frozenset[int], int]:
    """The columns of names whose longest phrase ends there, and its length."""
    words = [stem(token.text) if isinstance(token, Atom) else "" for token in tokens[max(0, end - 6) : end]]
    best: dict[int, int] = {}
    for place, column in enumerate(evidence.columns):
        if column.type in NAMED:
            sizes = [len(p) for p in phrases(column) if len(p) <= len(words) and tuple(words[-len(p) :]) == p]
            if sizes:
                best[place] = max(sizes)
    longest = max(best.values(), default=0)
    return frozenset(place for place, size in best.items() if size == longest), longest


def _skip(tokens: Sequence[Token], end: int, words: frozenset[str]) -> int:
    while end > 0 and _word(tokens, end - 1, words):
        end -= 1
    return end


def _word(tokens: Sequence[Token], at: int, words: frozenset[str]) -> bool:
    token = tokens[at]
    return isinstance(token, Atom) and token.text in words
