"""What a person sees in a terminal: aligned, short, the next step named. Nothing here decides anything."""

import sys
from collections.abc import Mapping, Sequence
from decimal import Decimal

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from schemas import Answer, Evidence
from schemas.answer import Status
from schemas.evidence import WITHHELD, Cell

FIGURES = frozenset({"money", "count", "percent", "rank", "number", "days", "year"})
"""Types of columns that are read as numbers, and so aligned right."""


SHOWN_ROWS = 8
"""Rows of one piece of evidence that a terminal shows."""
CELL, BAR = 30, 20
"""Widest cell and longest bar, in characters."""


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
    """The first rows of one piece, in the columns that fit the terminal; the rest is in `--json`."""
    withheld = f", {piece.suppressed_cells} withheld" if piece.suppressed_cells else ""
    cut = "" if piece.complete else ", cut at the row limit"
    out.print(f"[bold]{piece.id}[/bold] {piece.intent}: {_counted(len(piece.rows), 'row')}{withheld}{cut}")
    rows = piece.rows[:SHOWN_ROWS]
    cells = [[_cell(value, column.type) for value, column in zip(row, piece.columns, strict=True)] for row in rows]
    columns = _fitting(piece, cells, out.width)
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for place in columns:
        column = piece.columns[place]
        right = column.type in FIGURES
        grid.add_column(
            column.name.replace("_", " "), justify="right" if right else "left", no_wrap=True, max_width=CELL
        )
    bars = _bars(piece, rows) if out.is_terminal else []
    if bars:
        grid.add_column("")
    for number, row in enumerate(cells):
        grid.add_row(*(row[place] for place in columns), *bars[number : number + 1])
    out.print(grid)
    left = [column.name for place, column in enumerate(piece.columns) if place not in columns]
    more = [_counted(len(piece.rows) - len(rows), "more row")] if len(piece.rows) > len(rows) else []
    if more or left:
        said = [*more, *([f"columns {', '.join(left)}"] if left else [])]
        out.print(f"in --json: {'; '.join(said).replace('_', ' ')}", style="dim")


def _fitting(piece: Evidence, cells: Sequence[Sequence[str]], width: int) -> list[int]:
    """Columns that tell rows apart first, then as many of the others as the width holds, in their order."""
    natural = [
        min(CELL, max([len(column.name), *(cell_len(Text.from_markup(row[place]).plain) for row in cells)])) + 2
        for place, column in enumerate(piece.columns)
    ]
    telling = [p for p in range(len(piece.columns)) if len(cells) < 2 or len({row[p] for row in cells}) > 1]
    chosen: list[int] = []
    for place in [*telling, *(p for p in range(len(piece.columns)) if p not in telling)]:
        if sum(natural[p] for p in chosen) + natural[place] <= width:
            chosen.append(place)
    return sorted(chosen)


def _bars(piece: Evidence, rows: Sequence[Sequence[Cell]]) -> list[str]:
    """A bar for each row's share, where the evidence has one."""
    place = next((p for p, column in enumerate(piece.columns) if column.type == "percent"), None)
    if place is None or len(rows) < 2:
        return []
    shares = [
        Decimal(value) if isinstance(value := row[place], str) and value != WITHHELD else Decimal(0) for row in rows
    ]
    longest = max(shares, default=Decimal(0))
    return ["\N{FULL BLOCK}" * int(BAR * max(share, Decimal(0)) / longest) for share in shares] if longest > 0 else []


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
