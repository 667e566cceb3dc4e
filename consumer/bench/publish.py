"""Publishing: which counts of a roster may be seen, decided once a snapshot and stored for the bench intents to
look up. The answer is a function of roster, rule version, k and rounding: no noise, no secret, no history.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from msgspec import Struct

from consumer.bench import bounds
from consumer.bench.lattice import ANY, LADDER, RULE_VERSION, Atom, Group, Lattice, Person, Reach, atom_of, nested

FINDINGS_A_ROUND = 80
"""Findings after which counts are withheld: one withheld count settles many targets at once."""
COARSE = 50
"""How many places down the publishing order outweigh one more finding, about: measured for most counts published."""
SUBTRACTIONS = 200
"""Random ways in which each published total is taken apart before a snapshot is called safe."""


class Rule(Struct, frozen=True, kw_only=True):
    """`k` is the smallest count ever published, `round` what a published count is floored to a multiple of."""

    k: int = 11
    round: int = 1

    def text(self) -> str:
        """What a snapshot was made by: the same roster and text give the same cells."""
        return f"{RULE_VERSION} k={self.k} round={self.round}"

    def printed(self, size: int) -> int:
        return size // self.round * self.round

    def interval(self, size: int) -> tuple[int, int]:
        """What whoever reads the printed count knows of the true one."""
        return max(self.k, self.printed(size)), self.printed(size) + self.round - 1


def census(people: Iterable[Person], as_of: date, lattice: Lattice) -> Counter[Atom]:
    return Counter(atom_of(person, as_of, lattice.vocabulary) for person in people)


def publish(lattice: Lattice, counts: Counter[Atom], rule: Rule) -> tuple[int | None, ...]:
    """The printed count of each group, None where it is withheld. Zero, small and withheld by overlap look alike.

    The nested rule first, then the audit: while the published counts together recover or pin a group of 1 to k - 1,
    some of the counts that do so are withheld, fine ones first. Raises `Misconfigured` if scipy is not installed.
    """
    sizes = lattice.sizes(counts)
    kept = [i for i, published in enumerate(nested(lattice, sizes, rule.k)) if published]
    doubtful, settled = bounds.targets(lattice), set[int]()
    while True:
        doubtful = sorted({*doubtful, *bounds.remainders(lattice, kept)} - settled)
        seen = [bounds.Published(lattice.members[i], *rule.interval(sizes[i])) for i in kept]
        people = lattice.sizes_of(doubtful, counts)
        found, left = bounds.pinned(lattice, seen, doubtful, people, rule.k, FINDINGS_A_ROUND)
        found = found or bounds.subtractions(seen, rule.k, SUBTRACTIONS, seed=0)
        if not found:
            break
        withheld = _breaking(found)
        kept = [i for at, i in enumerate(kept) if at not in withheld]
        # Withholding only adds rosters that fit, so a target once cleared stays cleared.
        again = {*left, *(finding.target for finding in found)}
        settled.update(mask for mask in doubtful if mask not in again)
        doubtful = sorted(again)
    shown = set(kept)
    return tuple(rule.printed(size) if i in shown else None for i, size in enumerate(sizes))


def _breaking(found: list[bounds.Finding]) -> set[int]:
    """A few published groups without which none of the findings stands: time and again the one in most of those that
    stand, the finer the better. Groups are in publishing order, so a higher index is finer."""
    withheld: set[int] = set()
    while found:
        hits = Counter(i for finding in found for i in finding.because)
        chosen = max(hits, key=lambda i: (hits[i] * (i + COARSE), i))
        withheld.add(chosen)
        found = [finding for finding in found if chosen not in finding.because]
    return withheld


class Cell(NamedTuple):
    """One row of bench.cell. `wider_group` names the smallest published group around this one that counts more."""

    clearance: str
    compartments: str
    within_months: int
    labor_category: str
    holders: int | None
    or_above: int | None
    wider_group: str
    wider_count: int | None


def cells(lattice: Lattice, printed: Sequence[int | None]) -> list[Cell]:
    """Every cell of the lattice with its printed counts, in the lattice's order."""
    place = {group: i for i, group in enumerate(lattice.groups)}
    breadth = [mask.bit_count() for mask in lattice.members]
    shown = sorted((i for i, count in enumerate(printed) if count is not None), key=lambda i: (breadth[i], i))
    made: list[Cell] = []
    for i, group in enumerate(lattice.groups):
        if group.reach is Reach.OR_ABOVE:
            continue
        above = place.get(_or_above(group), i)
        inside = lattice.members[above]
        around = (j for j in shown if inside & lattice.members[j] == inside and printed[j] != printed[above])
        wider = next(around, 0)  # group 0 is everyone
        made.append(
            Cell(
                group.clearance,
                "/".join(group.compartments),
                group.within,
                group.category,
                printed[i],
                printed[above],
                lattice.groups[wider].label(),
                printed[wider],
            )
        )
    return made


def _or_above(group: Group) -> Group:
    """The group of everyone at this level or above: of the lowest level, everyone."""
    if group.clearance == LADDER[0]:
        return group._replace(clearance=ANY)
    return group._replace(reach=Reach.OR_ABOVE)
