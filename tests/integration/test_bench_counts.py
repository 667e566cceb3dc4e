"""Rosters, snapshots and the bench intents on a real PostgreSQL, as the roles of production."""

import json
import os
import random
import subprocess
import sys
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from consumer.bench.lattice import CATEGORIES, Lattice, Vocabulary, lattice
from consumer.bench.publish import Rule
from consumer.bench.snapshot import due, publish_tenant, remove_people, tenants
from consumer.store.load import Counts, load
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


async def test_the_publisher_s_own_login_publishes_and_sees_no_person(database: Database) -> None:
    tenant = uuid.uuid4()
    admin = await asyncpg.connect(database.admin_url)
    publisher = await asyncpg.connect(database.publisher_url)
    try:
        await put(admin, tenant, people(5, 150))
        assert await publish_tenant(publisher, tenant, LATTICE, RULE, AS_OF) > 0
        assert await tenants(publisher) == [tenant]
        for column in ("person_ref", "skills"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await publisher.fetch(f"SELECT {column} FROM bench.person")  # noqa: S608
    finally:
        await admin.close()
        await publisher.close()


async def test_a_tenant_without_a_roster_is_told_how_to_load_one(database: Database) -> None:
    admin = await asyncpg.connect(database.admin_url)
    try:
        with pytest.raises(LookupError, match="planner load bench"):
            await publish_tenant(admin, uuid.uuid4(), LATTICE, RULE, AS_OF)
    finally:
        await admin.close()


ROSTER = """\
notes,skills,person_ref,clearance,available_from,labor_category,compartments
x,"zero trust;itil",A1,Top Secret,12/31/2026,Cyber Analyst,
x,,A2,ts/sci,2027-11-01,,si; tk
x,,A3,PUBLIC_TRUST,2027-01-01,Cook,
"""
REJECTED = [
    ("x,,B1,SECRET,2027-01-01,Cook,SI", "compartments need the clearance TS_SCI; this row has SECRET"),
    ("x,,B2,Wizard,2027-01-01,Cook,", "clearance: Wizard is no clearance"),
    ("x,,,SECRET,2027-01-01,Cook,", "person_ref is empty"),
    ("x,,B4,,2027-01-01,Cook,", "clearance is empty"),
    ("x,,B5,SECRET,2027-13-01,Cook,", "2027-13-01 is no date"),
    ("x,,B6,SECRET,,Cook,", "available_from is empty"),
    ("x,,B7,TS_SCI,2027-01-01,Cook,S I?", "is no compartment"),
]


async def test_a_messy_roster_loads_and_says_why_rows_are_rejected(database: Database, tmp_path: Path) -> None:
    tenant, path = uuid.uuid4(), tmp_path / "roster.csv"
    path.write_text(ROSTER + "\n".join(row for row, _ in REJECTED) + "\n", encoding="utf-8-sig")
    assert (await load("bench", [path], database.admin_url, tenant)).total == Counts(loaded=3, rejected=len(REJECTED))
    reasons = (tmp_path / "roster.csv.rejected.csv").read_text().splitlines()[1:]
    for (row, reason), line in zip(REJECTED, reasons, strict=True):
        assert reason in line, row
    assert (await load("bench", [path], database.admin_url, tenant)).total == Counts(unchanged=3, rejected=7)
    admin = await asyncpg.connect(database.admin_url)
    try:
        rows = await admin.fetch("SELECT * FROM bench.person ORDER BY person_ref")
        assert [(r["person_ref"], r["clearance"], r["compartments"]) for r in rows] == [
            ("A1", "TS", []),
            ("A2", "TS_SCI", ["SI", "TK"]),
            ("A3", "PUBLIC_TRUST", []),
        ]
        assert (rows[0]["available_from"], rows[0]["skills"]) == (date(2026, 12, 31), ["zero trust", "itil"])
        assert await remove_people(admin, tenant, ["A1", "Z9"]) == 1
        assert await remove_people(admin, uuid.uuid4(), ["A2"]) == 0, "another tenant's roster is out of reach"
    finally:
        await admin.close()


async def test_loading_a_roster_publishes_today_s_snapshot(database: Database, shared: Path, tmp_path: Path) -> None:
    tenant, path = uuid.uuid4(), tmp_path / "bench.csv"
    path.write_bytes((shared / "data/bench.csv").read_bytes())
    assert (await load("bench", [path], database.admin_url, tenant)).total == Counts(loaded=600)
    admin = await asyncpg.connect(database.admin_url)
    try:
        cells = await admin.fetch("SELECT * FROM bench.cell WHERE tenant_id = $1", tenant)
    finally:
        await admin.close()
    assert {cell["snapshot"] for cell in cells} == {datetime.now(UTC).date()}
    counts = [n for cell in cells for n in (cell["holders"], cell["or_above"], cell["wider_count"]) if n is not None]
    assert min(counts) >= 11
    assert max(counts) == 600


def test_the_command_publishes_every_tenant_and_needs_to_be_told_whose(database: Database, tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(ROSTER)
    tenant = str(uuid.uuid4())
    assert planner(database, "load", "bench", str(path), "--tenant", tenant).returncode == 0
    done = planner(database, "bench", "publish", "--all", "--json")
    assert done.returncode == 0
    assert [p["tenant_id"] for p in json.loads(done.stdout)["published"]] == [tenant]
    for arguments, code, words in (
        (["bench", "publish"], 2, "--tenant UUID or --all"),
        (["bench", "publish", "--tenant", str(uuid.uuid4())], 1, "planner load bench"),
    ):
        failed = planner(database, *arguments)
        assert (failed.returncode, words in failed.stderr) == (code, True), failed.stderr


def planner(database: Database, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "consumer", *arguments],
        env={**os.environ, "PLANNER_ADMIN_DATABASE_URL": database.admin_url},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
