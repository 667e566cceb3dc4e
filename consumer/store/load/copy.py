"""Rows into tables: COPY into a temporary table, then one set based statement that adds and changes what is new.

Everything of a file happens in one transaction, in batches that bound the temporary table.
"""

import csv
import io
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from importlib import resources
from itertools import islice
from uuid import UUID

from consumer.store.load.kind import Connection, Counts
from consumer.store.load.layout import Layout, Row, Table

BATCH_ROWS = 100_000
CHUNK_ROWS = 500
STATEMENT_SECONDS = 3_600.0
"""Longest wait for one batch: a first load into large indexes is slow, a lost connection must still end."""


async def lock(connection: Connection, tables: Sequence[str]) -> None:
    """One load at a time into a table, so that its counts are true; readers go on."""
    for table in tables:
        await connection.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE", timeout=STATEMENT_SECONDS)


async def copy(
    connection: Connection,
    layout: Layout,
    columns: Sequence[str],
    rows: Iterator[Row],
    tenant: UUID,
    moved: Callable[[], None],
) -> Counts:
    """Puts `rows` (line number, then `columns`) into the layout's table for `tenant`. Calls `moved` now and then."""
    await connection.execute(
        f"CREATE TEMPORARY TABLE stage ON COMMIT DROP AS"  # noqa: S608 names out of the layout
        f" SELECT 0::bigint AS line, {', '.join(columns)} FROM {layout.table.name} WITH NO DATA"
    )
    merge = merge_statement(layout.table, columns)
    after = [statement(name) for name in layout.after]
    counts = Counts()
    while True:
        batch = _Batch(islice(rows, BATCH_ROWS), moved)
        await connection.copy_to_table(
            "stage", columns=["line", *columns], source=batch.chunks(), format="csv", timeout=STATEMENT_SECONDS
        )
        if not batch.rows:
            break
        await connection.execute("ANALYZE stage")
        loaded, updated = await connection.fetchrow(merge, tenant, timeout=STATEMENT_SECONDS) or (0, 0)
        for follow_up in after:
            await connection.execute(follow_up, tenant, timeout=STATEMENT_SECONDS)
        counts += Counts(loaded=loaded, updated=updated, unchanged=batch.rows - loaded - updated)
        await connection.execute("TRUNCATE stage")
    await connection.execute("DROP TABLE stage")
    return counts


class _Batch:
    """Rows on their way to COPY, in its CSV form, where an empty cell is null."""

    def __init__(self, source: Iterator[Row], moved: Callable[[], None]) -> None:
        self.rows = 0
        self._source = source
        self._moved = moved

    async def chunks(self) -> AsyncGenerator[bytes]:
        while chunk := list(islice(self._source, CHUNK_ROWS)):
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(chunk)
            self.rows += len(chunk)
            self._moved()
            yield text.getvalue().encode()


def merge_statement(table: Table, columns: Sequence[str]) -> str:
    """Adds the staged rows whose key is new, changes those that differ, gives the number of both.

    Every name in it comes from a `Layout`, never from a file.
    """
    key = ", ".join(table.key)
    plain = [c for c in columns if c not in table.key]
    new = [f"coalesce(s.{c}, t.{c})" if table.sparse else f"s.{c}" for c in plain]
    named = [f"{n} AS {c}" for n, c in zip(new, plain, strict=True)]
    same_key = " AND ".join(f"t.{c} = s.{c}" for c in table.key)
    newest = f"{table.version} DESC NULLS LAST, line DESC" if table.version in columns else "line DESC"
    not_older = f"AND (s.{table.version} < t.{table.version}) IS NOT TRUE" if table.version in columns else ""
    staged = ", ".join(columns)
    changes = ", ".join(f"{c} = excluded.{c}" for c in plain)
    return f"""
WITH picked AS (
    SELECT DISTINCT ON ({key}) {staged} FROM stage ORDER BY {key}, {newest}
), changed AS (
    SELECT {", ".join(f"s.{c}" for c in table.key)}, {", ".join(named)},
           t.tenant_id IS NULL AS fresh
    FROM picked s LEFT JOIN {table.name} t ON t.tenant_id = $1 AND {same_key}
    WHERE t.tenant_id IS NULL
       OR (({", ".join(new)}) IS DISTINCT FROM ({", ".join(f"t.{c}" for c in plain)}) {not_older})
), written AS (
    INSERT INTO {table.name} (tenant_id, {staged}) SELECT $1, {staged} FROM changed
    ON CONFLICT (tenant_id, {key}) DO UPDATE SET {changes}
)
SELECT count(*) FILTER (WHERE fresh), count(*) FILTER (WHERE NOT fresh) FROM changed
"""  # noqa: S608


def statement(name: str) -> str:
    """The statement of `sql/`. It reads the staged rows from `stage`."""
    return (resources.files("consumer.store.load") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
