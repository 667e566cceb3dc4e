"""A clause: the part of a sentence that makes one claim, and how a sentence falls into clauses.

A part that opens with a subject of its own, parallel to the one before, is a claim of its own; any other part goes on
about the subject before it, so that all its names must be found in that subject's row.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct

from consumer.planner.gate.masks import SCOPE, Mask
from consumer.planner.gate.quantities import Quantity
from consumer.planner.gate.text import Atom, atoms, blank, stem
from consumer.planner.gate.verdict import Code, Refused
from consumer.planner.gate.vocabulary import VERBS

_STRONG = re.compile(r";|(?<=\s)while(?=\s)", re.IGNORECASE)
_WEAK = re.compile(r",(?!\d)|(?<=\s)and(?=\s)", re.IGNORECASE)
_RESPECTIVELY = re.compile(r"\brespectively\b", re.IGNORECASE)
_LISTED = re.compile(r"\s*(?:,|,?\s*and|&)\s*(?:the\s+)?", re.IGNORECASE)


class Tag(NamedTuple):
    """A phrase that the Registry declares for a column of one evidence, such as `largest vendor`."""

    start: int
    end: int
    evidence: int
    column: int


class Clause(Struct, frozen=True, dict=True):
    """`rest` is the sentence with masks blanked out, and with all that lies outside this clause; same
    offsets. `subject` are the names that the clause before it was about, where this one has no subject of its own."""

    rest: str
    own: tuple[Mask, ...]
    quantities: tuple[Quantity, ...]
    tags: tuple[Tag, ...] = ()
    subject: tuple[Mask, ...] = ()

    @property
    def masks(self) -> tuple[Mask, ...]:
        """All names that the claim is about: the subject it goes on about, and its own."""
        return (*self.subject, *self.own) if self.subject else self.own

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        return atoms(self.rest)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(a.text for a in self.atoms)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(map(stem, self.words))

    @cached_property
    def said(self) -> frozenset[str]:
        """The words beside quantities and declared phrases: what is left to be read as an operator."""
        return frozenset(a.text for a in atoms(blank(self.rest, (*self.quantities, *self.tags))))

    def at(self, place: int) -> "Clause":
        """The clause as one evidence reads it: declared phrases of the others are plain words."""
        tags = tuple(tag for tag in self.tags if tag.evidence == place)
        return self if tags == self.tags else Clause(self.rest, self.own, self.quantities, tags, self.subject)

    def part(self, start: int, end: int) -> "Clause":
        return Clause(
            " " * start + self.rest[start:end],
            tuple(m for m in self.own if start <= m.start < end),
            tuple(q for q in self.quantities if start <= q.start < end),
            tuple(t for t in self.tags if start <= t.start < end),
            self.subject,
        )

    def about(self, masks: Sequence[Mask]) -> "Clause":
        """The same words about other names."""
        return Clause(self.rest, tuple(masks), self.quantities, self.tags)

    def of(self, subject: Sequence[Mask]) -> "Clause":
        """The same words, going on about the subject."""
        return Clause(self.rest, self.own, self.quantities, self.tags, tuple(dict.fromkeys(subject)))


def strong_parts(sentence: Clause) -> list[Clause]:
    """Parts at `;` and `while`, each with the subject that it is about."""
    return _subjects(_cut(sentence, [(m.start(), m.end()) for m in _STRONG.finditer(sentence.rest)]))


def clauses(part: Clause) -> list[Clause]:
    """The claims of a strong part. Raises Refused where `respectively` pairs what can't be paired."""
    if _RESPECTIVELY.search(part.rest):
        return _paired(part)
    cuts: list[tuple[int, int]] = []
    since = 0
    for match in _WEAK.finditer(part.rest):
        left, right = part.part(since, match.start()), part.part(match.end(), len(part.rest))
        if _claims(left) and right.own and _claims(right) and _parallel(left, right):
            cuts.append((match.start(), match.end()))
            since = match.end()
    return _subjects(_cut(part, cuts))


def members(clause: Clause) -> Iterator[Clause]:
    """One clause for each member of a list of names of one column: what is said of the list is said of each."""
    runs: list[list[Mask]] = []
    for mask in clause.masks:
        between = clause.rest[runs[-1][-1].end : mask.start] if runs else ""
        if runs and _LISTED.fullmatch(between) and _columns(runs[-1][-1]) & _columns(mask):
            runs[-1].append(mask)
        else:
            runs.append([mask])
    longest = max(runs, key=len, default=[])
    if len(longest) < 2:
        return
    others = tuple(m for m in clause.masks if m not in longest)
    for mask in longest:
        yield clause.about((mask, *others))


def _cut(whole: Clause, cuts: Sequence[tuple[int, int]]) -> list[Clause]:
    edges = [(0, 0), *cuts, (len(whole.rest), len(whole.rest))]
    return [whole.part(one[1], other[0]) for one, other in pairwise(edges)]


def _subjects(parts: Sequence[Clause]) -> list[Clause]:
    """Gives a part without a parallel subject of its own the masks of the part before it."""
    found: list[Clause] = []
    for part in parts:
        if not part.atoms and not part.own:
            continue
        goes_on = found and not _parallel(found[-1], part)
        subject = found[-1].masks if goes_on else part.subject if not found else ()
        found.append(part.of(subject))
    return found


def _claims(part: Clause) -> bool:
    return bool(part.masks) and bool(part.quantities or part.words & VERBS)


def _parallel(left: Clause, right: Clause) -> bool:
    """Whether the right part opens with a name of the same column as the left one's first, before any verb."""
    if not left.masks or not right.own:
        return False
    same = next((m for m in right.own if _columns(m) & _columns(left.masks[0])), None)
    if same is None:
        return False
    return not any(a.text in VERBS for a in right.atoms if a.end <= same.start)


def _columns(mask: Mask) -> frozenset[tuple[int, int]]:
    return frozenset((a.evidence, a.column) for a in mask.addresses if a.column != SCOPE)


def _paired(part: Clause) -> list[Clause]:
    """`A and B received x and y, respectively` as two claims."""
    if len(part.own) != len(part.quantities) or len(part.own) < 2:
        raise Refused(Code.UNPARSED_OPERATOR)
    pairs = list(zip(part.own, part.quantities, strict=True))
    return [
        Clause(blank(part.rest, [q for q in part.quantities if q is not quantity]), (mask,), (quantity,), part.tags)
        for mask, quantity in pairs
    ]
