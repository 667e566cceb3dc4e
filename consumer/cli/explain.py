"""`planner explain`: every step of a question before its first query."""

import json as jsonlib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import msgspec
from cyclopts import Parameter
from rich.markup import escape
from rich.table import Table

from consumer import service
from consumer.cli import Configured, Flag, output
from consumer.deadline import Deadline
from consumer.errors import Misconfigured
from consumer.explanation import Explanation, Found
from consumer.explanation import explain as lay_out
from consumer.planner.answer import Judge
from schemas.answer import Route

QUESTION_SECONDS = 60.0
STYLES = {"ok": "green", "ambiguous": "yellow", "invalid": "red"}


class Line(msgspec.Struct, frozen=True):
    """One line of a batch; further fields are ignored."""

    question: str
    scopes: tuple[str, ...] | None = None
    intent: str | None = None


async def explain(
    question: str | None = None,
    /,
    *,
    scope: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = (),
    intent: str | None = None,
    batch: Path | None = None,
    json: Annotated[bool, Flag] = False,
    settings: Configured,
) -> None:
    """Shows what would be asked of whom, without Kafka and without a database.

    The guard's verdict, the values found, the route and why, the intents that can bind, each proposal, the plan and
    its edges.

    Parameters
    ----------
    question
        What to ask, in plain words.
    scope
        A scope of the asker, such as bench:read; give it once for each. Without one, all of the Registry's.
    intent
        Name of a Registry intent, as a question event may carry it.
    batch
        A file of JSON Lines, each with a question; one JSON line comes out for each.
    json
        Print one JSON document.
    """
    if (question is None) is (batch is None):
        raise Misconfigured('say what to explain: planner explain "QUESTION", or --batch FILE.jsonl')
    lines = [Line(question, None, intent)] if question is not None else _lines(batch)
    async with service.judge(settings) as judge:
        scopes = frozenset(scope or (plane.scope for plane in judge.registry.planes))
        for line in lines:
            given = scopes if line.scopes is None else frozenset(line.scopes)
            made = await _explain(judge, line, given)
            if json or batch is not None:
                print(jsonlib.dumps(made.to_json(), ensure_ascii=False), flush=batch is not None)
            else:
                show(made)


async def _explain(judge: Judge, line: Line, scopes: frozenset[str]) -> Explanation:
    judged = await judge.judge(line.question, line.intent, scopes, Deadline.after(QUESTION_SECONDS))
    return lay_out(line.question, judged, judge)


def _lines(file: Path | None) -> list[Line]:
    assert file is not None, "the caller saw that one of the two is given"
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Misconfigured(f"{file} can't be read: {error}") from None
    found: list[Line] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        try:
            found.append(msgspec.json.decode(line, type=Line))
        except msgspec.DecodeError as error:
            raise Misconfigured(f"{file} line {number}: {error}") from None
    return found


def show(made: Explanation) -> None:
    """The steps from top to bottom, as a question meets them."""
    out = output.console()
    grid = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    grid.add_column(style="bold")
    grid.add_column(overflow="fold")
    refused = made.guard.verdict == "refuse"
    grid.add_row("guard", f"[red]refuse[/] {escape(made.guard.code or '')}" if refused else "[green]pass[/]")
    if isinstance(made.guard.message, str):
        grid.add_row("", escape(made.guard.message))
    for place, line in enumerate(_values(made.params)):
        grid.add_row("" if place else "values", line)
    grid.add_row("route", f"[cyan]{made.route.value}[/] {escape(made.reason)}")
    for need in made.needs:
        grid.add_row("", f"{escape(need.kind.replace('_', ' '))}: {escape(need.note)}")
    if made.route is not Route.REFUSED:
        for place, line in enumerate(_by_plane(made.bindable)):
            grid.add_row("" if place else "can bind", line)
    for number, sample in enumerate(made.samples, 1):
        grid.add_row(f"sample {number}", escape(", ".join(sample)) or "[dim]nothing[/]")
    if made.samples:
        grid.add_row("vote", made.outcome.value)
    for place, name in enumerate(made.intents, 1):
        grid.add_row("" if place > 1 else "plan", f"{place}. {escape(name)}")
    for edge in made.edges:
        grid.add_row("edge", f"{escape(edge.source)} {edge.column} gives {escape(edge.target)} its {edge.param}")
    for gone in made.dropped:
        grid.add_row("left out", f"{escape(gone.intent)}: {gone.reason.value}")
    out.print(grid)


def _values(params: dict[str, Found]) -> list[str]:
    """A line for each kind that the question speaks of, one for all that it does not."""
    width = max(map(len, params), default=0)
    lines: list[str] = []
    for kind, found in params.items():
        if found.status == "missing":
            continue
        value = ", ".join(map(str, found.value)) if isinstance(found.value, tuple) else str(found.value or "")
        role = f" ({found.role})" if isinstance(found.role, str) else ""
        note = f"  [dim]{escape(found.note)}[/]" if isinstance(found.note, str) else ""
        status = f"[{STYLES[found.status]}]{found.status:<9}[/]"
        lines.append(f"{kind:<{width}}  {status}  {escape(value + role)}{note}")
    missing = [kind.replace("_", " ") for kind, found in params.items() if found.status == "missing"]
    return [*lines, f"[dim]not given: {', '.join(missing)}[/]"] if missing else lines


def _by_plane(names: Sequence[str]) -> list[str]:
    planes: dict[str, list[str]] = {}
    for name in names:
        plane, _, short = name.partition(".")
        planes.setdefault(plane, []).append(short)
    return [f"{plane}: {escape(', '.join(shorts))}" for plane, shorts in planes.items()] or ["[dim]nothing[/]"]
