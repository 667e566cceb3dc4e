"""What the stages before a query made of a question, as data: `planner explain`, the console and `planner eval`."""

from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from consumer.planner.answer import Judge, Judged
from consumer.planner.extract import Extracted, Params, Value, extract
from consumer.planner.plan import Need
from schemas.answer import Dropped, Edge, Outcome, Route


class Guarded(Struct, frozen=True):
    """The guard's verdict; `message` is what the asker is told."""

    verdict: str
    code: str | None
    message: str | UnsetType = UNSET


class Found(Struct, frozen=True):
    """One kind of parameter. `span` is the first place that gave the value, `note` what to know or do about it."""

    status: str
    value: Value | None
    span: tuple[int, int] | None
    note: str | UnsetType = UNSET
    role: str | UnsetType = UNSET


class Explanation(Struct, frozen=True, kw_only=True):
    """Every step of one question. Spans are offsets into `cleaned`, which is the question where it is plain ASCII.

    `bindable` are the intents that this asker may run and this question can bind, `samples` the proposals that voted,
    `intents` and `edges` the plan, `dropped` what it leaves out and why. `needs` say on route `clarify` what to give.
    """

    question: str
    cleaned: str
    guard: Guarded
    params: dict[str, Found]
    route: Route
    reason: str
    bindable: tuple[str, ...]
    samples: tuple[tuple[str, ...], ...]
    outcome: Outcome
    intents: tuple[str, ...]
    edges: tuple[Edge, ...]
    dropped: tuple[Dropped, ...]
    needs: tuple[Need, ...]
    planes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return msgspec.to_builtins(self)


def explain(question: str, judged: Judged, judge: Judge) -> Explanation:
    """`judged` laid out. What a refused question holds is shown too: the asker wrote it, and nothing is run."""
    registry = judge.registry
    params = judged.params or extract(judged.text, registry.reference)
    offered = judge.bindable(judged) if judged.verdict.passed else ()
    plan, decision = judged.plan, judged.decision
    asked = plan.names or (decision.wanted if decision.route is Route.CLARIFY else ())
    verdict = judged.verdict
    return Explanation(
        question=question,
        cleaned=judged.text,
        guard=Guarded(verdict.verdict, verdict.code, verdict.message or UNSET),
        params=_found(params),
        route=decision.route,
        reason=decision.reason,
        bindable=tuple(intent.name for intent in offered),
        samples=judged.proposal.samples if judged.proposal else (),
        outcome=judged.proposal.outcome if judged.proposal else Outcome.NONE,
        intents=plan.names,
        edges=tuple(
            Edge(source=edge.source, column=edge.column, target=node.intent.name, param=edge.param)
            for node in plan.nodes
            for edge in node.edges
        ),
        dropped=plan.dropped,
        needs=decision.needs,
        planes=tuple(dict.fromkeys(registry.by_name[name].plane for name in asked if name in registry.by_name)),
    )


def _found(params: Params) -> dict[str, Found]:
    return {kind: _one(found) for kind, found in params.items()}


def _one(found: Extracted) -> Found:
    return Found(found.status.value, found.value, found.span, found.note or UNSET, found.role or UNSET)
