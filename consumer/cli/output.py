"""What a person sees in a terminal: aligned, short, the next step named. Nothing here decides anything."""

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from schemas import Answer, Evidence
from schemas.answer import Status
from schemas.evidence import WITHHELD, Cell

FIGURES = frozenset({"money", "count", "percent", "rank", "number", "days", "year"})
"""Types of columns that are read as numbers, and so aligned right."""


def console() -> Console:
    """Standard output: rich drops colour and markup's styling when it is no terminal, and obeys NO_COLOR."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=not sys.stdout.isatty())


def table(titles: Sequence[str], rows: Sequence[Sequence[str]], right: frozenset[int] = frozenset()) -> None:
    """Rows under bold titles; the columns numbered in `right` are aligned right, as figures are."""
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for number, title in enumerate(titles):
        grid.add_column(title, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        grid.add_row(*map(escape, row))
    console().print(grid)


def settings(rows: Sequence[tuple[str, str, str]]) -> None:
    """The list of `--help-config`: variable, default, what it is."""
    table(("variable", "default", "what it is"), rows)


def answer(event: Answer) -> None:
    """An answer for a reader: its words, the plan that made it, and the rows they stand on."""
    out = console()
    out.print(escape(event.answer), style="" if event.status is Status.ANSWERED else "yellow")
    out.print()
    for line in plan_lines(event):
        out.print(line, style="dim")
    for piece in event.evidence:
        out.print()
        _evidence(out, piece)


def plan_lines(event: Answer) -> list[str]:
    """How the answer came about, a line each: route, intents, edges, what was dropped, who wrote the words."""
    lines = [f"route {event.route.value}, words {event.rationale_source.value}, gate {_words(event.faithfulness)}"]
    if event.refusal:
        lines.append(f"reason {event.refusal.code}")
    if event.plan:
        plan = event.plan
        agreed = plan.self_consistency
        lines.append(f"plan {', '.join(plan.intents)} ({agreed.samples} samples, {agreed.outcome.value})")
        lines += [f"  {edge.source} {edge.column} gave {edge.target} its {edge.param}" for edge in plan.edges]
        lines += [f"  left out {dropped.intent}: {dropped.reason.value}" for dropped in plan.dropped]
    lines.append(f"took {event.elapsed_ms} ms, registry {event.registry_digest[:19]}")
    return lines


def _evidence(out: Console, piece: Evidence) -> None:
    withheld = f", {piece.suppressed_cells} withheld" if piece.suppressed_cells else ""
    cut = "" if piece.complete else ", cut at the row limit"
    out.print(f"[bold]{piece.id}[/bold] {piece.intent}: {_counted(len(piece.rows), 'row')}{withheld}{cut}")
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in piece.columns:
        grid.add_column(column.name.replace("_", " "), justify="right" if column.type in FIGURES else "left")
    for row in piece.rows:
        grid.add_row(*(_cell(value, column.type) for value, column in zip(row, piece.columns, strict=True)))
    out.print(grid)


def _cell(value: Cell, kind: str) -> str:
    if value is None:
        return ""
    if value == WITHHELD:
        return "[yellow]withheld[/yellow]"
    match value:
        case bool():
            text = "yes" if value else "no"
        case list():
            text = ", ".join(value)
        case str() if kind == "money":
            text = f"${Decimal(value):,.2f}".replace("$-", "-$")
        case int() if kind != "year":
            text = f"{value:,}"
        case _:
            text = str(value)
    return escape(text)


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _words(code: str) -> str:
    return code.replace("_", " ")


def pairs(values: Mapping[str, str]) -> None:
    """Names and values, aligned."""
    width = max(map(len, values))
    for name, value in values.items():
        console().print(f"[dim]{name:<{width}}[/dim]  {escape(value)}", soft_wrap=True)


def step(text: str) -> None:
    """What happens next, in a command of several steps."""
    console().print(f"\n[bold cyan]{escape(text)}[/]")


def question(number: int, shows: str, text: str) -> None:
    """The heading of one question among several."""
    out = console()
    out.rule(style="dim")
    out.print(f"[bold]{number}. {escape(text)}[/]  [dim]({escape(shows)})[/]\n")
