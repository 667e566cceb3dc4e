"""Rosters, snapshots and the bench intents on a real PostgreSQL, as the roles of production."""

import random
import uuid
from collections.abc import Sequence
from datetime import date
from typing import Any

import asyncpg
import pytest

from consumer.bench.lattice import CATEGORIES, Lattice, Vocabulary, lattice
from consumer.bench.publish import Rule
from consumer.bench.snapshot import due, publish_tenant, tenants
from tests.databases import Database

pytestmark = pytest.mark.integration

AS_OF = date(2026, 12, 1)
RULE = Rule(k=11)
LATTICE: Lattice = lattice(Vocabulary())


def people(seed: int, count: int) -> list[tuple[Any, ...]]:
    """Made up roster rows: (person_ref, labor_category, clearance, compartments, skills, available_from)."""
    rng = random.Random(seed)
    rows: list[tuple[Any, ...]] = []
    for n in range(count):
        clearance = rng.choices(["NONE", "PUBLIC_TRUST", "SECRET", "TS", "TS_SCI", "DOE_Q"], [4, 3, 7, 3, 4, 0.2])[0]
        held = rng.sample(["HCS", "SI", "TK"], rng.randrange(0, 4)) if clearance == "TS_SCI" else []
        free = date(2027, rng.randrange(1, 13), 1)
        rows.append((f"R{n:04d}", rng.choice(CATEGORIES), clearance, sorted(held), [], free))
    return rows


async def put(connection: asyncpg.Connection, tenant: uuid.UUID, rows: Sequence[tuple[Any, ...]]) -> None:
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE planner_loader")
        await connection.fetchval("SELECT set_config('app.tenant_id', $1, true)", str(tenant))
        await connection.executemany(
            "INSERT INTO bench.person VALUES ($1, $2, $3, $4, $5, $6, $7)", [(tenant, *row) for row in rows]
        )


async def test_the_worker_reads_published_cells_and_never_the_roster(database: Database) -> None:
    tenant, other = uuid.uuid4(), uuid.uuid4()
    admin = await asyncpg.connect(database.admin_url)
    worker = await asyncpg.connect(database.worker_url)
    try:
        await put(admin, tenant, people(1, 300))
        assert await tenants(admin) == [tenant]
        published = await publish_tenant(admin, tenant, LATTICE, RULE, AS_OF)
        assert 0 < published < len(LATTICE.groups)
        for table in ("bench.person", "bench.roster"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await worker.fetch(f"SELECT count(*) FROM {table}")  # noqa: S608
        for asker, rows in ((tenant, True), (other, False)):
            async with worker.transaction():
                await worker.fetchval("SELECT set_config('app.tenant_id', $1, true)", str(asker))
                assert bool(await worker.fetch("SELECT 1 FROM bench.cell LIMIT 1")) is rows
    finally:
        await admin.close()
        await worker.close()


async def test_fewer_changes_than_the_threshold_wait_for_the_schedule(database: Database) -> None:
    tenant = uuid.uuid4()
    rows = people(2, 120)
    admin = await asyncpg.connect(database.admin_url)
    try:
        await put(admin, tenant, rows[:100])
        assert await due(admin, tenant, RULE)
        await publish_tenant(admin, tenant, LATTICE, RULE, AS_OF)
        await put(admin, tenant, rows[100:110])
        assert not await due(admin, tenant, RULE)
        await put(admin, tenant, rows[110:])
        assert await due(admin, tenant, RULE)
    finally:
        await admin.close()


async def test_the_same_roster_publishes_the_same_cells(database: Database) -> None:
    admin = await asyncpg.connect(database.admin_url)
    rows = people(3, 200)
    shuffled = random.Random(4).sample(rows, len(rows))
    made: list[list[tuple[Any, ...]]] = []
    try:
        for order in (rows, shuffled):
            tenant = uuid.uuid4()
            await put(admin, tenant, order)
            await publish_tenant(admin, tenant, LATTICE, RULE, AS_OF)
            await publish_tenant(admin, tenant, LATTICE, RULE, AS_OF)
            cells = await admin.fetch("SELECT * FROM bench.cell WHERE tenant_id = $1 ORDER BY 2, 3, 4, 5", tenant)
            made.append([tuple(row)[1:] for row in cells])
    finally:
        await admin.close()
    assert made[0] == made[1]
    assert len(made[0]) == sum(group.reach == "exactly" for group in LATTICE.groups)


async def test_a_tenant_without_a_roster_is_told_how_to_load_one(database: Database) -> None:
    admin = await asyncpg.connect(database.admin_url)
    try:
        with pytest.raises(LookupError, match="planner load bench"):
            await publish_tenant(admin, uuid.uuid4(), LATTICE, RULE, AS_OF)
    finally:
        await admin.close()
