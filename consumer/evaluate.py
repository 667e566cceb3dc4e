"""Scores labelled questions: what the stages before a query decide against what a person says they should.

A case is a line of JSON with `question` and any of these labels: `expect` (`answer`, `clarify`, `refuse`, also two
joined by `_or_`; `label` is another name for it), `intents`, `params`, `planes`. A case without a label of a kind is
not scored on it.
"""

import json
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from consumer.deadline import Deadline
from consumer.errors import Misconfigured
from consumer.explanation import Explanation, explain
from consumer.planner.answer import Judge
from schemas.answer import Route

QUESTION_SECONDS = 60.0
ALWAYS = ("agency", "naics", "uuid", "uei", "clearance", "compartments", "window_months")
"""Kinds that are compared in every case with `params`; further ones are compared where the label names them."""
ANSWER, REFUSE = frozenset({"answer"}), frozenset({"refuse"})
WORDS = {"supported": "answer", "allow": "pass"}
"""Other words for an outcome. `pass` is any but a refusal."""

Value = str | int | list[str | int]


class Case(Struct, frozen=True, kw_only=True):
    """One labelled question. `type` groups the report; `scopes` are the asker's, by default all of the Registry."""

    id: str = ""
    question: str
    type: str = ""
    expect: str = ""
    label: str = ""
    intents: tuple[str, ...] | None = None
    params: dict[str, Value] | None = None
    planes: tuple[str, ...] | None = None
    scopes: tuple[str, ...] | None = None

    @property
    def outcomes(self) -> frozenset[str]:
        """What may come of it: `answer`, `clarify`, `refuse`."""
        expected = self.expect or self.label
        expected = WORDS.get(expected, expected).replace("clean", "answer")
        return frozenset(expected.split("_or_")) if expected else frozenset()


class Scored(Struct, frozen=True, kw_only=True):
    """One case with what was got for it. A flag is None where the case has no label of that kind."""

    case: Case
    got: Explanation
    params: dict[str, Value]
    exact_intents: bool | None
    exact_params: bool | None
    exact_planes: bool | None
    as_expected: bool | None

    @property
    def passed(self) -> bool:
        return False not in (self.exact_intents, self.exact_params, self.exact_planes, self.as_expected)

    @property
    def outcome(self) -> str:
        return outcome(self.got)


def read_cases(file: Path) -> list[Case]:
    """Raises Misconfigured that names the line."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{file} can't be read: {error}") from None
    cases: list[Case] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            cases.append(msgspec.json.decode(line, type=Case))
        except msgspec.DecodeError as error:
            raise Misconfigured(f"{file} line {number}: {error}") from None
    if not cases:
        raise Misconfigured(f"{file} holds no case: one JSON object a line, with a question and its labels")
    return cases


async def evaluate(cases: Iterable[Case], judge: Judge) -> AsyncGenerator[Scored, None]:
    every = frozenset(plane.scope for plane in judge.registry.planes)
    for case in cases:
        scopes = every if case.scopes is None else frozenset(case.scopes)
        judged = await judge.judge(case.question, None, scopes, Deadline.after(QUESTION_SECONDS))
        yield score(case, explain(case.question, judged, judge))


def outcome(got: Explanation) -> str:
    """What an asker gets: `refuse`, `clarify`, `documents` (a search of them) or `answer` (rows)."""
    return {Route.REFUSED: "refuse", Route.CLARIFY: "clarify", Route.RAG: "documents"}.get(got.route, "answer")


def score(case: Case, got: Explanation) -> Scored:
    """Values of a refused question are not used and not compared; an intent can't be exact where none may run."""
    found = {
        kind: list(one.value) if isinstance(one.value, tuple) else one.value
        for kind, one in got.params.items()
        if one.value is not None and (kind in ALWAYS or kind in (case.params or {}))
    }
    came = outcome(got)
    refused = came == "refuse"
    wants = case.outcomes
    from_documents = came == "documents" and case.intents is None and not case.planes
    return Scored(
        case=case,
        got=got,
        params=found,
        exact_intents=None if case.intents is None else set(got.intents) == set(case.intents),
        exact_params=None if case.params is None else (refused and "refuse" in wants) or _same(found, case.params),
        exact_planes=None if case.planes is None or wants != ANSWER else set(got.planes) == set(case.planes),
        as_expected=_meets(came, wants, from_documents),
    )


