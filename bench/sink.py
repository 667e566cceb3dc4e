"""The sink's append against bare COPY and bare unnest of the same finished rows.

The references write rows whose hashes are ready into the same tables with the same constraints, in transactions of the
same size, COPY as a superuser, since it does not go where rows are secured; the sink decodes, tells duplicates apart,
chains, keeps its tree and its position beside that.
"""

import argparse
import asyncio
import os
import statistics
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import UUID, uuid4

import asyncpg

from bench.figure import Figure, lines
from bench.market import database
from consumer.audit.append import Entry, append, read
from consumer.audit.chain import GENESIS, row_hash
from schemas import PlanAnswered, SelfConsistency
from schemas.answer import Faithfulness, Outcome
from schemas.codec import encode

EVENTS, BATCH, RUNS = 20_000, 500, 5
COLUMNS = ["chain_id", "seq", "event_id", "tenant_id", "src_offset", "body", "prev_hash", "row_hash"]
SEEN = ["event_id", "chain_id", "seq", "body_hash"]
UNNEST = """
WITH seen AS (
    INSERT INTO audit.event (event_id, chain_id, seq, body_hash)
    SELECT e, c, s, h FROM unnest($3::uuid[], $1::integer[], $2::bigint[], $9::bytea[]) AS t(e, c, s, h)
)
INSERT INTO audit.plan_answered (chain_id, seq, event_id, tenant_id, src_offset, body, prev_hash, row_hash)
SELECT * FROM unnest($1::integer[], $2::bigint[], $3::uuid[], $4::uuid[], $5::bigint[], $6::bytea[], $7::bytea[], $8::bytea[])
"""  # noqa: E501

Row = tuple[int, int, UUID, UUID, int, bytes, bytes, bytes]


class Consumed(NamedTuple):
    offset: int
    value: bytes


class Material(NamedTuple):
    """Events of one chain: as the sink reads them, and as the references find them ready."""

    consumed: list[Consumed]
    entries: list[Entry]
    rows: list[Row]


def material(count: int, chain_id: int) -> Material:
    tenant = uuid4()
    consumed = [Consumed(offset, encode(_event(tenant))) for offset in range(count)]
    entries = [entry for record in consumed if isinstance(entry := read(record), Entry)]
    return Material(consumed, entries, chained(entries, chain_id))


def _event(tenant: UUID) -> PlanAnswered:
    return PlanAnswered(
        event_id=uuid4(), tenant_id=tenant, occurred_at=datetime.now(UTC), node_count=3, suppressed_cells=1,
        intents=("market.competitors", "market.recompetes", "bench.cleared_count"), service_version="0.1.0",
        param_kinds=("agency", "clearance", "naics", "window_months"), faithfulness=Faithfulness.PASSED,
        self_consistency=SelfConsistency(samples=2, outcome=Outcome.STABLE), registry_digest="sha256:" + "0" * 64,
    )  # fmt: skip


def chained(entries: Sequence[Entry], chain_id: int) -> list[Row]:
    """The rows as the sink would write them."""
    rows: list[Row] = []
    previous = GENESIS
    for seq, e in enumerate(entries):
        row = row_hash(previous, chain_id, seq, e.event_id, e.tenant_id, e.offset, e.body_hash)
        rows.append((chain_id, seq, e.event_id, e.tenant_id, e.offset, e.body, previous, row))
        previous = row
    return rows


async def by_sink(connection: asyncpg.Connection, chain_id: int, given: Material) -> None:
    for part in _parts():
        await append(connection, "bench", chain_id, [read(record) for record in given.consumed[part]])


async def by_copy(connection: asyncpg.Connection, chain_id: int, given: Material) -> None:
    for part in _parts():
        rows = given.rows[part]
        seen = [(e.event_id, chain_id, r[1], e.body_hash) for e, r in zip(given.entries[part], rows, strict=True)]
        async with connection.transaction():
            await connection.execute("SET LOCAL ROLE postgres")
            await connection.copy_records_to_table("event", schema_name="audit", columns=SEEN, records=seen)
            await connection.copy_records_to_table("plan_answered", schema_name="audit", columns=COLUMNS, records=rows)


async def by_unnest(connection: asyncpg.Connection, _: int, given: Material) -> None:
    for part in _parts():
        columns = [list(column) for column in zip(*given.rows[part], strict=True)]
        await connection.execute(UNNEST, *columns, [e.body_hash for e in given.entries[part]])


def _parts() -> list[slice]:
    return [slice(start, start + BATCH) for start in range(0, EVENTS, BATCH)]


async def measure(server_url: str) -> list[Figure]:
    ways = (by_sink, by_copy, by_unnest)
    took: list[list[float]] = [[] for _ in ways]
    async with database(server_url, "bench_sink") as url:
        connection = await asyncpg.connect(url)
        try:
            await connection.execute("SET ROLE planner_sink")
            for run in range(RUNS + 1):
                for place, way in enumerate(ways):
                    chain_id = run * len(ways) + place
                    given = material(EVENTS, chain_id)
                    began = time.perf_counter()
                    await way(connection, chain_id, given)
                    took[place].append(EVENTS / (time.perf_counter() - began))
        finally:
            await connection.close()
    sink, copy, unnest = (statistics.median(rates[1:]) for rates in took)  # the first run warms up
    part = f"Sink, {BATCH} rows a transaction, median of {RUNS} interleaved runs"
    return [
        Figure(part, "sink appends", sink, "rows/s", f"bare COPY, {copy:,.0f}", sink / copy),
        Figure(part, "sink appends", sink, "rows/s", f"bare unnest, {unnest:,.0f}", sink / unnest),
    ]


async def main(server_url: str) -> None:
    print("\n".join(lines(await measure(server_url))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", default=os.environ.get("PLANNER_TEST_POSTGRES", ""))
    asyncio.run(main(parser.parse_args().postgres))
