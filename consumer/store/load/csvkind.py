"""A KIND whose files are CSV: finds the layout of each file, cleans, copies, keeps the rejects."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

from msgspec import Struct

from consumer.store.load.copy import analyze, copy, lock
from consumer.store.load.kind import Connection, Counts, FileReport, Progress, Tenancy
from consumer.store.load.layout import Layout, Reader, fitting
from consumer.store.load.rejects import Rejects
from consumer.store.load.source import Source, opened

MANY_ROWS = 1_000
"""Rows that may change what a table looks like to the planner of Postgres."""


class CsvLoader(Struct, frozen=True, kw_only=True):
    """One KIND of CSV files. `tables` are those that a load of it writes, of which one load at a time is let in."""

    kind: str
    tenancy: Tenancy
    layouts: tuple[Layout, ...]
    tables: tuple[str, ...]

    async def load(self, connection: Connection, path: Path, tenant: UUID, progress: Progress) -> FileReport:
        await lock(connection, self.tables)
        counts = Counts()
        with Rejects(path) as rejects, opened(path) as sources:
            for source in sources:
                counts += await self._load(connection, source, path, tenant, progress, rejects)
        if counts.loaded + counts.updated >= MANY_ROWS:
            await analyze(connection, self.tables)
        rejected = Counts(rejected=rejects.count)
        return FileReport(path=path, counts=counts + rejected, rejects=rejects.path if rejects.count else None)

    async def _load(
        self, connection: Connection, source: Source, path: Path, tenant: UUID, progress: Progress, rejects: Rejects
    ) -> Counts:
        layout = fitting(self.layouts, source, _layouts_of_others(self.kind))
        reader = Reader(layout, source.header)

        def reject(reason: str, line: int, cells: Sequence[str]) -> None:
            rejects.add(source.header, reason, line, cells)

        def moved() -> None:
            progress(path, min(source.stream.tell(), source.size), source.size)

        rows = reader.rows(source.records, reject)
        counts = await copy(connection, layout, reader.columns, rows, tenant, moved)
        progress(path, source.size, source.size)
        return counts


def _layouts_of_others(kind: str) -> Mapping[str, Sequence[Layout]]:
    from consumer.store.load import KINDS  # noqa: PLC0415 the table of kinds is made of loaders

    return {k: loader.layouts for k, loader in KINDS.items() if k != kind and isinstance(loader, CsvLoader)}
