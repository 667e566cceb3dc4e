"""The attack as a test: nothing of the published lattice falls to it, a plain threshold does on the same benches."""

import pytest

from consumer.bench.attack import attack, made_up, threshold_only
from consumer.bench.lattice import Vocabulary, lattice
from consumer.bench.publish import Rule, publish

LATTICE = lattice(Vocabulary())
RULE = Rule()
SEEDS = range(1000, 1030)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_small_group_is_recovered_or_pinned(seed: int) -> None:
    counts = made_up(LATTICE, seed)
    arm = attack(LATTICE, publish(LATTICE, counts, RULE), counts, RULE)
    assert (arm.recovered, arm.pinned, arm.subtracted, arm.leaking) == (0, 0, 0, 0)
    assert arm.targets > 100, "a bench without small groups proves nothing"
    assert arm.answered > 0, "a lattice that publishes nothing is safe and useless"


@pytest.mark.parametrize("seed", [1002, 1005, 1012, 1019])
def test_the_same_attack_on_a_threshold_alone_succeeds(seed: int) -> None:
    counts = made_up(LATTICE, seed)
    arm = attack(LATTICE, threshold_only(LATTICE, counts, RULE), counts, RULE)
    assert arm.recovered > 0
    assert arm.subtracted > 0
