"""What can be concluded about groups from published counts: a linear program over the atoms of the lattice.

Any roster that fits the published counts is possible to whoever reads them. A target group is safe if its size
can be below 1 or at least k in one of them; it is pinned if every one of them has 1 to k - 1, and recovered
if they all agree. Of a group that can be asked for, whoever knows the rule takes "withheld" for fewer than k: so it is
safe only if it can be empty. The publisher audits with this before a snapshot is stored, the attack measures with it
after.
"""

import random
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import ceil, floor
from typing import Any, NamedTuple

from consumer.bench.lattice import CLEARANCES, LADDER, OTHER, Group, Lattice
from consumer.errors import Misconfigured

EPSILON = 1e-6
PROBES_WITHOUT_PROGRESS = 3
UNBOUNDED = 3  # linprog's status
OPTIONS = {"presolve": False}  # these programs are small and many: presolving each costs more than solving it


class Published(NamedTuple):
    """One published group: its atoms and the interval that its printed count stands for, in people."""

    members: int
    at_least: int
    at_most: int


class Finding(NamedTuple):
    """A target of 1 to k - 1 people whose size lies in [low, high] whatever the roster (high at most k - 1 where the
    group itself is withheld); `because` indexes the published groups that the bounds rest on."""

    target: int
    size: int
    low: int
    high: int
    because: frozenset[int]

    @property
    def recovered(self) -> bool:
        return self.low == self.high


def targets(lattice: Lattice) -> list[int]:
    """Every group that a sentence could single out, as masks: ladder steps and spans, compartments held exactly, at
    least, or held without another, stretches between windows, each labor category; their combinations; and what any
    group of the lattice shares with another or has beside it."""
    vocabulary, atoms = lattice.vocabulary, lattice.atoms
    slots = [_mask(a.slot == slot for a in atoms) for slot in range(len(vocabulary.windows) + 1)]
    stretches = [sum(slots[a:b]) for a, b in combinations(range(len(slots) + 1), 2)]
    categories = [_mask(a.category == c for a in atoms) for c in (OTHER, *vocabulary.categories)]
    kinds = [_mask((a.clearance, a.held) in kind for a in atoms) for kind in _kinds(lattice)]
    every = (1 << len(atoms)) - 1
    masks = {kind & stretch & category for kind in kinds for stretch in stretches for category in (every, *categories)}
    for one in lattice.members:
        masks.update(one & other for other in lattice.members)
        masks.update(one & ~other for other in lattice.members)
    return sorted(masks - {0})


def remainders(lattice: Lattice, published: Iterable[int]) -> list[int]:
    """What is left of each published group when the published groups inside it are taken away, those that tell its
    people apart by the same dimensions together: all categories, all windows, categories and windows, ...

    An asker who adds up the parts of a total holds exactly these. Fewer parts leave at least k people more.
    """
    shown = list(published)
    left: dict[tuple[int, tuple[bool, ...]], int] = {}
    for whole in shown:
        for part in shown:
            if part != whole and lattice.members[part] & ~lattice.members[whole] == 0:
                key = whole, _finer(lattice.groups[whole], lattice.groups[part])
                left[key] = left.get(key, lattice.members[whole]) & ~lattice.members[part]
    return sorted(set(left.values()) - {0})


def _finer(whole: Group, part: Group) -> tuple[bool, ...]:
    return (
        whole[:2] != part[:2],
        whole.compartments != part.compartments,
        whole.within != part.within,
        whole.category != part.category,
    )


def subtractions(published: Sequence[Published], k: int, tries: int, seed: int) -> list[Finding]:
    """Groups of 1 to k - 1 people that are a published total less published parts of it that don't overlap.

    Each total is taken apart `tries` times at random: exact where the program only looks at given targets, and blind
    to what needs more than adding up. Same seed, same findings.
    """
    rng = random.Random(seed)
    found: dict[int, Finding] = {}
    for total, whole in enumerate(published):
        inside = [i for i, part in enumerate(published) if i != total and part.members & ~whole.members == 0]
        for _ in range(tries if inside else 0):
            left, low, high, because = whole.members, whole.at_least, whole.at_most, [total]
            for i in rng.sample(inside, len(inside)):
                part = published[i]
                if part.members & ~left == 0:
                    left, low, high = left & ~part.members, low - part.at_most, high - part.at_least
                    because.append(i)
                    if low >= 1 and high < k:
                        found.setdefault(left, Finding(left, high, low, high, frozenset(because)))
    return list(found.values())


