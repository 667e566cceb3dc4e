"""The publisher's half of the store: reads what counting needs of a roster, writes the cells of a snapshot.

It acts as planner_publisher, the one role that may do both. Nothing here logs or returns a count of people.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from datetime import date
from uuid import UUID

import asyncpg

from consumer.bench.lattice import Atom, Lattice, Person, atom_of
from consumer.bench.publish import Cell, Rule, cells, publish

STATEMENT_SECONDS = 60.0
ROSTER = """
SELECT clearance, compartments, available_from, labor_category, count(*) AS people
FROM bench.person WHERE tenant_id = $1
GROUP BY clearance, compartments, available_from, labor_category
"""
REPLACE = """
INSERT INTO bench.cell (tenant_id, snapshot, rule, clearance, compartments, within_months, labor_category, holders,
                        or_above, wider_group, wider_count)
SELECT $1, $2, $3, c.*
FROM unnest($4::text[], $5::text[], $6::smallint[], $7::text[], $8::integer[], $9::integer[], $10::text[],
            $11::integer[]) AS c
"""


async def tenants(connection: asyncpg.Connection) -> list[UUID]:
    """Every tenant with a roster."""
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE planner_publisher")
        rows = await connection.fetch(
            "SELECT tenant_id FROM bench.roster ORDER BY tenant_id", timeout=STATEMENT_SECONDS
        )
    return [row["tenant_id"] for row in rows]


async def due(connection: asyncpg.Connection, tenant_id: UUID, rule: Rule) -> bool:
    """Whether a load calls for a new snapshot at once: there is none yet, or at least k rows have changed since.

    A snapshot for every hire would let whoever reads two of them subtract; fewer changes wait for the schedule.
    """
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE planner_publisher")
        row = await connection.fetchrow(
            "SELECT changed, snapshot FROM bench.roster WHERE tenant_id = $1", tenant_id, timeout=STATEMENT_SECONDS
        )
    return row is not None and (row["snapshot"] is None or row["changed"] >= rule.k)


async def publish_tenant(
    connection: asyncpg.Connection, tenant_id: UUID, lattice: Lattice, rule: Rule, as_of: date
) -> int:
    """Replaces the tenant's published cells by those of its roster on the day `as_of`; returns how many have a count.

    Raises `Misconfigured` if scipy is not installed, `LookupError` if the tenant has no roster.
    """
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE planner_publisher")
        await connection.fetchval("SELECT set_config('app.tenant_id', $1, true)", str(tenant_id))
        locked = await connection.fetchval(
            "SELECT true FROM bench.roster WHERE tenant_id = $1 FOR UPDATE", tenant_id, timeout=STATEMENT_SECONDS
        )
        if not locked:
            raise LookupError(f"tenant {tenant_id} has no roster; load one with `planner load bench`")
        counts = await _census(connection, tenant_id, lattice, as_of)
        printed = await asyncio.to_thread(publish, lattice, counts, rule)
        await _replace(connection, tenant_id, cells(lattice, printed), rule, as_of)
        await connection.execute(
            "UPDATE bench.roster SET changed = 0, snapshot = $2 WHERE tenant_id = $1",
            tenant_id,
            as_of,
            timeout=STATEMENT_SECONDS,
        )
    return sum(n is not None for n in printed)


async def _census(connection: asyncpg.Connection, tenant_id: UUID, lattice: Lattice, as_of: date) -> Counter[Atom]:
    counts: Counter[Atom] = Counter()
    for row in await connection.fetch(ROSTER, tenant_id, timeout=STATEMENT_SECONDS):
        person = Person(
            row["clearance"], frozenset(row["compartments"]), row["available_from"], row["labor_category"] or ""
        )
        counts[atom_of(person, as_of, lattice.vocabulary)] += row["people"]
    return counts


async def _replace(
    connection: asyncpg.Connection, tenant_id: UUID, made: Sequence[Cell], rule: Rule, as_of: date
) -> None:
    await connection.execute("DELETE FROM bench.cell WHERE tenant_id = $1", tenant_id, timeout=STATEMENT_SECONDS)
    columns = [list(column) for column in zip(*made, strict=True)]
    await connection.execute(REPLACE, tenant_id, as_of, rule.text(), *columns, timeout=STATEMENT_SECONDS)


async def remove_people(connection: asyncpg.Connection, tenant_id: UUID, person_refs: Sequence[str]) -> int:
    """Takes people off the roster; returns how many were on it."""
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE planner_loader")
        await connection.fetchval("SELECT set_config('app.tenant_id', $1, true)", str(tenant_id))
        gone = await connection.fetch(
            "DELETE FROM bench.person WHERE tenant_id = $1 AND person_ref = ANY ($2) RETURNING 1",
            tenant_id,
            list(person_refs),
            timeout=STATEMENT_SECONDS,
        )
    return len(gone)
