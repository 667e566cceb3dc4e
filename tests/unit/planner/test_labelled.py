"""The labelled questions, scored as `planner eval` scores them, with the embedded proposer."""

import asyncio
import time
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from consumer import evaluate, service
from consumer.deadline import Deadline
from consumer.planner.classify import vocabulary_of
from consumer.planner.extract import extract
from consumer.planner.guard import guard_of
from consumer.planner.normalise import clean
from consumer.planner.plan import bindable
from consumer.planner.route import route
from consumer.settings import Settings
from tests.support import ROOT

CASES = ROOT / "tests" / "cases"


@cache
def scored(file: Path) -> tuple[evaluate.Scored, ...]:
    async def run() -> tuple[evaluate.Scored, ...]:
        async with service.judge(Settings()) as judge:
            return tuple([one async for one in evaluate.evaluate(evaluate.read_cases(file), judge)])

    return asyncio.run(run())


def report(file: Path) -> dict[str, Any]:
    return evaluate.report(scored(file))


def test_the_shared_questions_are_right_in_19_of_20(shared: Path) -> None:
    made = report(shared / "cases" / "questions.jsonl")
    assert made["cases"] == 20
    assert made["exact_params"] >= 19
    assert made["exact_planes"] >= 19


def test_every_adversarial_row_does_what_it_expects(shared: Path) -> None:
    made = report(shared / "cases" / "adversarial.jsonl")
    assert (made["as_expected"], made["exact_params"]) == (made["cases"], made["cases"]), made["failures"]


@pytest.mark.parametrize("name", ["questions.jsonl", "questions_fresh.jsonl", "questions_third.jsonl"])
def test_our_own_questions_are_exact_in_nine_of_ten(name: str) -> None:
    made = report(CASES / name)
    assert made["exact_intents"] >= 0.9 * made["cases"], made["failures"]
    assert made["exact_params"] == made["cases"], made["failures"]
    assert made["guard_misses"] == 0
    assert made["false_refusals"] <= 0.03 * made["cases"], made["failures"]


@pytest.mark.parametrize(
    "words",
    [
        "do we have at least {} people with TS/SCI?",
        "are there more than {} TS/SCI people?",
        "what percent of {} is our TS/SCI bench?",
        "do {} percent of our people hold TS/SCI?",
    ],
)
async def test_a_number_to_compare_a_count_with_changes_no_count(words: str) -> None:
    """Bisecting a withheld count (Denning and Schloerer 1980): the number is refused, or the answer is the same."""
    async with service.judge(Settings()) as judge:
        every = frozenset(plane.scope for plane in judge.registry.planes)
        made = [await judge.judge(words.format(n), None, every, Deadline.after(10)) for n in range(1, 21)]
    ran = [
        (one.plan.names, {name: found.value for name, found in one.params.items()}) for one in made if one.plan.nodes
    ]
    assert all(one == ran[0] for one in ran)


def test_the_labelled_set_is_large_and_of_every_kind() -> None:
    cases = evaluate.read_cases(CASES / "questions.jsonl")
    assert len(cases) >= 150
    assert {case.type for case in cases} == {"single", "compound", "edge", "missing", "value", "documents"}
    intents = {name for case in cases for name in case.intents or ()}
    assert len(intents) == 29


def test_a_value_that_is_ambiguous_or_invalid_binds_no_intent(shared: Path) -> None:
    for file in (shared / "cases" / "adversarial.jsonl", CASES / "questions.jsonl"):
        for one in scored(file):
            wrong = {kind for kind, found in one.got.params.items() if found.status in ("ambiguous", "invalid")}
            if wrong & {"agency", "naics", "uuid", "uei", "clearance", "compartments", "window_months"}:
                assert not one.got.intents, one.case.question


def test_an_ordinary_question_is_judged_in_well_under_a_millisecond() -> None:
    """The goal is 300 µs from guard to bind, measured by `make bench`; here others share the caches."""
    registry = service.load_registry(Settings())
    guard, vocabulary = guard_of(registry), vocabulary_of(registry)
    scopes = frozenset(plane.scope for plane in registry.planes)
    times: list[float] = []
    for case in evaluate.read_cases(CASES / "questions.jsonl") * 3:
        start = time.thread_time()
        guard.check(case.question)
        text = clean(case.question)
        params = extract(text, registry.reference)
        route(text, None, params, registry, vocabulary, scopes)
        bindable(registry, params, scopes)
        times.append(time.thread_time() - start)
    assert median(times) < 0.001
