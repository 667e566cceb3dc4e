"""Every question that can be asked of the bench, asked as the worker: what comes back is what was published."""

import uuid
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import asyncpg
import pytest

from consumer.bench.lattice import CATEGORIES, CLEARANCES, COMPARTMENTS, implied
from consumer.bench.snapshot import publish_tenant
from registry import Registry, load
from tests.databases import Database
from tests.integration.test_bench_counts import AS_OF, LATTICE, RULE, people, put

pytestmark = pytest.mark.integration

Row = dict[str, Any]
WINDOWS = (None, *range(1, 25))
AVAILABILITY = {0: "regardless of date", 3: "within 3 months", 6: "within 6 months", 12: "within 12 months"}
COUNTS = ("holders", "holders_or_above", "wider_count")


class Worker:
    """Asks intents in the tenant's read only transaction, as `planner_worker`."""

    def __init__(self, connection: asyncpg.Connection, registry: Registry) -> None:
        self.connection, self.registry = connection, registry

    async def ask(self, tenant: uuid.UUID, intent: str, **given: Any) -> list[Row]:
        statement = self.registry.statements[intent]
        supplied: Mapping[str, Any] = {"tenant_id": tenant, "as_of": AS_OF, **given}
        async with self.connection.transaction(isolation="repeatable_read", readonly=True):
            await self.connection.fetchval("SELECT set_config('app.tenant_id', $1, true)", str(tenant))
            rows = await self.connection.fetch(statement.text, *(supplied.get(name) for name in statement.parameters))
        return [dict(row) for row in rows]


@pytest.fixture
async def worker(database: Database) -> AsyncGenerator[Worker]:
    connection = await asyncpg.connect(database.worker_url)
    yield Worker(connection, load())
    await connection.close()


@pytest.fixture
async def admin(database: Database) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(database.admin_url)
    yield connection
    await connection.close()


async def published(admin: asyncpg.Connection, tenant: uuid.UUID, count: int, seed: int = 1) -> dict[Any, Row]:
    """The cells of a fresh roster by their key."""
    await put(admin, tenant, people(seed, count))
    await publish_tenant(admin, tenant, LATTICE, RULE, AS_OF)
    rows = await admin.fetch("SELECT * FROM bench.cell WHERE tenant_id = $1", tenant)
    return {(r["clearance"], r["compartments"], r["within_months"], r["labor_category"]): dict(r) for r in rows}


async def test_the_sweep_of_all_questions_yields_published_cells_alone(
    admin: asyncpg.Connection, worker: Worker
) -> None:
    tenant = uuid.uuid4()
    cells = await published(admin, tenant, 260)
    groups = [((), category) for category in (None, *CATEGORIES)]
    groups += [((c,), None) for c in COMPARTMENTS] + [(("SI", "TK"), None), (("HCS", "SI", "TK"), None)]
    for clearance in CLEARANCES:
        for held, category in groups:
            for window in WINDOWS if category is None else (None, 4):
                closed = sorted({*held, *implied(held)}) or None
                rows = await worker.ask(
                    tenant, "bench.cleared_count", clearance=clearance, compartments=closed, window_months=window,
                    labor_category=category,
                )  # fmt: skip
                for row in rows:
                    months = {text: m for m, text in AVAILABILITY.items()}
                    within = 0 if window is None else months[row["availability"]]
                    assert within == next((w for w in (3, 6, 12) if window is not None and window <= w), 0)
                    cell = cells.get((row["clearance"], "/".join(closed or ()), within, category or ""), {})
                    assert row["holders"] == cell.get("holders")
                    assert row["holders_or_above"] == cell.get("or_above")
                    assert row["snapshot"] == AS_OF
    by_level = await worker.ask(tenant, "bench.by_clearance")
    assert [row["clearance"] for row in by_level] == list(CLEARANCES)
    assert all(row["holders"] == cells[row["clearance"], "", 0, ""]["holders"] for row in by_level)
    windows = await worker.ask(tenant, "bench.availability", clearance="SECRET")
    assert [row["holders"] for row in windows] == [cells["SECRET", "", w, ""]["holders"] for w in (3, 6, 12, 0)]


