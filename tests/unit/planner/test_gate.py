# ruff: noqa: E501 a case a line reads best
"""The gate: labelled sentences, every mutant of a true one, and what must not change a verdict."""

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from consumer.planner.evidence import SUPPRESSED, Evidence
from consumer.planner.gate import Code, evaluate, gate
from consumer.planner.gate.evaluate import evidence_of
from consumer.planner.gate.quantities import Kind, agrees, quantities
from tests.support import SHARED

CASES = Path(__file__).parents[2] / "cases"
FILES = ("faithfulness-cases.jsonl", "faithfulness-cases-extra.jsonl")
SECONDS = 5.0

CONTRACTS: dict[str, Any] = {
    "id": "e1", "plane": "market", "intent": "market.recompetes", "heading": "Recompetes", "noun": ["recompete", "contract"],
    "complete": True, "total_rows": 3, "as_of": "2026-12-01", "scope": {"window_months": 18, "agency": "Coast Guard"},
    "columns": [
        {"name": "piid", "type": "id", "key": True, "words": ["contract"]},
        {"name": "vendor", "type": "entity", "words": ["vendor", "incumbent"]},
        {"name": "ends", "type": "date", "words": ["ends", "end", "expires"]},
        {"name": "started", "type": "date", "words": ["started", "began"]},
        {"name": "obligated", "type": "money", "unit": "USD", "additive": True, "words": ["obligated", "obligations"]},
        {"name": "offers", "type": "count", "unit": "offers", "words": ["offers"]},
        {"name": "share", "type": "percent", "words": ["share"]},
    ],
    "rows": [
        ["70Z02326C0001", "Larkspur Marine Systems LLC", "2027-05-31", "2022-06-01", "12400000.00", "4", "48.6"],
        ["70Z02325C0017", "Quoin Data Inc", "2027-11-30", "2023-12-01", "8150000.50", "2", "31.9"],
        ["70Z02324F0220", "Larkspur Marine Systems LLC", "2028-02-28", "2024-03-01", "4980000.00", "1", "19.5"],
    ],
}  # fmt: skip
BENCH: dict[str, Any] = {
    "id": "e2", "plane": "bench", "intent": "bench.by_clearance", "heading": "Bench by clearance", "noun": ["level"],
    "complete": True, "total_rows": 3, "as_of": "2026-12-01", "scope": {}, "k": 11,
    "columns": [
        {"name": "clearance", "type": "enum", "key": True, "words": ["clearance"]},
        {"name": "holders", "type": "count", "unit": "people", "sensitive": True, "words": ["people", "holders"]},
    ],
    "rows": [["Secret", "64"], ["Top Secret", "23"], ["DOE Q", {"$suppressed": True}]],
}  # fmt: skip
EVIDENCE = [evidence_of(CONTRACTS), evidence_of(BENCH)]

