"""`planner load`: real files into the database."""

import json as jsonlib
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from uuid import UUID

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn, TimeRemainingColumn
from rich.table import Table

from consumer.bench.publish import Rule
from consumer.cli import Configured, Flag, output
from consumer.store.load import FileReport, LoadReport
from consumer.store.load import load as load_files


async def load(
    kind: str,
    files: Annotated[list[Path], Parameter(negative="")],
    /,
    *,
    tenant: UUID | None = None,
    json: Annotated[bool, Flag] = False,
    settings: Configured,
) -> None:
    """Loads files of awards, opportunities, people, documents. Loading the same file again changes nothing.

    Parameters
    ----------
    kind
        awards, subawards, opportunities, bench, requirements, partners or documents.
    files
        The files, as downloaded; a ZIP of CSV files is read as it is.
    tenant
        The UUID of the tenant that the rows belong to; without it they are public, where the kind allows that.
    json
        Print one JSON document.
    """
    with _progress() as progress:
        rule = Rule(k=settings.bench_k, round=settings.bench_round)
        report = await load_files(kind, files, settings.admin_database_url, tenant, progress, rule)
    if json:
        _print_json(report)
    else:
        _print_table(report)


@contextmanager
def _progress() -> Generator[Callable[[Path, int, int], None]]:
    """A bar by bytes for each file, on a terminal only; it goes when the load ends."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty()) as bars:
        tasks: dict[Path, TaskID] = {}

        def show(path: Path, done: int, total: int) -> None:
            if path not in tasks:
                tasks[path] = bars.add_task(path.name, total=total)
            bars.update(tasks[path], completed=done, total=total)

        yield show


def _print_json(report: LoadReport) -> None:
    def shown(file: FileReport) -> dict[str, object]:
        counts = file.counts
        return {
            "file": str(file.path),
            "loaded": counts.loaded,
            "updated": counts.updated,
            "unchanged": counts.unchanged,
            "rejected": counts.rejected,
            "rejects": str(file.rejects) if file.rejects else None,
        }

    print(jsonlib.dumps({"kind": report.kind, "files": [shown(f) for f in report.files]}))


def _print_table(report: LoadReport) -> None:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("file", overflow="fold")
    for title in ("loaded", "updated", "unchanged", "rejected"):
        table.add_column(title, justify="right")
    for file in report.files:
        counts = file.counts
        numbers = (counts.loaded, counts.updated, counts.unchanged, counts.rejected)
        table.add_row(file.path.name, *(f"{n:,}" for n in numbers))
    console = output.console()
    console.print(table)
    for file in report.files:
        if file.rejects:
            console.print(f"The {file.counts.rejected:,} rejected rows, each with its reason: {file.rejects}")
