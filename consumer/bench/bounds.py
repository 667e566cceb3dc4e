"""What can be concluded about groups from published counts: a linear program over the atoms of the lattice.

Any roster that fits the published counts is possible to whoever reads them. A target group is safe if its size
can be below 1 or at least k in one of them; it is pinned if every one of them has 1 to k - 1, and recovered
if they all agree. The publisher audits with this before a snapshot is stored, the attack measures with it after.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations
from math import ceil, floor
from typing import Any, NamedTuple

from consumer.bench.lattice import CLEARANCES, LADDER, OTHER, Lattice
from consumer.errors import Misconfigured

EPSILON = 1e-6
PROBES_WITHOUT_PROGRESS = 3
UNBOUNDED = 3  # linprog's status


class Published(NamedTuple):
    """One published group: its atoms and the interval that its printed count stands for, in people."""

    members: int
    at_least: int
    at_most: int


class Finding(NamedTuple):
    """A target of 1 to k - 1 people whose size lies in [low, high] whatever the roster; `because` indexes the
    published groups that the two bounds rest on."""

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
    least, or held without another, stretches between windows, each labor category; and their combinations."""
    vocabulary, atoms = lattice.vocabulary, lattice.atoms
    slots = [_mask(a.slot == slot for a in atoms) for slot in range(len(vocabulary.windows) + 1)]
    stretches = [sum(slots[a:b]) for a, b in combinations(range(len(slots) + 1), 2)]
    categories = [_mask(a.category == c for a in atoms) for c in (OTHER, *vocabulary.categories)]
    kinds = [_mask((a.clearance, a.held) in kind for a in atoms) for kind in _kinds(lattice)]
    every = (1 << len(atoms)) - 1
    masks = {kind & stretch & category for kind in kinds for stretch in stretches for category in (every, *categories)}
    return sorted(masks - {0})


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


def solver() -> tuple[Any, Any]:
    """numpy and scipy.optimize, which only the publisher and the attack need."""
    try:
        import numpy  # noqa: PLC0415
        from scipy import optimize  # noqa: PLC0415
    except ImportError:
        raise Misconfigured(
            "publishing the bench needs scipy for its audit; install the extra: pip install 'planner[publisher]'"
        ) from None
    return numpy, optimize


class Program:
    """The rosters that fit some published groups, over classes of atoms that no published group tells apart.

    People of a class can be any of its atoms. So a target surely holds only the classes that lie inside it whole,
    and at most those that it touches: the first decides its lower bound, the second its upper.
    """

    def __init__(self, width: int, published: Sequence[Published]) -> None:
        self.numpy, self.optimize = solver()
        self.width = width
        self.published = published
        bits = self._bits([p.members for p in published])
        signatures, self.classes = self.numpy.unique(bits, axis=1, return_inverse=True)
        self.classes = self.classes.reshape(-1)
        self.class_sizes = self.numpy.bincount(self.classes)
        matrix = signatures.astype(float)
        low = self.numpy.array([p.at_least for p in published], dtype=float)
        high = self.numpy.array([p.at_most for p in published], dtype=float)
        self.exact = bool((low == high).all())
        if self.exact:
            self.constraints: dict[str, Any] = {"A_eq": matrix, "b_eq": low}
        else:
            stacked = self.numpy.vstack([matrix, -matrix])
            self.constraints = {"A_ub": stacked, "b_ub": self.numpy.concatenate([high, -low])}

    def _bits(self, masks: Sequence[int]) -> Any:
        size = (self.width + 7) // 8
        raw = b"".join(mask.to_bytes(size, "little") for mask in masks)
        packed = self.numpy.frombuffer(raw, dtype=self.numpy.uint8).reshape(len(masks), size)
        return self.numpy.unpackbits(packed, axis=1, bitorder="little")[:, : self.width]

    def costs(self, masks: Sequence[int]) -> tuple[Any, Any]:
        """Two 0/1 matrices, a row a target: the classes inside it, the classes it touches."""
        bits = self._bits(masks)
        touched = self.numpy.zeros((len(masks), len(self.class_sizes)))
        for column, label in enumerate(self.classes):
            touched[:, label] += bits[:, column]
        return (touched == self.class_sizes).astype(float), (touched > 0).astype(float)

    def least(self, cost: Any) -> tuple[float, Any, frozenset[int]]:
        """The least `cost` over fitting rosters (minus infinity, None, nothing where there is none), a roster that
        has it and the published groups whose counts hold it up."""
        result = self.optimize.linprog(cost, bounds=(0, None), method="highs", **self.constraints)
        if result.status == UNBOUNDED:
            return float("-inf"), None, frozenset()
        if result.status != 0:
            raise ArithmeticError(f"the linear program of the bench audit failed: {result.message}")
        marginals = (result.eqlin if self.exact else result.ineqlin).marginals
        tight = self.numpy.flatnonzero(abs(marginals) > EPSILON).tolist()
        return result.fun, result.x, frozenset(i % len(self.published) for i in tight)


def pinned(
    width: int, published: Sequence[Published], masks: Sequence[int], sizes: Sequence[int], k: int
) -> list[Finding]:
    """The targets of 1 to k - 1 people that `published` pins or recovers. `sizes` are the true sizes of `masks`,
    `width` is the number of atoms."""
    small = [(mask, size) for mask, size in zip(masks, sizes, strict=True) if 1 <= size < k]
    if not small or not published:
        return []
    program = Program(width, published)
    inside, touched = program.costs([mask for mask, _ in small])
    found: list[Finding] = []
    for i in _suspects(program, inside, touched, k):
        low, _, below = program.least(inside[i])
        if ceil(low - EPSILON) < 1:
            continue
        high, _, above = program.least(-touched[i])
        if floor(-high + EPSILON) < k:
            found.append(Finding(*small[i], ceil(low - EPSILON), floor(-high + EPSILON), below | above))
    return found


def _suspects(program: Program, inside: Any, touched: Any, k: int) -> list[int]:
    """Targets that no probed roster clears. One probe pushes all of them down or up at once, so that a handful of
    programs clears thousands of targets; what is left is worth two programs each."""
    numpy = program.numpy
    suspect = inside.any(axis=1)
    idle, downwards = 0, True
    while suspect.any() and idle < PROBES_WITHOUT_PROGRESS:
        cost = inside[suspect].sum(axis=0) if downwards else -touched[suspect].sum(axis=0)
        _, roster, _ = program.least(cost)
        if roster is None:  # unbounded: some target has no upper bound, which its own program will see
            cleared = numpy.zeros_like(suspect)
        else:
            cleared = suspect & ((inside @ roster < 1 - EPSILON) | (touched @ roster > k - 1 + EPSILON))
        suspect &= ~cleared
        if cleared.any():
            idle = 0
        else:
            idle, downwards = idle + 1, not downwards
    return [int(i) for i in numpy.flatnonzero(suspect)]
