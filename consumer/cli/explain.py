"""`planner explain`: what would be asked of whom and why, without Kafka or database."""

import json as standard
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.table import Table

from consumer import service
from consumer.cli import Configured, Flag, output
from consumer.deadline import Deadline
from consumer.errors import Misconfigured
from consumer.planner.answer import Judge, Judged
from consumer.planner.extract import Extracted, Status

JUDGE_SECONDS = 60.0


async def explain(
    question: str | None = None,
    /,
    *,
    scope: Annotated[Sequence[str], Parameter(consume_multiple=True)] = (),
    batch: Path | None = None,
    json: Annotated[bool, Flag] = False,
    settings: Configured,
) -> None:
    """Shows each step from question to plan: the guard, what was extracted, the route, the vote, the plan.

    Parameters
    ----------
    question
        What to ask, in plain words.
    scope
        Scopes of the asker; all planes without one.
    batch
        A file of JSON lines with a `question` each; prints one line of JSON for each.
    json
        Print one JSON document.
    """
    if (question is None) == (batch is None):
        raise Misconfigured("give a question, or --batch with a file of questions")
    async with service.judge(settings) as judge:
        scopes = frozenset(scope) or frozenset(plane.scope for plane in judge.registry.planes)
        for asked in [question] if question is not None else _questions(batch):
            judged = await judge.judge(asked or "", None, scopes, Deadline.after(JUDGE_SECONDS))
            if json or batch:
                print(standard.dumps(explanation(asked or "", judged, judge), ensure_ascii=False), flush=True)
            else:
                _print(judged, judge)


def explanation(question: str, judged: Judged, judge: Judge) -> dict[str, Any]:
    """The document of `--json`."""
    plan = judged.plan
    return {
        "question": question,
        "guard": {"verdict": judged.verdict.verdict, "code": judged.verdict.code, "message": judged.verdict.message},
        "params": {kind: _param(found) for kind, found in judged.params.items()},
        "route": judged.decision.route.value,
        "reason": judged.decision.reason,
        "needs": [{"kind": need.kind, "note": need.note} for need in judged.decision.needs],
        "bindable": [intent.name for intent in judge.bindable(judged)],
        "samples": [list(sample) for sample in judged.proposal.samples] if judged.proposal else [],
        "intents": list(plan.names),
        "edges": [
            {"from": edge.source, "column": edge.column, "to": node.intent.name, "param": edge.param}
            for node in plan.nodes
            for edge in node.edges
        ],
        "dropped": [{"intent": d.intent, "reason": d.reason.value} for d in plan.dropped],
        "planes": list(dict.fromkeys(node.intent.plane for node in plan.nodes)),
    }


def _param(found: Extracted) -> dict[str, Any]:
    document: dict[str, Any] = {"status": found.status.value, "value": found.value, "span": found.span}
    if found.note:
        document["note"] = found.note
    return document


def _questions(file: Path | None) -> Iterator[str]:
    assert file is not None
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"the file {file} can't be read: {type(error).__name__}") from None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            case = standard.loads(line)
        except ValueError:
            raise Misconfigured(f"{file} line {number} is not JSON") from None
        if not isinstance(case, Mapping) or not isinstance(case.get("question"), str):
            raise Misconfigured(f"{file} line {number} has no text in `question`")
        yield case["question"]


def _print(judged: Judged, judge: Judge) -> None:
    console = output.console()
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    verdict = judged.verdict
    table.add_row("guard", "pass" if verdict.passed else f"refuse ({verdict.code})")
    if verdict.message:
        table.add_row("", verdict.message)
    for kind, found in judged.params.items():
        if found.status is not Status.MISSING:
            table.add_row(kind, _said(judged.text, found))
    table.add_row("route", f"{judged.decision.route.value}: {judged.decision.reason}")
    for need in judged.decision.needs:
        table.add_row("", need.note)
    offered = judge.bindable(judged)
    table.add_row("bindable", f"{len(offered)} of {len(judge.registry.intents)} intents")
    if judged.proposal:
        for place, sample in enumerate(judged.proposal.samples, 1):
            table.add_row(f"sample {place}", ", ".join(sample) or "nothing")
        table.add_row("agreement", judged.proposal.outcome.value)
    for node in judged.plan.nodes:
        bound = ", ".join(f"{name} = {value}" for name, value in node.arguments.items() if value is not None)
        table.add_row("runs", f"{node.intent.name} ({bound})" if bound else node.intent.name)
        for edge in node.edges:
            table.add_row("", f"{edge.param} comes from {edge.source}, column {edge.column}")
    for dropped in judged.plan.dropped:
        table.add_row("dropped", f"{dropped.intent}: {dropped.reason.value}")
    console.print(table)


def _said(question: str, found: Extracted) -> str:
    words = f' from "{question[found.span[0] : found.span[1]]}"' if found.span else ""
    value = "/".join(found.value) if isinstance(found.value, tuple) else found.value
    if found.status is Status.OK:
        return f"{value}{words}{f'; {found.note}' if found.note else ''}"
    return f"{found.status.value}{words}: {found.note}"