def _meets(came: str, wants: frozenset[str], from_documents: bool) -> bool | None:
    if not wants:
        return None
    return came in wants or ("pass" in wants and came != "refuse") or ("answer" in wants and from_documents)


def _same(found: Mapping[str, Value], labelled: Mapping[str, Value]) -> bool:
    def plain(values: Mapping[str, Value]) -> dict[str, Any]:
        return {kind: sorted(v) if isinstance(v, list) else v for kind, v in values.items()}

    return plain(found) == plain(labelled)


def report(scored: Sequence[Scored]) -> dict[str, Any]:
    """The document of `planner eval --json`. Counts are of cases; a case without a label of a kind can't miss it."""
    return {
        "cases": len(scored),
        "labelled": {
            "intents": sum(one.exact_intents is not None for one in scored),
            "params": sum(one.exact_params is not None for one in scored),
            "planes": sum(one.exact_planes is not None for one in scored),
            "expect": sum(one.as_expected is not None for one in scored),
        },
        "exact_intents": sum(one.exact_intents is not False for one in scored),
        "exact_params": sum(one.exact_params is not False for one in scored),
        "exact_planes": sum(one.exact_planes is not False for one in scored),
        "as_expected": sum(one.as_expected is not False for one in scored),
        "guard_misses": sum(one.case.outcomes == REFUSE and one.outcome != "refuse" for one in scored),
        "false_refusals": sum(
            bool(one.case.outcomes) and "refuse" not in one.case.outcomes and one.outcome == "refuse" for one in scored
        ),
        "intents": _retrieval((set(one.case.intents), set(one.got.intents)) for one in scored if one.case.intents),
        "params": _retrieval(
            (_pairs(one.case.params), _pairs(one.params)) for one in scored if one.case.params is not None
        ),
        "by_type": _by_type(scored),
        "failures": [_failure(one) for one in scored if not one.passed],
    }


def _pairs(values: Mapping[str, Value]) -> set[str]:
    return {f"{kind}={json.dumps(value)}" for kind, value in values.items()}


def _retrieval(pairs: Iterable[tuple[set[str], set[str]]]) -> dict[str, float]:
    """Precision and recall over all cases together, 1 where there is nothing to find or nothing was given."""
    right = wanted = given = 0
    for labelled, found in pairs:
        right, wanted, given = right + len(labelled & found), wanted + len(labelled), given + len(found)
    return {
        "precision": round(right / given, 4) if given else 1.0,
        "recall": round(right / wanted, 4) if wanted else 1.0,
    }


def _by_type(scored: Sequence[Scored]) -> dict[str, dict[str, int]]:
    groups: dict[str, list[Scored]] = {}
    for one in scored:
        groups.setdefault(one.case.type or "all", []).append(one)
    return {
        name: {
            "cases": len(group),
            "passed": sum(one.passed for one in group),
            "exact_intents": sum(one.exact_intents is not False for one in group),
            "exact_params": sum(one.exact_params is not False for one in group),
        }
        for name, group in groups.items()
    }


def _failure(one: Scored) -> dict[str, Any]:
    case, got = one.case, one.got
    expected = {
        "expect": case.expect or case.label or None,
        "intents": case.intents,
        "planes": case.planes,
        "params": case.params,
    }
    return {
        "id": case.id,
        "question": case.question,
        "expected": {name: value for name, value in expected.items() if value is not None},
        "got": {
            "expect": one.outcome,
            "intents": got.intents,
            "planes": got.planes,
            "params": one.params,
            "reason": got.reason,
            "code": got.guard.code,
        },
    }
