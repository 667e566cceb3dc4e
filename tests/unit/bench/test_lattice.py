"""The lattice: who belongs to a group, how windows map, what the nested rule withholds."""

from collections import Counter
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.bench.lattice import (
    ANY,
    CATEGORIES,
    CLEARANCES,
    COMPARTMENTS,
    IMPLIES,
    LADDER,
    Group,
    Lattice,
    Person,
    Reach,
    Vocabulary,
    atom_of,
    lattice,
    months_after,
    nested,
    offered_window,
)
from consumer.store.load.requirements import clearance
from registry import load

AS_OF = date(2026, 12, 1)
WHOLE = lattice(Vocabulary())
ABOVE = Reach.OR_ABOVE

people = st.builds(
    Person,
    st.sampled_from(CLEARANCES),
    st.frozensets(st.sampled_from((*COMPARTMENTS, "KDK"))),
    st.dates(date(2025, 1, 1), date(2030, 1, 1)),
    st.sampled_from((*CATEGORIES, "Cook", "", " help desk ANALYST ")),
)

WINDOWS = [(None, 0), (0, 3), (1, 3), (3, 3), (4, 6), (6, 6), (7, 12), (12, 12), (13, 0), (24, 0), (600, 0)]

MONTHS = [
    (date(2026, 12, 1), 3, date(2027, 3, 1)),
    (date(2026, 12, 31), 3, date(2027, 3, 31)),
    (date(2026, 11, 30), 3, date(2027, 2, 28)),
    (date(2027, 11, 30), 3, date(2028, 2, 29)),
    (date(2026, 1, 31), 12, date(2027, 1, 31)),
]

# a total, a part of it, whether each is published at k = 11
PAIRS = [
    (13, 12, True, False),  # the difference of 1 would be a person
    (13, 13, True, True),
    (30, 19, True, True),
    (30, 20, True, False),
    (11, 0, True, False),
    (10, 10, False, False),
    (0, 0, False, False),
]

BELONGS = [
    (Group(), True),
    (Group("TS_SCI"), True),
    (Group("TS"), False),
    (Group("TS", ABOVE), True),
    (Group("PUBLIC_TRUST", ABOVE), True),
    (Group("DOE_Q"), False),
    (Group("TS_SCI", compartments=("SI",)), True),
    (Group("TS_SCI", compartments=("SI", "TK")), True),
    (Group("TS_SCI", compartments=("HCS",)), False),
    (Group("TS_SCI", compartments=("SI", "SI-G")), True),
    (Group(within=3), False),
    (Group(within=6), True),
    (Group(category="Cyber Analyst"), True),
    (Group(category="Data Scientist"), False),
]


@pytest.mark.parametrize(("asked", "offered"), WINDOWS)
def test_a_window_maps_up_to_one_that_is_offered(asked: int | None, offered: int) -> None:
    assert offered_window(asked) == offered


@pytest.mark.parametrize(("day", "months", "then"), MONTHS)
def test_months_end_where_the_month_does(day: date, months: int, then: date) -> None:
    assert months_after(day, months) == then


@pytest.mark.parametrize(("group", "belongs"), BELONGS)
def test_a_person_belongs_to_the_groups_that_the_roster_says(group: Group, belongs: bool) -> None:
    person = Person("TS_SCI", frozenset({"SI-G", "TK"}), date(2027, 4, 1), "cyber analyst")
    assert (size(WHOLE, [person], group) == 1) is belongs


@pytest.mark.parametrize(("total", "part", "total_published", "part_published"), PAIRS)
def test_a_part_too_near_its_total_is_withheld(
    total: int, part: int, total_published: bool, part_published: bool
) -> None:
    two = Lattice(Vocabulary(), (), (Group(), Group("TS")), (0b11, 0b01))
    assert nested(two, [total, part], 11) == [total_published, part_published]


@given(people)
def test_every_person_is_in_exactly_one_atom_and_in_everyone(person: Person) -> None:
    assert atom_of(person, AS_OF, WHOLE.vocabulary) in WHOLE.atoms
    assert size(WHOLE, [person], Group()) == 1


@given(st.lists(people, max_size=60))
def test_a_wider_group_never_counts_fewer(roster: list[Person]) -> None:
    sizes = WHOLE.sizes(Counter(atom_of(p, AS_OF, WHOLE.vocabulary) for p in roster))
    by_group = dict(zip(WHOLE.groups, sizes, strict=True))
    assert by_group[Group(ANY)] == len(roster)
    for group, count in by_group.items():
        assert count <= by_group[group._replace(within=0)] <= by_group[Group(within=0)]
        if group.reach is ABOVE:
            assert count >= by_group[group._replace(reach=Reach.EXACTLY)]


def test_the_lattice_is_the_same_whatever_the_roster() -> None:
    assert lattice(Vocabulary()) == WHOLE
    assert len(set(WHOLE.groups)) == len(WHOLE.groups)
    assert len(set(WHOLE.members)) == len(WHOLE.members), "two names for one group would be audited as two"
    assert WHOLE.groups[0] == Group()


@pytest.mark.parametrize("level", CLEARANCES)
def test_levels_are_those_that_files_load(level: str) -> None:
    assert clearance(level) == level
    assert level in LADDER or level.startswith("DOE")


def test_the_vocabulary_is_what_a_question_can_ask_for() -> None:
    reference = load().reference
    assert {code for code in reference.dimensions["labor_category"].entries.values()} == set(CATEGORIES)
    known = {c.code: c.implies for c in reference.compartments.values()}
    assert set(COMPARTMENTS) <= known.keys()
    assert {code: implies[0] for code, implies in known.items() if implies} == IMPLIES
    assert {level.code for level in reference.clearances.entries.values() if level.code} == set(CLEARANCES)


def size(whole: Lattice, roster: list[Person], group: Group) -> int:
    counts = Counter(atom_of(p, AS_OF, whole.vocabulary) for p in roster)
    return whole.sizes(counts)[whole.groups.index(group)]
