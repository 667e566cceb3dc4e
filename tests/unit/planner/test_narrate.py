"""Narration by slots: what the model is told, what is put in for it, and that no slot in the wrong place ships."""

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from consumer.planner.evidence import SUPPRESSED, Cell, Evidence
from consumer.planner.gate import gate
from consumer.planner.gate.evaluate import evidence_of
from consumer.planner.narrate import BadSlots, fill, prompt
from registry.catalog import load
from tests import made, slots
from tests.unit.planner.test_gate import BENCH, CONTRACTS, SECONDS

REGISTRY = load()
EVIDENCE = [evidence_of(CONTRACTS), evidence_of(BENCH)]
SLOT = re.compile(r"\{e1\.r(?P<row>\d+)\.(?P<column>[a-z_]+)\}")


def test_every_reference_becomes_its_value() -> None:
    text = "{e1.r1.vendor} has {count:e1} rows to share {sum:e1.obligated} with, until {e1.r1.ends}; {e2.r0.holders}."
    assert fill(text, EVIDENCE) == (
        "Quoin Data Inc has 3 rows to share $25,530,000.50 with, until 30 November 2027; 64."
    )


BAD = [
    "{e3.r0.vendor} holds it.",
    "{e1.r9.vendor} holds it.",
    "{e1.r0.salary} is high.",
    "{e1.vendor} holds it.",
    "{e1.r0.vendor holds it.",
    "{mean:e1.obligated} is the mean.",
    "{sum:e1.share} is the sum.",
    "{sum:e2.holders} people.",
    "{count:e1.vendor} rows.",
    "There are {e2.r2.holders} people.",
    "{e1.r0.vendor} holds 4 awards.",
    "{e1.r0.vendor} holds four awards.",
    "{e1.r0.vendor} ranks first.",
    "{{e1.r0.vendor}} holds it.",
]


@pytest.mark.parametrize("text", BAD)
def test_a_reference_to_nothing_or_a_value_beside_them_is_refused(text: str) -> None:
    with pytest.raises(BadSlots):
        fill(text, EVIDENCE)


def test_the_prompt_holds_no_value_of_the_data() -> None:
    told = prompt("Who?", EVIDENCE)
    for item in EVIDENCE:
        for cell in (cell for row in item.rows for cell in row if cell is not SUPPRESSED):
            assert not re.search(rf"\b{re.escape(_plain(cell))}\b", told), cell
    assert "Withheld: r2.holders." in told


def _plain(cell: Cell) -> str:
    return cell.isoformat() if isinstance(cell, date) else str(cell)


@st.composite
def narrated(draw: st.DrawFn, name: str) -> tuple[Evidence, str]:
    """Evidence of an intent and what a model wrote of it, with its slots."""
    intent = REGISTRY.by_name[name]
    found = draw(made.evidence(intent, REGISTRY.plane(intent.plane).suppressed))
    return found, slots.honest(prompt("What?", [found]), random.Random(draw(st.integers(0, 10**6))))


def examples(count: int) -> settings:
    health = [HealthCheck.too_slow, HealthCheck.data_too_large]
    return settings(
        max_examples=count, deadline=None, derandomize=True, phases=[Phase.generate], suppress_health_check=health
    )


def test_nineteen_of_twenty_narrations_by_slots_ship() -> None:
    shipped: Counter[bool] = Counter()
    for intent in REGISTRY.intents:

        @examples(12)
        @given(narrated(intent.name))
        def tells(case: tuple[Evidence, str]) -> None:
            shipped[gate(fill(case[1], [case[0]]), [case[0]], SECONDS).supported] += 1

        tells()
    assert shipped[True] >= 0.95 * shipped.total() > 200, shipped


def test_no_slot_in_the_place_of_another_is_supported() -> None:
    """Values of another row, and values of another column under a label: what the row doesn't say is refused."""
    refused = 0
    for intent in REGISTRY.intents:

        @examples(5)
        @given(narrated(intent.name))
        def lies(case: tuple[Evidence, str]) -> None:
            nonlocal refused
            for lie in lies_of(*case):
                assert not gate(fill(lie, [case[0]]), [case[0]], SECONDS).supported, lie
                refused += 1

        lies()
    assert refused > 500


def lies_of(evidence: Evidence, narration: str) -> Iterator[str]:
    columns = {column.name: place for place, column in enumerate(evidence.columns)}
    for sentence in re.split(r"(?<=\.)\s", narration):
        found = list(SLOT.finditer(sentence))
        for slot in found:
            place = columns[slot["column"]]
            rest = [(columns[s["column"]], _cell(evidence, s)) for s in found if s is not slot]
            for row, column in _elsewhere(evidence, int(slot["row"]), place):
                cell = evidence.rows[row][columns[column]]
                told = [*rest, (place, cell)]
                if cell in (SUPPRESSED, None, ()) or any(_holds(r, told) for r in evidence.rows):
                    continue
                yield sentence[: slot.start()] + f"{{e1.r{row}.{column}}}" + sentence[slot.end() :]


def _elsewhere(evidence: Evidence, row: int, place: int) -> Iterator[tuple[int, str]]:
    own = evidence.columns[place]
    if own.key:
        return
    yield from ((other, own.name) for other in range(len(evidence.rows)) if other != row)
    for column in evidence.columns:
        if column.type is own.type and not column.key and not column.plural and not own.plural:
            yield row, column.name


def _cell(evidence: Evidence, slot: re.Match[str]) -> Cell:
    names = [column.name for column in evidence.columns]
    return evidence.rows[int(slot["row"])][names.index(slot["column"])]


def _holds(row: tuple[Cell, ...], told: list[tuple[int, Cell]]) -> bool:
    return all(_set(cell) <= _set(row[place]) for place, cell in told)


def _set(cell: Cell) -> set[Cell]:
    return set(cell) if isinstance(cell, tuple) else {cell}


def test_two_hundred_rows_are_checked_in_ten_milliseconds() -> None:
    names = [f"Harbour {'ABCDEFGHIJKLMNOPQRST'[n % 20]}{n} Systems LLC" for n in range(200)]
    rows = tuple(
        (f"70Z0232{n:05d}", names[n], date(2027, 1, 1), date(2022, 1, 1), Decimal(1_000 + n), n, Decimal(1))
        for n in range(200)
    )
    found = [replace(EVIDENCE[0], rows=rows)]
    times: list[float] = []
    for n in range(100):
        started = time.thread_time()  # of this thread alone: the machine of the tests is shared
        assert gate(f"{names[n]} holds contract 70Z0232{n:05d} with $1,{n:03d}.00 obligated.", found, SECONDS).supported
        times.append(time.thread_time() - started)
    assert sorted(times)[98] < 0.01
