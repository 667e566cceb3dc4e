"""Rows into tables: COPY into a temporary table, then one set based statement that adds and changes what is new.

Everything of a file happens in one transaction, in batches that bound memory and the temporary table. The next batch is
read and cleaned on a thread while Postgres works on the one before.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from importlib import resources
from itertools import islice
from uuid import UUID

from msgspec import Struct

from consumer.store.load.kind import Connection, Counts
from consumer.store.load.layout import Layout, Row, Table

BATCH_ROWS = 20_000
CHUNK_ROWS = 500
OWNER = "planner_owner"
STATEMENT_SECONDS = 3_600.0
"""Longest wait for one batch: a first load into large indexes is slow, a lost connection must still end."""
CELL, QUOTE = "\x1f", "\x1e"
"""What parts cells on their way to COPY, and quotes none: cleaned cells hold neither these nor line ends, for cleaning
makes every run of white space one blank, and Unicode counts these separators as white space."""


async def lock(connection: Connection, tables: Sequence[str]) -> None:
    """One load at a time into a table, so that its counts are true; readers go on."""
    for table in tables:
        await connection.execute(f"LOCK TABLE {table} IN SHARE ROW EXCLUSIVE MODE", timeout=STATEMENT_SECONDS)


async def analyze(connection: Connection, tables: Sequence[str]) -> None:
    """Renews the statistics that questions are planned with: the server's own renewal may come a minute later.

    It takes the owner of the tables, so it is the last that a load does.
    """
    await connection.execute(f"SET LOCAL ROLE {OWNER}")
    for table in tables:
        await connection.execute(f"ANALYZE {table}", timeout=STATEMENT_SECONDS)


async def copy(
    connection: Connection,
    layout: Layout,
    columns: Sequence[str],
    rows: Iterator[Row],
    tenant: UUID,
    moved: Callable[[], None],
) -> Counts:
    """Puts `rows` (line number, then `columns`) into the layout's table for `tenant`, which the caller has locked.
    Calls `moved` now and then, from the thread that reads."""
    await connection.execute(
        f"CREATE TEMPORARY TABLE stage ON COMMIT DROP AS"  # noqa: S608 names out of the layout
        f" SELECT 0::bigint AS line, {', '.join(columns)} FROM {layout.table.name} WITH NO DATA"
    )
    counts = Counts()
    reading = asyncio.ensure_future(asyncio.to_thread(_read, rows, moved))
    try:
        while (batch := await reading).rows:
            reading = asyncio.ensure_future(asyncio.to_thread(_read, rows, moved))
            counts += await _merge(connection, layout, columns, batch, tenant)
    finally:
        await asyncio.wait([reading])  # the thread still uses the file that the caller is about to close
    await connection.execute("DROP TABLE stage")
    return counts


class _Batch(Struct, frozen=True):
    """Rows as COPY takes them."""

    rows: int
    chunks: list[bytes]


def _read(rows: Iterator[Row], moved: Callable[[], None]) -> _Batch:
    count, chunks = 0, list[bytes]()
    while count < BATCH_ROWS and (chunk := list(islice(rows, CHUNK_ROWS))):
        lines = [CELL.join([cell or "" for cell in row]) for row in chunk]
        chunks.append(("\n".join(lines) + "\n").encode())
        count += len(chunk)
        moved()
    return _Batch(count, chunks)


async def _merge(connection: Connection, layout: Layout, columns: Sequence[str], batch: _Batch, tenant: UUID) -> Counts:
    async def source() -> AsyncGenerator[bytes]:
        for chunk in batch.chunks:
            yield chunk

    await connection.copy_to_table(
        "stage",
        columns=["line", *columns],
        source=source(),
        format="csv",
        delimiter=CELL,
        quote=QUOTE,
        timeout=STATEMENT_SECONDS,
    )
    await connection.execute(f"ANALYZE stage ({', '.join(layout.table.key)})")
    merge = merge_statement(layout.table, columns)
    loaded, updated = await connection.fetchrow(merge, tenant, timeout=STATEMENT_SECONDS) or (0, 0)
    for name in layout.after:
        await connection.execute(statement(name), tenant, timeout=STATEMENT_SECONDS)
    await connection.execute("TRUNCATE stage")
    return Counts(loaded=loaded, updated=updated, unchanged=batch.rows - loaded - updated)


def merge_statement(table: Table, columns: Sequence[str]) -> str:
    """Adds the staged rows whose key is new, changes those that differ, gives the number of both.

    Every name in it comes from a `Layout`, never from a file. The table is locked against other loads, so a key that
    is new stays new.

    Each key is looked up by itself (OFFSET 0 keeps the planner from making a join of it): the table's statistics are
    those of before the load, and for want of better ones a join would read the whole table once a batch.
    """
    key = ", ".join(table.key)
    plain = [c for c in columns if c not in table.key]
    new = [f"coalesce(s.{c}, t.{c})" if table.sparse else f"s.{c}" for c in plain]
    named = [f"{n} AS {c}" for n, c in zip(new, plain, strict=True)]
    newest = f"{table.version} DESC NULLS LAST, line DESC" if table.version in columns else "line DESC"
    not_older = f"AND (s.{table.version} < t.{table.version}) IS NOT TRUE" if table.version in columns else ""
    staged = ", ".join(columns)
    same_key = " AND ".join(f"x.{c} = s.{c}" for c in table.key)
    changes = ", ".join(f"{c} = excluded.{c}" for c in plain)
    return f"""
WITH picked AS (
    SELECT DISTINCT ON ({key}) {staged} FROM stage ORDER BY {key}, {newest}
), changed AS (
    SELECT {", ".join(f"s.{c}" for c in table.key)}, {", ".join(named)}, t.tenant_id IS NULL AS fresh
    FROM picked s LEFT JOIN LATERAL (
        SELECT tenant_id, {", ".join(plain)} FROM {table.name} x WHERE x.tenant_id = $1 AND {same_key} OFFSET 0
    ) t ON true
    WHERE t.tenant_id IS NULL
       OR (({", ".join(new)}) IS DISTINCT FROM ({", ".join(f"t.{c}" for c in plain)}) {not_older})
), added AS (
    INSERT INTO {table.name} (tenant_id, {staged}) SELECT $1, {staged} FROM changed WHERE fresh
), altered AS (
    INSERT INTO {table.name} (tenant_id, {staged}) SELECT $1, {staged} FROM changed WHERE NOT fresh
    ON CONFLICT (tenant_id, {key}) DO UPDATE SET {changes}
)
SELECT count(*) FILTER (WHERE fresh), count(*) FILTER (WHERE NOT fresh) FROM changed
"""  # noqa: S608


def statement(name: str) -> str:
    """The statement of `sql/`. It reads the staged rows from `stage`."""
    return (resources.files("consumer.store.load") / "sql" / f"{name}.sql").read_text(encoding="utf-8")