def _mask(belongs: Iterable[bool]) -> int:
    return sum(1 << i for i, yes in enumerate(belongs) if yes)


def _kinds(lattice: Lattice) -> list[frozenset[tuple[str, tuple[str, ...]]]]:
    """Sets of (clearance, compartments held): what clearance and compartments together can single out."""
    every = {(atom.clearance, atom.held) for atom in lattice.atoms}
    names = lattice.vocabulary.compartments
    spans = [{level} for level in CLEARANCES] + [set(LADDER[a:b]) for a, b in combinations(range(len(LADDER) + 1), 2)]
    kinds = [frozenset(every)] + [frozenset(k for k in every if k[0] in span) for span in spans]
    sci = [k for k in every if k[0] == "TS_SCI"]
    for _, held in sci:
        with_all = [k for k in sci if set(held) <= set(k[1])]
        kinds += [frozenset({("TS_SCI", held)}), frozenset(with_all)]
        kinds += [frozenset(k for k in with_all if name not in k[1]) for name in names if name not in held]
    return kinds


def solver() -> tuple[Any, Any, Any]:
    """numpy, scipy.optimize and scipy.sparse, which only the publisher and the attack need."""
    try:
        import numpy  # noqa: PLC0415
        from scipy import optimize, sparse  # noqa: PLC0415
    except ImportError:
        raise Misconfigured(
            "publishing the bench needs scipy for its audit; install the extra: pip install 'planner[publisher]'"
        ) from None
    return numpy, optimize, sparse


class Program:
    """The rosters that fit some published groups, over classes of atoms that no published group tells apart.

    People of a class can be any of its atoms. So a target surely holds only the classes that lie inside it whole,
    and at most those that it touches: the first decides its lower bound, the second its upper.
    """

    def __init__(self, width: int, published: Sequence[Published]) -> None:
        self.numpy, self.optimize, self.sparse = solver()
        self.width = width
        self.published = published
        bits = self._bits([p.members for p in published])
        signatures, self.classes = self.numpy.unique(bits, axis=1, return_inverse=True)
        self.classes = self.classes.reshape(-1)
        self.class_sizes = self.numpy.bincount(self.classes)
        matrix = self.sparse.csr_array(signatures.astype(float))
        low = self.numpy.array([p.at_least for p in published], dtype=float)
        high = self.numpy.array([p.at_most for p in published], dtype=float)
        self.exact = bool((low == high).all())
        if self.exact:
            self.constraints: dict[str, Any] = {"A_eq": matrix, "b_eq": low}
        else:
            stacked = self.sparse.vstack([matrix, -matrix])
            self.constraints = {"A_ub": stacked, "b_ub": self.numpy.concatenate([high, -low])}

    def _bits(self, masks: Sequence[int]) -> Any:
        size = (self.width + 7) // 8
        raw = b"".join(mask.to_bytes(size, "little") for mask in masks)
        packed = self.numpy.frombuffer(raw, dtype=self.numpy.uint8).reshape(len(masks), size)
        return self.numpy.unpackbits(packed, axis=1, bitorder="little")[:, : self.width]

    def costs(self, masks: Sequence[int]) -> tuple[Any, Any]:
        """Two sparse 0/1 matrices, a row a target: the classes inside it, the classes it touches."""
        atoms = self.sparse.csr_array(self._bits(masks).astype(float))
        ones = self.numpy.ones(self.width)
        places = (self.numpy.arange(self.width), self.classes)
        touched = atoms @ self.sparse.csr_array((ones, places), shape=(self.width, len(self.class_sizes)))
        inside = touched.copy()
        inside.data = (touched.data == self.class_sizes[touched.indices]).astype(float)
        inside.eliminate_zeros()
        touched.data[:] = 1.0
        return inside, touched

    def least(self, cost: Any) -> tuple[float, Any, frozenset[int]]:
        """The least `cost` over fitting rosters (minus infinity, None, nothing where there is none), a roster that
        has it and the published groups whose counts hold it up."""
        result = self.optimize.linprog(cost, bounds=(0, None), method="highs-ds", options=OPTIONS, **self.constraints)
        if result.status == UNBOUNDED:
            return float("-inf"), None, frozenset()
        if result.status != 0:
            raise ArithmeticError(f"the linear program of the bench audit failed: {result.message}")
        marginals = (result.eqlin if self.exact else result.ineqlin).marginals
        tight = self.numpy.flatnonzero(abs(marginals) > EPSILON).tolist()
        return result.fun, result.x, frozenset(i % len(self.published) for i in tight)


