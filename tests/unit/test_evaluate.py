"""Scoring labelled cases, and the commands that print it: `eval` and `explain`."""

import json
from pathlib import Path
from typing import Any

import pytest

from consumer import __main__ as command_line
from consumer.errors import Misconfigured
from consumer.evaluate import Case, read_cases

NAVY = "Department of the Navy"
RIGHT = {
    "id": "T1",
    "type": "single",
    "question": f'Who competes at "{NAVY}" in 541512?',
    "expect": "answer",
    "intents": ["market.competitors"],
    "planes": ["market"],
    "params": {"agency": NAVY, "naics": "541512"},
}
WRONG = {**RIGHT, "id": "T2", "intents": ["market.duration"], "params": {"naics": "541512"}}
REFUSED = {"id": "T3", "type": "guard", "question": "How many of our engineers are women?", "expect": "refuse"}
MISSED = {"id": "T4", "type": "guard", "question": "Who competes in 541512?", "label": "refuse"}
FALSE = {"id": "T5", "type": "guard", "question": "How many of our engineers are women?", "label": "pass"}
VAGUE = {"id": "T6", "type": "single", "question": "Who competes?", "expect": "clarify", "params": {}}
CASES = (RIGHT, WRONG, REFUSED, MISSED, FALSE, VAGUE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "cases.jsonl"
    path.write_text("\n".join(map(json.dumps, CASES)) + "\n\n", encoding="utf-8")
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    import sys  # noqa: PLC0415 the command line reads it

    before, sys.argv = sys.argv, ["planner", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as ended:
            command_line.main()
    finally:
        sys.argv = before
    printed = capsys.readouterr()
    code = ended.value.code
    assert isinstance(code, int)
    return code, printed.out, printed.err


def test_eval_counts_what_is_right_and_shows_what_is_not(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "eval", file, "--json")
    made: dict[str, Any] = json.loads(out)
    assert code == 0
    assert (made["cases"], made["exact_intents"], made["exact_params"]) == (6, 5, 5)
    assert (made["guard_misses"], made["false_refusals"], made["as_expected"]) == (1, 1, 4)
    assert made["labelled"] == {"intents": 2, "params": 3, "planes": 2, "expect": 6}
    assert made["intents"] == {"precision": 0.5, "recall": 0.5}
    assert made["by_type"]["guard"] == {"cases": 3, "passed": 1, "exact_intents": 3, "exact_params": 3}
    assert [failure["id"] for failure in made["failures"]] == ["T2", "T4", "T5"]
    assert made["failures"][0]["got"]["intents"] == ["market.competitors"]


def test_eval_prints_a_table_and_the_failures_for_a_person(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "eval", file)
    assert code == 0
    for text in ("6 cases", "exact set of intents", "1 of 2 (50.0 %)", "guard misses", "T2", "market.duration"):
        assert text in out


@pytest.mark.parametrize(
    ("content", "says"),
    [("", "holds no case"), ("not json\n", "line 1"), ('{"id": "x"}\n', "question"), ('{"question": 3}\n', "line 1")],
)
def test_a_file_that_holds_no_cases_is_bad_usage(
    content: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "cases.jsonl"
    path.write_text(content, encoding="utf-8")
    code, _, err = run(capsys, "eval", path)
    assert (code, err.count("\n")) == (2, 1)
    assert says in err
    with pytest.raises(Misconfigured):
        read_cases(path)


@pytest.mark.parametrize(
    ("written", "outcomes"),
    [
        ("answer", {"answer"}),
        ("clarify_or_refuse", {"clarify", "refuse"}),
        ("refuse_or_clean", {"refuse", "answer"}),
        ("allow", {"pass"}),
        ("", set()),
    ],
)
def test_an_expectation_may_name_two_outcomes(written: str, outcomes: set[str]) -> None:
    assert Case(question="?", expect=written).outcomes == outcomes
    assert Case(question="?", label=written).outcomes == outcomes


COMPOUND = f'Who competes for 541512 at "{NAVY}", and do we have TS/SCI people for it?'
KINDS = {"agency", "naics", "uuid", "uei", "clearance", "compartments", "window_months"}


def test_explain_gives_the_promised_document(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", COMPOUND, "--scope", "market:read", "--scope", "bench:read", "--json")
    made: dict[str, Any] = json.loads(out)
    assert code == 0
    assert made["question"] == COMPOUND
    assert made["guard"] == {"verdict": "pass", "code": None}
    assert made["params"].keys() >= KINDS
    agency = made["params"]["agency"]
    assert (agency["status"], agency["value"]) == ("ok", NAVY)
    assert COMPOUND[slice(*agency["span"])] == NAVY
    assert made["params"]["uei"] == {"status": "missing", "value": None, "span": None}
    assert made["route"] == "plan"
    assert made["intents"] == ["market.competitors", "bench.cleared_count"]
    assert made["planes"] == ["market", "bench"]
    assert made["samples"] == [["market.competitors", "bench.cleared_count"]] * 2
    assert set(made["intents"]) <= set(made["bindable"])
    assert not any(name.startswith("graph.") for name in made["bindable"])
    assert made["edges"] == []


def test_explain_shows_an_edge(capsys: pytest.CaptureFixture[str]) -> None:
    question = "Who is the incumbent on opportunity 5d1c7a90-2f4b-4e83-9b16-c0a7d2e8f431, and what else do they hold?"
    _, out, _ = run(capsys, "explain", question, "--json")
    edge = {"from": "market.opportunity", "column": "incumbent_uei", "to": "market.vendor_profile", "param": "uei"}
    assert json.loads(out)["edges"] == [edge]
    _, out, _ = run(capsys, "explain", question)
    assert "gives market.vendor_profile its uei" in " ".join(out.split())


def test_explain_is_readable_at_a_glance(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", COMPOUND, "--scope", "market:read")
    heads = [line.split()[0] for line in out.splitlines() if line and not line.startswith(" ")]
    assert code == 0
    assert heads == ["guard", "values", "route", "can", "sample", "sample", "vote", "plan", "left"]
    assert "bench.cleared_count: unauthorized" in out


def test_explain_shows_what_a_refused_question_holds_and_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "explain", "How many TS/SCI engineers are women?", "--json")
    made = json.loads(out)
    assert (code, made["guard"]["verdict"], made["route"]) == (0, "refuse", "refused")
    assert made["params"]["clearance"]["value"] == "TS_SCI"
    assert (made["intents"], made["bindable"], made["planes"]) == ([], [], [])


def test_explain_says_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "explain", "Who competes?", "--json")
    made = json.loads(out)
    assert (made["route"], made["planes"]) == ("clarify", ["market"])
    assert {need["kind"] for need in made["needs"]} == {"agency", "naics"}


def test_a_batch_gives_a_line_for_each_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "batch.jsonl"
    lines = [{"question": COMPOUND}, {"question": COMPOUND, "scopes": ["market:read"]}, {"question": "Who competes?"}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    code, out, _ = run(capsys, "explain", "--batch", path)
    made = [json.loads(line) for line in out.splitlines()]
    assert code == 0
    assert [one["route"] for one in made] == ["plan", "plan", "clarify"]
    assert [len(one["intents"]) for one in made] == [2, 1, 0]


def test_explain_without_a_question_is_bad_usage(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "explain")
    assert (code, "--batch" in err) == (2, True)
