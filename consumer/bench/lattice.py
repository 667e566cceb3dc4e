"""The closed lattice of groups that may ever be counted, and the rule by which a count is published.

The lattice depends on a vocabulary, never on a roster: what can be asked is the same for every tenant, so that the
shape of an answer says nothing of the people behind it. It must never hold a name or a person reference.
"""

from collections.abc import Iterable, Mapping
from datetime import date
from enum import StrEnum
from itertools import combinations
from typing import NamedTuple

from msgspec import Struct

RULE_VERSION = "nested1"
ANY = "ANY"
LADDER = ("NONE", "PUBLIC_TRUST", "CONFIDENTIAL", "SECRET", "TS", "TS_SCI")
APART = ("DOE_L", "DOE_Q")  # Department of Energy access: beside the ladder, not on it
CLEARANCES = LADDER + APART
WITH_ABOVE = LADDER[1:-1]  # levels where "or above" means more people than the level itself
WORDS = {
    ANY: "everyone",
    "NONE": "no clearance",
    "PUBLIC_TRUST": "Public Trust",
    "CONFIDENTIAL": "Confidential",
    "SECRET": "Secret",
    "TS": "Top Secret",
    "TS_SCI": "TS/SCI",
    "DOE_L": "DOE L",
    "DOE_Q": "DOE Q",
}
COMPARTMENTS = ("HCS", "SI", "SI-G", "TK")
IMPLIES = {"HCS-O": "HCS", "HCS-P": "HCS", "SI-G": "SI"}  # who holds a part holds the whole, listed or not
CATEGORIES = (
    "Cloud Engineer",
    "Cyber Analyst",
    "Data Scientist",
    "Help Desk Analyst",
    "Intelligence Analyst",
    "Linguist",
    "Network Engineer",
    "Project Manager",
    "Software Engineer",
    "Systems Engineer",
)
WINDOWS = (3, 6, 12)  # months; every window asked maps up to one of these or to no window at all
NO_WINDOW = 0
OTHER = ""  # a labor category outside the vocabulary, and in a group: any category


class Reach(StrEnum):
    EXACTLY = "exactly"
    OR_ABOVE = "or_above"


class Vocabulary(Struct, frozen=True, kw_only=True):
    """What a group may be told apart by. `categories` are labor categories, `windows` months, ascending."""

    categories: tuple[str, ...] = CATEGORIES
    compartments: tuple[str, ...] = COMPARTMENTS
    windows: tuple[int, ...] = WINDOWS


class Person(NamedTuple):
    """What a roster row says for counting; the person reference stays in the store."""

    clearance: str
    compartments: frozenset[str]
    available_from: date
    category: str


class Group(NamedTuple):
    """Everyone with `clearance` (or above), who holds at least `compartments`, is available within `within` months
    and works in `category`. ANY, an empty tuple, NO_WINDOW and an empty string leave that dimension open."""

    clearance: str = ANY
    reach: Reach = Reach.EXACTLY
    compartments: tuple[str, ...] = ()
    within: int = NO_WINDOW
    category: str = OTHER

    def label(self) -> str:
        """How prose calls the group."""
        parts = [WORDS[self.clearance]]
        if self.reach is Reach.OR_ABOVE:
            parts.append("or above")
        if self.compartments:
            parts.append("with " + " and ".join(self.compartments))
        if self.category:
            parts.append(f"in the category {self.category}")
        if self.within:
            parts.append(f"available within {self.within} months")
        return " ".join(parts)


class Atom(NamedTuple):
    """A finest kind of person that the lattice can tell apart; `held` are all compartments held, `slot` indexes the
    windows (its length means later than all of them)."""

    clearance: str
    held: tuple[str, ...]
    slot: int
    category: str


class Lattice(Struct, frozen=True):
    """`groups` in the order in which they are published, coarse before fine. `members[i]` is the set of atoms of
    group i as a bit mask, so that sub and superset are two integer operations."""

    vocabulary: Vocabulary
    atoms: tuple[Atom, ...]
    groups: tuple[Group, ...]
    members: tuple[int, ...]

    def sizes(self, counts: Mapping[Atom, int]) -> list[int]:
        """People of each group, from people of each atom."""
        return self.sizes_of(self.members, counts)

    def sizes_of(self, masks: Iterable[int], counts: Mapping[Atom, int]) -> list[int]:
        """People of each set of atoms, given as a bit mask."""
        present = [(1 << i, counts[atom]) for i, atom in enumerate(self.atoms) if counts.get(atom)]
        return [sum(n for bit, n in present if mask & bit) for mask in masks]