async def test_zero_small_withheld_and_unrecorded_counts_are_one_sentinel(
    admin: asyncpg.Connection, worker: Worker
) -> None:
    tenant = uuid.uuid4()
    await published(admin, tenant, 60)
    asked = [
        {"clearance": "DOE_L"},  # nobody
        {"clearance": "DOE_Q"},  # a few at most
        {"clearance": "TS_SCI", "compartments": ["HCS", "SI", "TK"], "window_months": 3},
        {"clearance": "TS_SCI", "compartments": ["KLONDIKE"]},  # outside the lattice
        {"clearance": "SECRET", "labor_category": "Deep sea diver"},
        {"clearance": "SECRET", "polygraph": "FS"},  # not recorded
    ]
    for given in asked:
        (row,) = await worker.ask(tenant, "bench.cleared_count", **given)
        assert (row["holders"], row["holders_or_above"], row["snapshot"]) == (None, None, AS_OF), given


async def test_without_a_roster_or_as_another_tenant_every_count_is_withheld(
    admin: asyncpg.Connection, worker: Worker
) -> None:
    owner, other = uuid.uuid4(), uuid.uuid4()
    await published(admin, owner, 300)
    for intent in ("bench.cleared_count", "bench.by_clearance", "bench.availability"):
        mine, theirs = await worker.ask(owner, intent), await worker.ask(other, intent)
        assert len(mine) == len(theirs), "the shape says nothing of who has people"
        assert any(row["holders_or_above"] for row in mine)
        assert all(row.get(count) is None for row in theirs for count in COUNTS)


async def test_a_requirement_is_answered_with_the_clearance_it_names(admin: asyncpg.Connection, worker: Worker) -> None:
    tenant, opportunity = uuid.uuid4(), uuid.uuid4()
    cells = await published(admin, tenant, 400)
    needs = {"Guard the vault": "TS_SCI", "Mow the lawn": None, "Run the desk": "SECRET"}
    for title, clearance in needs.items():
        await admin.execute(
            "INSERT INTO graph.requirement VALUES ($1, $2, $3, NULL, $4, $5, '{itil}', 3)",
            tenant, uuid.uuid4(), opportunity, title, clearance,
        )  # fmt: skip
    rows = await worker.ask(tenant, "bench.for_requirement", requirement=opportunity)
    assert [(row["requirement"], row["holders_or_above"]) for row in rows] == [
        (title, cells[clearance or "ANY", "", 0, ""]["or_above"]) for title, clearance in sorted(needs.items())
    ]
    assert await worker.ask(uuid.uuid4(), "bench.for_requirement", requirement=opportunity) == []


async def test_the_capture_picture_sets_market_partners_and_bench_side_by_side(
    admin: asyncpg.Connection, worker: Worker
) -> None:
    tenant, requirement = uuid.uuid4(), uuid.uuid4()
    cells = await published(admin, tenant, 400)
    await admin.execute(
        "INSERT INTO graph.requirement VALUES ($1, $2, $3, NULL, 'Run the desk', 'SECRET', '{ITIL,gis}', 3)",
        tenant, requirement, uuid.uuid4(),
    )  # fmt: skip
    for uei, capabilities in (
        ("AAAAAAAAAAA1", ["itil"]),
        ("AAAAAAAAAAA2", ["gis", "itil"]),
        ("AAAAAAAAAAA3", ["radar"]),
    ):
        await admin.execute("INSERT INTO graph.partner VALUES ($1, $2, $2, $3, '{}')", tenant, uei, capabilities)
    for key, vendor, amount, end in (("A", "BRASS LAMPS LLC", 75, 400), ("B", "OIL AND WICK INC", 25, 30)):
        await admin.execute(
            "INSERT INTO market.award"
            " (tenant_id, award_key, agency, vendor, naics, obligated, summary_date, current_end)"
            " VALUES ($1, $2, 'Department of Lighthouses', $3, '541512', $4, $5::date - 100, $5::date + $6::int)",
            uuid.UUID(int=0), key, vendor, amount, AS_OF, end,
        )  # fmt: skip
    (row,) = await worker.ask(
        tenant, "bench.capture_picture", requirement=requirement, agency="Department of Lighthouses", naics="541512",
        window_months=6,
    )  # fmt: skip
    assert row["holders_or_above"] == cells["SECRET", "", 0, ""]["or_above"]
    shown = {name: row[name] for name in ("partners", "vendors", "obligated", "leader", "leader_share", "recompetes")}
    assert shown == {
        "partners": 2, "vendors": 2, "obligated": 100, "leader": "BRASS LAMPS LLC", "leader_share": 75, "recompetes": 1,
    }  # fmt: skip
