"""What a person sees in a terminal: aligned, short, the next step named. Nothing here decides anything."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table


def console() -> Console:
    """Standard output: rich drops colour and markup's styling when it is no terminal, and obeys NO_COLOR."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=not sys.stdout.isatty())


def settings(rows: Sequence[tuple[str, str, str]]) -> None:
    """The table of `--help-config`: variable, default, what it is."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("variable", "default", "what it is"):
        table.add_column(title, overflow="fold")
    for row in rows:
        table.add_row(*row)
    console().print(table)