def lattice(vocabulary: Vocabulary) -> Lattice:
    atoms = tuple(_atoms(vocabulary))
    groups = tuple(sorted(_groups(vocabulary), key=_order))
    members = tuple(sum(1 << i for i, atom in enumerate(atoms) if holds(group, atom, vocabulary)) for group in groups)
    return Lattice(vocabulary, atoms, groups, members)


def _atoms(vocabulary: Vocabulary) -> Iterable[Atom]:
    kinds = [(level, ()) for level in CLEARANCES if level != "TS_SCI"]
    kinds += [("TS_SCI", held) for held in _subsets(vocabulary.compartments)]
    for clearance, held in kinds:
        for slot in range(len(vocabulary.windows) + 1):
            for category in (*vocabulary.categories, OTHER):
                yield Atom(clearance, held, slot, category)


def _groups(vocabulary: Vocabulary) -> Iterable[Group]:
    levels = [(ANY, Reach.EXACTLY), *((c, Reach.EXACTLY) for c in CLEARANCES)]
    levels += [(c, Reach.OR_ABOVE) for c in WITH_ABOVE]
    for within in (NO_WINDOW, *vocabulary.windows):
        for category in (OTHER, *vocabulary.categories):
            for clearance, reach in levels:
                yield Group(clearance, reach, (), within, category)
        for held in _subsets(vocabulary.compartments):
            if held:
                yield Group("TS_SCI", Reach.EXACTLY, held, within)


def _subsets(items: tuple[str, ...]) -> list[tuple[str, ...]]:
    """Sets that hold the whole of every part in them; the others would be second names of these."""
    every = [s for size in range(len(items) + 1) for s in combinations(items, size)]
    return [s for s in every if implied(s) <= set(s)]


def implied(compartments: Iterable[str]) -> frozenset[str]:
    return frozenset(IMPLIES[c] for c in compartments if c in IMPLIES)


def _order(group: Group) -> tuple[object, ...]:
    """Coarse before fine, "or above" before exact: what people ask most is published first. Never by data."""
    dimensions = (group.category != OTHER) + (group.within != NO_WINDOW)
    depth = (group.clearance != ANY) + len(group.compartments)
    return (dimensions, group.category != OTHER, depth, group.reach is Reach.EXACTLY, -group.within, group)


def holds(group: Group, atom: Atom, vocabulary: Vocabulary) -> bool:
    """Whether people of `atom` belong to `group`."""
    return (
        _cleared(group, atom.clearance)
        and set(group.compartments) <= set(atom.held)
        and (group.within == NO_WINDOW or atom.slot <= vocabulary.windows.index(group.within))
        and group.category in (OTHER, atom.category)
    )


def _cleared(group: Group, clearance: str) -> bool:
    if group.reach is Reach.OR_ABOVE:
        return clearance in LADDER and LADDER.index(clearance) >= LADDER.index(group.clearance)
    return group.clearance in (ANY, clearance)


def atom_of(person: Person, as_of: date, vocabulary: Vocabulary) -> Atom:
    """The atom of one person on the day `as_of`. Compartments and categories outside the vocabulary don't count."""
    slot = sum(person.available_from > months_after(as_of, window) for window in vocabulary.windows)
    known = person.compartments | implied(person.compartments)
    held = tuple(c for c in vocabulary.compartments if c in known)
    folded = " ".join(person.category.split()).casefold()
    category = next((c for c in vocabulary.categories if c.casefold() == folded), OTHER)
    return Atom(person.clearance, held if person.clearance == "TS_SCI" else (), slot, category)


def months_after(day: date, months: int) -> date:
    """The same day of the month `months` later, or that month's last day."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    for candidate in (day.day, 30, 29, 28):
        try:
            return date(year, month + 1, candidate)
        except ValueError:
            continue
    raise AssertionError("every month has a day 28")


def offered_window(asked: int | None, windows: tuple[int, ...] = WINDOWS) -> int:
    """The smallest offered window that covers the one asked; no window when none does."""
    return next((w for w in windows if asked is not None and asked <= w), NO_WINDOW)


def nested(lattice: Lattice, sizes: list[int], k: int) -> list[bool]:
    """Which groups are published: at least k people, and 0 or at least k people away from every sub or superset
    already published. A total less a part is the oldest attack there is (Denning 1979)."""
    kept: list[int] = []
    published = [False] * len(sizes)
    for i, size in enumerate(sizes):
        if size >= k and not any(0 < abs(size - sizes[j]) < k and _related(lattice.members, i, j) for j in kept):
            kept.append(i)
            published[i] = True
    return published


def _related(members: tuple[int, ...], i: int, j: int) -> bool:
    both = members[i] & members[j]
    return both in (members[i], members[j])
