"""What holds of the gate whatever the evidence: its order, what is withheld, and one changed character."""

import random
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from consumer.planner.evidence import SUPPRESSED, Evidence, Row
from consumer.planner.gate import gate
from consumer.planner.narrate import BadSlots, fill
from consumer.planner.render import rendering
from tests import lies, made
from tests.unit.planner.test_gate import SECONDS
from tests.unit.planner.test_narrate import REGISTRY, examples, lies_of, narrated

BENCH = [intent for intent in REGISTRY.intents if REGISTRY.plane(intent.plane).suppressed]
KEPT = ("is suppressed to protect privacy", "is withheld, whatever it is")


def test_the_order_of_rows_changes_no_verdict() -> None:
    checked = 0
    for intent in REGISTRY.intents:

        @examples(4)
        @given(narrated(intent.name), st.randoms(use_true_random=False))
        def same(case: tuple[Evidence, str], rng: random.Random) -> None:
            nonlocal checked
            evidence, narration = case
            rows = list(evidence.rows)
            rng.shuffle(rows)
            shuffled = replace(evidence, rows=tuple(rows))
            for words in (narration, *list(lies_of(evidence, narration))[:6]):
                text = fill(words, [evidence])
                one, other = (gate(text, [found], SECONDS).supported for found in (evidence, shuffled))
                assert one is other, text
                checked += 1

        same()
    assert checked > 300


def test_withholding_a_count_never_makes_a_sentence_supported() -> None:
    checked = 0
    for intent in BENCH:

        @examples(15)
        @given(narrated(intent.name))
        def stays(case: tuple[Evidence, str]) -> None:
            nonlocal checked
            evidence, narration = case
            for words in (narration, *lies_of(evidence, narration), *_hints(evidence)):
                try:
                    text = fill(words, [evidence])
                except BadSlots:
                    continue
                supported = gate(text, [evidence], SECONDS).supported
                for less in _withholding(evidence):
                    now = gate(text, [less], SECONDS).supported
                    assert supported or not now or any(kept in text for kept in KEPT), text
                    checked += 1

        stays()
    assert checked > 500


def _hints(evidence: Evidence) -> Iterator[str]:
    """What a model may say of counts without their numbers."""
    for row in range(min(len(evidence.rows), 3)):
        names = ", ".join(f"{{e1.r{row}.{c.name}}}" for c in evidence.columns if c.key)
        for column in (c for c in evidence.columns if c.sensitive):
            yield from (f"For {names}, {lies.label(column)} {words}." for words in lies.HINTS)
            yield f"{names} has fewer {lies.label(column)} than others."


def _withholding(evidence: Evidence) -> Iterator[Evidence]:
    """The evidence with one more count withheld, and with all of them."""
    places = [i for i, column in enumerate(evidence.columns) if column.sensitive]
    for at, row in enumerate(evidence.rows[:3]):
        for place in (p for p in places if row[p] is not SUPPRESSED):
            rows = (*evidence.rows[:at], _without(row, [place]), *evidence.rows[at + 1 :])
            yield replace(evidence, rows=rows)
    yield replace(evidence, rows=tuple(_without(row, places) for row in evidence.rows))


def _without(row: Row, places: list[int]) -> Row:
    return tuple(SUPPRESSED if i in places else cell for i, cell in enumerate(row))


def test_no_line_of_the_rendering_survives_a_change() -> None:
    """A digit, a sign, a currency, a unit, the year or the subject of a line: each makes it false."""
    refused = 0
    for intent in REGISTRY.intents:
        suppressed = REGISTRY.plane(intent.plane).suppressed

        @examples(6)
        @given(made.evidence(intent, suppressed))
        def falls(evidence: Evidence) -> None:
            nonlocal refused
            keys = [tuple(c for c, d in zip(row, evidence.columns, strict=True) if d.key) for row in evidence.rows]
            if len(set(keys)) < len(keys):
                return  # two rows that read alike bear out what is false of one
            for lie in lies.bent(rendering([evidence])):
                assert not gate(lie.text, [evidence], SECONDS).supported, lie
                refused += 1

        falls()
    assert refused > 500
