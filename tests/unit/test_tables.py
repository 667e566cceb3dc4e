"""The tables of tests/README.md name tests that exist."""

import re

from tests.support import ROOT

TESTS = ROOT / "tests"


def test_every_test_that_the_tables_name_exists() -> None:
    named = set(re.findall(r"`(test_\w+)`", (TESTS / "README.md").read_text()))
    there = {name for file in TESTS.rglob("test_*.py") for name in re.findall(r"def (test_\w+)", file.read_text())}
    assert len(named) > 40
    assert named <= there
