"""The loader against bare COPY, and the market's intents as it grows.

`python -m bench.market --rows 100000 1000000` on the PostgreSQL that PLANNER_TEST_POSTGRES names (a superuser's URL).
The reference is COPY of the same cleaned columns, ready in memory, into the same table of an empty database, with its
indexes and triggers; the loader reads, cleans, stages, compares and keeps the rejects beside that.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import asyncpg

import registry
from bench import awards
from bench.figure import Figure, lines
from consumer.store.load import PUBLIC, load
from consumer.store.load.awards import SUMMARIES
from consumer.store.load.copy import CELL, QUOTE
from consumer.store.load.layout import Reader
from consumer.store.load.source import opened
from consumer.store.migrate import migrate

TENANT = UUID("be9c4a11-0000-4000-8000-000000000001")
REPEATS = 5


class Loading(NamedTuple):
    """Seconds of one file."""

    rows: int
    loader: float
    copy: float

    @property
    def ratio(self) -> float:
        return self.copy / self.loader


@asynccontextmanager
async def database(server_url: str, name: str) -> AsyncGenerator[str]:
    """A migrated database of its own, dropped afterwards."""
    server = await asyncpg.connect(server_url)
    try:
        await server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        await server.execute(f'CREATE DATABASE "{name}"')
        url = f"{server_url.rpartition('/')[0]}/{name}"
        await migrate(url)
        yield url
    finally:
        await server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
        await server.close()


async def loading(url: str, reference_url: str, path: Path) -> Loading:
    """Loads `path` into `url`, and copies what it comes to into `reference_url`."""
    with opened(path) as sources:
        source = next(sources)
        reader = Reader(SUMMARIES, source.header)
        lines = [CELL.join(c or "" for c in row[1:]) for row in reader.rows(source.records, lambda *_: None)]
        columns = list(reader.columns)
    ready = "\n".join(f"{PUBLIC}{CELL}{line}" for line in lines).encode()
    connection = await asyncpg.connect(reference_url)
    try:
        began = time.perf_counter()
        await connection.copy_to_table(
            "award", schema_name="market", columns=["tenant_id", *columns], source=_chunks(ready), format="csv",
            delimiter=CELL, quote=QUOTE,
        )  # fmt: skip
        copied = time.perf_counter() - began
    finally:
        await connection.close()
    began = time.perf_counter()
    await load("awards", [path], url)
    return Loading(len(lines), time.perf_counter() - began, copied)


async def _chunks(data: bytes) -> AsyncGenerator[bytes]:
    for start in range(0, len(data), 1 << 18):
        yield data[start : start + (1 << 18)]


async def medians(url: str, markets: Sequence[awards.Market]) -> dict[tuple[str, str], float]:
    """Milliseconds of each market intent for each market, as the worker's role reads it."""
    built = registry.load()
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("SET plan_cache_mode = force_custom_plan")  # as the worker's role has it
        found: dict[tuple[str, str], float] = {}
        for intent in built.intents:
            if intent.plane != "market":
                continue
            for market, size in zip(markets, ("largest", "small"), strict=True):
                given = {p.name: p.default for p in intent.params} | {"agency": market.agency, "naics": market.naics}
                given |= {"tenant_id": TENANT, "as_of": awards.TODAY, "uei": awards.uei(0), "opportunity": TENANT}
                statement = built.statements[intent.name]
                arguments = [given[name] for name in statement.parameters]
                times = [await _timed(connection, statement.text, arguments) for _ in range(REPEATS)]
                found[intent.name, size] = statistics.median(times)
        return found
    finally:
        await connection.close()


async def _timed(connection: asyncpg.Connection, statement: str, arguments: Sequence[object]) -> float:
    async with connection.transaction(readonly=True, isolation="repeatable_read"):
        await connection.execute("SET LOCAL ROLE planner_worker")
        await connection.fetchval("SELECT set_config('app.tenant_id', $1, true)", str(TENANT))
        began = time.perf_counter()
        await connection.fetch(statement, *arguments)
        return 1_000 * (time.perf_counter() - began)


async def measure(server_url: str, sizes: Sequence[int]) -> list[Figure]:
    """The loader at each size, then each market intent: milliseconds at the first size, and how it grew to the last."""
    figures: list[Figure] = []
    columns: list[dict[tuple[str, str], float]] = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in sizes:
            path = Path(folder) / "awards.csv"
            shape = awards.write(path, rows)
            async with database(server_url, "bench_load") as url:
                async with database(server_url, "bench_copy") as reference_url:
                    took = await loading(url, reference_url, path)
                name = f"{rows:,} awards load in"
                beside = f"bare COPY's rate, {took.copy:.1f} s"
                figures.append(Figure("Loader", name, took.loader, "s", beside, took.ratio))
                columns.append(await medians(url, (shape.largest, shape.small)))
    for key, first in columns[0].items():
        last = columns[-1][key]
        part = f"Market intents, median of {REPEATS} at {sizes[-1]:,} awards"
        figures.append(Figure(part, ", ".join(key) + " market", last, "ms", f"that at {sizes[0]:,}", last / first))
    return figures


async def main(server_url: str, sizes: Sequence[int]) -> None:
    print("\n".join(lines(await measure(server_url, sizes))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--postgres", default=os.environ.get("PLANNER_TEST_POSTGRES", ""))
    given = parser.parse_args()
    asyncio.run(main(given.postgres, given.rows))