SUPPORTED = [
    "Larkspur Marine Systems holds contract 70Z02326C0001, which ends on 31 May 2027.",
    "Contract 70Z02325C0017 obligated $8,150,000.50 to Quoin Data Inc.",
    "Quoin Data received about $8.2 million.",
    "Quoin Data's contract expires in November 2027.",
    "The contract 70Z02326C0001 of Larkspur Marine Systems started on 1 June 2022.",
    "Three contracts were found in the 18 month window.",
    "Two of the three contracts are held by Larkspur Marine Systems LLC.",
    "The three contracts total $25,530,000.50 in obligations.",
    "The largest contract is $12.4 million to Larkspur Marine Systems.",
    "Contract 70Z02324F0220 had 1 offers and a share of 19.5 percent.",
    "Quoin Data holds a 31.9% share.",
    "There are 64 Secret and 23 Top Secret holders.",
    "The DOE Q holders are suppressed to protect privacy.",
    "Quoin Data's contract 70Z02325C0017 is larger than contract 70Z02324F0220.",
]
REFUSED = [
    ("Quoin Data received $12.4 million.", Code.VALUE_MISMATCH),
    ("Quoin Data received $8.2 billion.", None),
    ("Quoin Data received 8.15 million euros.", Code.UNIT_MISMATCH),
    ("Quoin Data is the best choice.", Code.FORBIDDEN_CLAIM),
    ("Most contracts are held by Larkspur Marine Systems.", Code.VAGUE_QUANTIFIER),
    ("Brindle Partners received $8.2 million.", None),
    ("Contract 70Z02325C0071 obligated $8,150,000.50.", None),
    ("The average contract is $8,510,000.17.", Code.DERIVED_NOT_WHITELISTED),
    ("Quoin Data will expire in November 2027.", Code.FORBIDDEN_CLAIM),
    ("Quoin Data's contract started in November 2027.", None),
    ("There are 9 DOE Q holders.", Code.SUPPRESSED_CELL),
    ("Fewer than 11 people hold DOE Q.", Code.SUPPRESSED_CELL),
    ("There are no DOE Q holders.", Code.SUPPRESSED_CELL),
    ("Secret outnumber DOE Q holders.", Code.SUPPRESSED_CELL),
    ("The Secret holders are suppressed to protect privacy.", Code.SUPPRESSION_FALSE),
    ("The bench has 87 people in total.", None),
    ("It received $8.2 million.", None),
    ("Larkspur has no contracts.", None),
    ("Contract 70Z02324F0220 is larger than contract 70Z02325C0017.", Code.COMPARISON_FALSE),
    ("Four contracts were found.", Code.COUNT_MISMATCH),
    ('The vendor says "we are cheaper".', Code.QUOTE_MISMATCH),
    ("", Code.UNANCHORED),
    ("Quoin Data received $8.2 million. " + "Quoin Data " * 60, Code.GATE_ERROR),
    ("Quoin Data ended on February 30, 2027.", Code.GATE_ERROR),
]


@pytest.mark.parametrize("sentence", SUPPORTED)
def test_a_true_sentence_is_supported(sentence: str) -> None:
    assert gate(sentence, EVIDENCE, SECONDS).code is Code.OK


@pytest.mark.parametrize(("sentence", "code"), REFUSED)
def test_a_false_sentence_is_refused(sentence: str, code: Code | None) -> None:
    verdict = gate(sentence, EVIDENCE, SECONDS)
    assert not verdict.supported
    if code is not None:
        assert verdict.code is code


@pytest.mark.parametrize("name", FILES)
def test_every_shared_label_is_right(name: str, shared: Path) -> None:
    report = evaluate(shared / "cases" / name)
    assert (report.false_accepts, report.false_rejects) == (0, 0), report.failures
    assert report.cases >= 36


def test_own_labels_have_no_false_accept_and_few_false_rejects() -> None:
    report = evaluate(CASES / "gate_fresh.jsonl")
    assert report.false_accepts == 0, report.failures
    assert report.true_accepts >= 0.9 * (report.true_accepts + report.false_rejects)


def mutants(sentence: str, evidence: list[Evidence]) -> Iterator[str]:
    """The sentence with one digit, unit, operator or name changed, so that it says something else."""
    for match in re.finditer(r"\d", sentence):
        digit = str((int(match[0]) + 3) % 10)
        yield sentence[: match.start()] + digit + sentence[match.end() :]
    swaps = [
        ("million", "billion"), ("million", "thousand"), ("$", "€"), ("%", " percentage points"), ("larger", "smaller"),
        ("largest", "smallest"), ("smallest", "largest"), ("smaller", "larger"), ("more than", "less than"),
        ("over", "under"), ("Two", "Three"), ("Three", "Four"), ("Four", "Five"), ("second", "third"), ("twice", "thrice"),
        ("mandatory", "optional"), ("optional", "mandatory"), ("highest", "lowest"), ("total", "average"),
    ]  # fmt: skip
    for old, new in swaps:
        if old in sentence:
            yield sentence.replace(old, new, 1)
    names = sorted(
        {str(c) for e in evidence for row in e.rows for c in row if isinstance(c, str)}, key=len, reverse=True
    )
    for name in names:
        if name in sentence:
            yield sentence.replace(name, "Northgate Dynamics", 1)


