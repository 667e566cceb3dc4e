"""Publishing: what a printed count may say, and that it is a function of roster and rule."""

import random
import sys
from collections import Counter

import pytest

from consumer.bench import bounds
from consumer.bench.attack import made_up
from consumer.bench.lattice import ANY, Group, Lattice, Vocabulary, lattice
from consumer.bench.publish import Cell, Rule, cells, publish
from consumer.errors import Misconfigured

SMALL = Vocabulary(categories=("Cyber Analyst",), compartments=("SI", "TK"), windows=(6,))
LATTICE = lattice(SMALL)

# true size, k, round: the printed count and the interval that it stands for
PRINTED = [
    (11, 11, 1, 11, (11, 11)),
    (57, 11, 1, 57, (57, 57)),
    (57, 11, 5, 55, (55, 59)),
    (12, 11, 5, 10, (11, 14)),
    (19, 10, 10, 10, (10, 19)),
]


@pytest.mark.parametrize(("size", "k", "base", "printed", "interval"), PRINTED)
def test_a_floored_count_stands_for_its_whole_interval(
    size: int, k: int, base: int, printed: int, interval: tuple[int, int]
) -> None:
    rule = Rule(k=k, round=base)
    assert (rule.printed(size), rule.interval(size)) == (printed, interval)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rule", [Rule(), Rule(k=5), Rule(k=11, round=5), Rule(k=10, round=10)])
def test_no_count_below_the_threshold_is_printed_and_nothing_is_pinned(seed: int, rule: Rule) -> None:
    counts = made_up(LATTICE, seed)
    sizes = LATTICE.sizes(counts)
    printed = publish(LATTICE, counts, rule)
    assert all(size >= rule.k for size, count in zip(sizes, printed, strict=True) if count is not None)
    seen = [
        bounds.Published(LATTICE.members[i], *rule.interval(sizes[i])) for i, n in enumerate(printed) if n is not None
    ]
    targets = bounds.targets(LATTICE)
    assert bounds.pinned(LATTICE, seen, targets, LATTICE.sizes_of(targets, counts), rule.k) == ([], [])


def test_the_same_people_in_another_order_publish_the_same_cells() -> None:
    counts = made_up(LATTICE, 3)
    again = Counter(dict(random.Random(1).sample(list(counts.items()), len(counts))))
    assert cells(LATTICE, publish(LATTICE, counts, Rule())) == cells(LATTICE, publish(LATTICE, again, Rule()))


def test_zero_small_and_overlapping_counts_look_the_same() -> None:
    groups = (Group(), Group("TS"), Group("SECRET"), Group("NONE"))
    made = cells(Lattice(SMALL, (), groups, (0b111, 0b001, 0b010, 0b100)), (40, None, None, None))
    withheld = {cell[4:] for cell in made if cell.clearance in ("TS", "SECRET")}
    assert withheld == {(None, None, "everyone", 40)}


def test_a_withheld_cell_offers_the_smallest_published_group_around_it() -> None:
    printed: list[int | None] = [None] * len(LATTICE.groups)
    for group, count in ((Group(), 90), (Group("TS_SCI"), 40), (Group("TS_SCI", compartments=("SI",)), 20)):
        printed[LATTICE.groups.index(group)] = count
    made = {(c.clearance, c.compartments, c.within_months, c.labor_category): c for c in cells(LATTICE, printed)}
    assert wider(made["TS_SCI", "SI/TK", 0, ""]) == ("TS/SCI with SI", 20)
    assert wider(made["TS_SCI", "SI", 6, ""]) == ("TS/SCI with SI", 20)
    assert wider(made["TS_SCI", "SI", 0, ""]) == ("TS/SCI", 40)
    assert wider(made["TS_SCI", "", 0, "Cyber Analyst"]) == ("TS/SCI", 40)
    assert wider(made["SECRET", "", 6, "Cyber Analyst"]) == ("everyone", 90)
    assert wider(made[ANY, "", 0, ""]) == ("everyone", 90)


def test_without_scipy_the_error_names_the_extra_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(Misconfigured, match=r"planner\[publisher\]"):
        publish(LATTICE, made_up(LATTICE, 1), Rule())


def wider(cell: Cell) -> tuple[str, int | None]:
    return cell.wider_group, cell.wider_count