def pinned(
    lattice: Lattice,
    published: Sequence[Published],
    masks: Sequence[int],
    sizes: Sequence[int],
    k: int,
    enough: int | None = None,
) -> tuple[list[Finding], list[int]]:
    """The targets of 1 to k - 1 people that `published` pins or recovers, and those that it may: with `enough` it
    stops at so many findings and leaves the rest in doubt. `sizes` are the true sizes of `masks`."""
    small = [(mask, size) for mask, size in zip(masks, sizes, strict=True) if 1 <= size < k]
    if not small or not published:
        return [], []
    withheld = set(lattice.members)  # those of 1 to k - 1 people always are
    program = Program(len(lattice.atoms), published)
    suspects = _Suspects(program, [mask for mask, _ in small], [mask in withheld for mask, _ in small], k)
    suspects.probe()
    found: list[Finding] = []
    while (enough is None or len(found) < enough) and (i := suspects.next()) is not None:
        low, roster, below = program.least(suspects.cost(i))
        suspects.clear(roster)
        if ceil(low - EPSILON) < 1:
            continue
        most, roster, above = program.least(suspects.cost(i, upwards=True))
        suspects.clear(roster)
        high = floor(EPSILON - most) if most > float("-inf") else k
        if suspects.withheld[i]:
            found.append(Finding(*small[i], ceil(low - EPSILON), min(high, k - 1), below))
        elif high < k:
            found.append(Finding(*small[i], ceil(low - EPSILON), high, below | above))
    return found, [small[i][0] for i in suspects.rest()]


class _Suspects:
    """Targets that no roster seen so far clears. Every roster that fits may clear many of them."""

    def __init__(self, program: Program, masks: Sequence[int], withheld: Sequence[bool], k: int) -> None:
        self.program, self.k = program, k
        self.withheld = program.numpy.array(withheld)
        self.inside, self.touched = program.costs(masks)
        self.left: Any = self.inside.sum(axis=1) > 0

    def cost(self, target: int, upwards: bool = False) -> Any:
        """Least people of the target, or the negative of the most."""
        return -self.touched[[target]].toarray()[0] if upwards else self.inside[[target]].toarray()[0]

    def clear(self, roster: Any) -> bool:
        """Drops the targets that can be below 1 or at least k in this roster; whether there were any. None is a
        program without a bound, which clears only its own target."""
        if roster is None:
            return False
        large = ~self.withheld & (self.touched @ roster > self.k - 1 + EPSILON)
        safe = (self.inside @ roster < 1 - EPSILON) | large
        before = int(self.left.sum())
        self.left &= ~safe
        return int(self.left.sum()) < before

    def probe(self) -> None:
        """One program pushes all targets down or up at once, so that a handful clears thousands of them."""
        idle, downwards = 0, True
        while self.left.any() and idle < PROBES_WITHOUT_PROGRESS:
            left = self.left
            cost = self.inside[left].sum(axis=0) if downwards else -self.touched[left].sum(axis=0)
            if self.clear(self.program.least(cost)[1]):
                idle = 0
            else:
                idle, downwards = idle + 1, not downwards

    def next(self) -> int | None:
        """One that is left, which leaves with this call."""
        places = self.rest()
        if not places:
            return None
        self.left[places[0]] = False
        return places[0]

    def rest(self) -> list[int]:
        return self.program.numpy.flatnonzero(self.left).tolist()