def supported_cases() -> list[tuple[str, list[Evidence]]]:
    found = [(sentence, EVIDENCE) for sentence in SUPPORTED]
    for name in FILES:
        file = SHARED / "cases" / name
        for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
            case = json.loads(line)
            if case["label"] == "supported":
                found.append((case["sentence"], [evidence_of(item) for item in case["evidence"]]))
    return found


def test_no_mutant_of_a_true_sentence_is_supported() -> None:
    accepted = [
        mutant
        for sentence, evidence in supported_cases()
        for mutant in mutants(sentence, evidence)
        if mutant != sentence and gate(mutant, evidence, SECONDS).supported
    ]
    assert accepted == []


@given(st.randoms(use_true_random=False))
def test_the_order_of_rows_changes_no_verdict(rng: Any) -> None:
    rows = list(EVIDENCE[0].rows)
    rng.shuffle(rows)
    shuffled = [replace(EVIDENCE[0], rows=tuple(rows)), EVIDENCE[1]]
    for sentence in [*SUPPORTED, *(s for s, _ in REFUSED)]:
        assert gate(sentence, shuffled, SECONDS).supported is gate(sentence, EVIDENCE, SECONDS).supported


def test_withholding_a_cell_never_makes_a_sentence_supported() -> None:
    bench = EVIDENCE[1]
    for place in range(len(bench.rows)):
        rows = tuple((row[0], SUPPRESSED if i == place else row[1]) for i, row in enumerate(bench.rows))
        hidden = [EVIDENCE[0], replace(bench, rows=rows)]
        for sentence, _ in REFUSED:
            if "suppressed to protect privacy" not in sentence:
                assert not gate(sentence, hidden, SECONDS).supported, sentence


def test_evidence_about_something_else_never_makes_a_sentence_supported() -> None:
    for sentence, _ in REFUSED:
        assert not gate(sentence, [*EVIDENCE, replace(EVIDENCE[0], id="e3", rows=())], SECONDS).supported


@given(st.text(max_size=500))
def test_whatever_the_text_the_gate_answers(text: str) -> None:
    gate(text, EVIDENCE, SECONDS)


QUANTITIES = [
    ("$1.2M", Kind.MONEY, "1200000", "100000"),
    ("USD 2,150,000", Kind.MONEY, "2150000", "1"),
    ("$452.3K", Kind.MONEY, "452300", "100"),
    ("34.6%", Kind.PERCENT, "34.6", "0.1"),
    ("35 percent", Kind.PERCENT, "35", "1"),
    ("17.6 percentage points", Kind.POINTS, "17.6", "0.1"),
    ("twenty-three", Kind.NUMBER, "23", "1"),
    ("eighteen months", Kind.DURATION, "18", "1"),
    ("2nd", Kind.ORDINAL, "2", "1"),
    ("-$2,500.00", Kind.MONEY, "-2500.00", "0.01"),
]


@pytest.mark.parametrize(("text", "kind", "value", "place"), QUANTITIES)
def test_a_quantity_is_read_with_its_place(text: str, kind: Kind, value: str, place: str) -> None:
    (found,) = quantities(text)
    assert (found.kind, found.value, found.place) == (kind, Decimal(value), Decimal(place))


ROUNDING = [
    ("1234567.89", "$1.2M", "", True), ("1234567.89", "$1.23 million", "", True), ("1234567.89", "$1.3M", "", False),
    ("1234567.89", "$1 million", "", False), ("4800000", "$4 million", "", False), ("2150000", "$2.1 million", "over", True),
    ("2150000", "$2.2 million", "over", False), ("34.6", "35 percent", "roughly", True), ("7", "8", "about", False),
]  # fmt: skip


@pytest.mark.parametrize(("value", "text", "how", "expected"), ROUNDING)
def test_rounding_is_declared(value: str, text: str, how: str, expected: bool) -> None:
    (found,) = quantities(text)
    assert agrees(Decimal(value), found, how) is expected
