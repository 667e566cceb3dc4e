"""What a person sees in a terminal: aligned, short, the next step named. Nothing here decides anything."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table


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
