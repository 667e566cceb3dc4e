"""The attacker: asks every question that can be asked, sweeps windows and compartments, subtracts, and solves the
linear program over what came back. Two arms run on the same made up benches: the published lattice, in which nothing
may be recovered or pinned, and a plain threshold, on which the attack must succeed or it proves nothing.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta

from msgspec import Struct

from consumer.bench import bounds
from consumer.bench.lattice import CLEARANCES, Atom, Group, Lattice, Person, offered_window
from consumer.bench.publish import Rule, census, publish

FEWEST, MOST = 40, 2_000
"""People of a made up bench."""
LONGEST_SWEEP = 24
"""Months: windows are asked one by one up to here, though few are offered."""
SUBTRACTIONS = 40
"""Random ways in which each published total is taken apart, others than those that the publisher tried."""
Printed = Sequence[int | None]


class Arm(Struct, frozen=True, kw_only=True):
    """What the attack came to: `questions` asked, `answered` with a count, `targets` of 1 to k - 1 people. Of those
    the program knows `recovered` exactly and `pinned` to be 1 to k - 1 (recovered ones included); `subtracted` fell
    to totals less their parts alone. `leaking` benches gave away at least one."""

    questions: int = 0
    answered: int = 0
    targets: int = 0
    recovered: int = 0
    pinned: int = 0
    subtracted: int = 0
    leaking: int = 0

    def __add__(self, other: "Arm") -> "Arm":
        return Arm(**{name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__})


class Outcome(Struct, frozen=True, kw_only=True):
    """Both arms over the same benches."""

    benches: int
    lattice: Arm
    threshold: Arm


def run(lattice: Lattice, rule: Rule, benches: int, seed: int, told: Callable[[int], None] = lambda _: None) -> Outcome:
    """Attacks `benches` made up benches; `told(n)` is called after each. Same seed, same figures."""
    published, threshold = Arm(), Arm()
    for number in range(benches):
        counts = made_up(lattice, seed + number)
        published += attack(lattice, publish(lattice, counts, rule), counts, rule)
        threshold += attack(lattice, threshold_only(lattice, counts, rule), counts, rule)
        told(number + 1)
    return Outcome(benches=benches, lattice=published, threshold=threshold)


def attack(lattice: Lattice, printed: Printed, counts: Counter[Atom], rule: Rule) -> Arm:
    """One bench. The attacker sees the printed answers alone; `counts` only score what was concluded from them."""
    said = [answer(lattice, printed, group, window) for group, window in questions(lattice)]
    heard = {place: count for place, count in said if count is not None}
    seen = [
        bounds.Published(lattice.members[place], max(rule.k, count), count + rule.round - 1)
        for place, count in sorted(heard.items())
    ]
    masks = sorted({*bounds.targets(lattice), *bounds.remainders(lattice, heard)})
    sizes = lattice.sizes_of(masks, counts)
    found, _ = bounds.pinned(lattice, seen, masks, sizes, rule.k)
    differences = bounds.subtractions(seen, rule.k, SUBTRACTIONS, seed=len(said))
    return Arm(
        questions=len(said),
        answered=sum(count is not None for _, count in said),
        targets=sum(1 <= size < rule.k for size in sizes),
        recovered=sum(finding.recovered for finding in found),
        pinned=len(found),
        subtracted=len(differences),
        leaking=int(bool(found or differences)),
    )


def questions(lattice: Lattice) -> Iterable[tuple[Group, int | None]]:
    """Every group of the lattice, with every window that a person may ask of it."""
    for group in lattice.groups:
        if group.within == 0:
            for window in (None, *range(1, LONGEST_SWEEP + 1)):
                yield group, window


def answer(lattice: Lattice, printed: Printed, group: Group, window: int | None) -> tuple[int, int | None]:
    """What the bench intents say: the cell of the offered window that covers the one asked, and its count."""
    place = lattice.groups.index(group._replace(within=offered_window(window, lattice.vocabulary.windows)))
    return place, printed[place]


def threshold_only(lattice: Lattice, counts: Counter[Atom], rule: Rule) -> Printed:
    """What most products do: print every count of at least k."""
    return [rule.printed(size) if size >= rule.k else None for size in lattice.sizes(counts)]


def made_up(lattice: Lattice, seed: int) -> Counter[Atom]:
    """A bench of 40 to 2,000 people with its own mix of clearances, compartments, categories and dates."""
    rng = random.Random(seed)
    vocabulary = lattice.vocabulary
    today = date(2026, 12, 1)
    count = round(FEWEST * (MOST / FEWEST) ** rng.random())
    levels = [rng.expovariate(1) for _ in CLEARANCES]
    share = rng.uniform(0.2, 0.7)
    trades = (*vocabulary.categories, "a trade of no category")
    weights = [rng.expovariate(1) for _ in trades]
    horizon = rng.choice((90, 365, 730))
    people: list[Person] = []
    for clearance in rng.choices(CLEARANCES, levels, k=count):
        held = frozenset(c for c in vocabulary.compartments if clearance == "TS_SCI" and rng.random() < share)
        free = today + timedelta(days=rng.randrange(horizon))
        people.append(Person(clearance, held, free, rng.choices(trades, weights)[0]))
    return census(people, today, lattice)
