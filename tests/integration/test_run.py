"""Nodes in a real tenant transaction: edges take one checked scalar, failures poison nobody, caps, withheld cells."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import pytest

import registry
from consumer.deadline import Deadline
from consumer.planner.evidence import SUPPRESSED
from consumer.planner.extract import extract
from consumer.planner.plan import validate
from consumer.planner.run import Asking, Ran, run
from consumer.store.pool import close_pool, open_pool
from consumer.store.tenant import TenantTransaction, tenant_transaction
from registry import Registry
from schemas.answer import Edge
from tests.databases import Database
from tests.market import TENANT

pytestmark = pytest.mark.integration

TODAY = date(2026, 12, 1)
GOOD, ALSO, BAD = "K7MDPQ4WX2R8", "ZT5LNB8HJC38", "K7MDPQ4WX2R9"
ALL = frozenset({"market:read", "bench:read"})

PLANES = """
[[planes]]
name = "market"
scope = "market:read"
schemas = ["market"]

[[planes]]
name = "bench"
scope = "bench:read"
schemas = ["bench"]
suppressed = true
"""
COLUMN = '[[columns]]\nname = "{name}"\ntype = "{type}"\n{more}\n'
FILE = """/*---
name = "{name}"
plane = "{plane}"
description = "{name}"
heading = "{name}"
noun = ["row"]
row_cap = 3
{declared}
---*/
{sql}
"""
UEI_PARAM = '[[params]]\nname = "uei"\nkind = "uei"\n'
EDGE = '[[edges]]\nparam = "uei"\nsource = "market.source"\ncolumn = "uei"\n'


def declare(folder: Path, name: str, sql: str, *declared: str) -> None:
    plane, _, stem = name.partition(".")
    (folder / "intents" / plane).mkdir(parents=True, exist_ok=True)
    text = FILE.format(name=name, plane=plane, declared="\n".join(declared), sql=sql)
    (folder / "intents" / plane / f"{stem}.sql").write_text(text, encoding="utf-8")


def column(name: str, type: str, more: str = "") -> str:
    return COLUMN.format(name=name, type=type, more=more)


SOURCE = "SELECT v.uei FROM unnest(ARRAY[{source}]::text[]) AS v (uei) WHERE :tenant_id::uuid IS NOT NULL"
TARGET = """
SELECT :uei::text AS uei, 12.50::numeric AS amount, ARRAY['a', 'b']::text[] AS codes WHERE :tenant_id::uuid IS NOT NULL
"""
BROKEN = "SELECT 1 / cardinality(ARRAY[]::int[]) AS n WHERE :tenant_id::uuid IS NOT NULL"
MANY = "SELECT v.n FROM unnest(ARRAY[1, 2, 3, 4, 5]) AS v (n) WHERE :tenant_id::uuid IS NOT NULL ORDER BY v.n"
COUNTS = """
SELECT v.n, v.m FROM unnest(ARRAY[NULL, 20]::int[], ARRAY[NULL, 1]::int[]) AS v (n, m)
WHERE :tenant_id::uuid IS NOT NULL ORDER BY v.n NULLS FIRST
"""


def pack(folder: Path, source: str) -> Registry:
    """A registry whose source of an edge yields the values of `source`, an SQL list of texts."""
    (folder / "planes.toml").write_text(PLANES, encoding="utf-8")
    declare(folder, "market.source", SOURCE.format(source=source), column("uei", "id", "bindable = true"))
    declare(
        folder,
        "market.target",
        TARGET,
        UEI_PARAM,
        column("uei", "id"),
        column("amount", "money"),
        column("codes", "text", "plural = true"),
        EDGE,
    )
    declare(folder, "market.broken", BROKEN, column("n", "count"))
    declare(folder, "market.many", MANY, column("n", "count"))
    declare(folder, "bench.counts", COUNTS, column("n", "count", "sensitive = true"), column("m", "count"))
    return registry.load(str(folder))


@asynccontextmanager
async def session(database: Database) -> AsyncGenerator[TenantTransaction]:
    pool = await open_pool(database.worker_url, 2, 16)
    try:
        async with tenant_transaction(pool, TENANT, Deadline.after(20), 2_000) as held:
            yield held
    finally:
        await close_pool(pool)


async def answer(database: Database, made: Registry, *names: str, question: str = "") -> Ran:
    plan = validate(names, made, extract(question, made.reference), ALL)
    async with session(database) as held:
        return await run(plan.nodes, made, held, Asking(TENANT, TODAY, 11))


@pytest.mark.parametrize(
    ("source", "value"),
    [
        (f"'{GOOD}'", GOOD),
        (f"'{GOOD}', '{GOOD}', NULL", GOOD),  # one distinct value that is not null
        (f"'{GOOD.lower()}'", GOOD),  # as the extractor would read it
        (f"'{GOOD}', '{ALSO}'", None),  # two vendors: never the first
        ("NULL", None),
        (f"'{BAD}'", None),  # the extractor's own check
        ("'x''; DROP TABLE market.award; --'", None),
        (f"'{GOOD}', '{GOOD}', '{GOOD}', '{GOOD}'", None),  # a result that was cut may hold others
    ],
)
async def test_an_edge_takes_one_checked_scalar_or_its_node_is_dropped(
    module_database: Database, tmp_path: Path, source: str, value: str | None
) -> None:
    ran = await answer(module_database, pack(tmp_path, source), "market.target")
    if value is None:
        assert (ran.names, ran.edges) == (("market.source",), ())
        assert [(one.intent, one.reason.value) for one in ran.dropped] == [("market.target", "unbound")]
        return
    assert ran.names == ("market.source", "market.target")
    assert ran.edges == (Edge(source="market.source", column="uei", target="market.target", param="uei"),)
    target = ran.evidence[1]
    assert target.rows == ((value, Decimal("12.50"), ("a", "b")),)
    assert target.scope == {"uei": value}


async def test_a_value_of_the_question_leaves_the_edge_out(module_database: Database, tmp_path: Path) -> None:
    made = pack(tmp_path, f"'{GOOD}'")
    ran = await answer(module_database, made, "market.target", question=f"vendor {ALSO}")
    assert (ran.names, ran.edges) == (("market.target",), ())
    assert ran.evidence[0].rows[0][0] == ALSO


async def test_a_node_that_fails_is_dropped_and_poisons_nobody(module_database: Database, tmp_path: Path) -> None:
    made = pack(tmp_path, f"'{GOOD}'")
    ran = await answer(module_database, made, "market.broken", "market.many", "market.source", "bench.counts")
    assert ran.names == ("market.many", "market.source", "bench.counts")
    assert [(one.intent, one.reason.value) for one in ran.dropped] == [("market.broken", "failed")]
    assert [one.id for one in ran.evidence] == ["e1", "e2", "e3"]


async def test_a_row_cap_that_bites_is_said(module_database: Database, tmp_path: Path) -> None:
    ran = await answer(module_database, pack(tmp_path, f"'{GOOD}'"), "market.many", "market.source")
    many, source = ran.evidence
    assert (many.complete, many.total_rows, [row[0] for row in many.rows]) == (False, None, [1, 2, 3])
    assert (source.complete, source.total_rows) == (True, 1)


async def test_null_is_withheld_on_a_plane_that_counts_people_alone(module_database: Database, tmp_path: Path) -> None:
    ran = await answer(module_database, pack(tmp_path, "NULL"), "bench.counts", "market.source")
    source, counts = ran.evidence
    assert counts.rows == ((SUPPRESSED, None), (20, 1))
    assert (counts.suppressed_cells, counts.k) == (1, 11)
    assert (source.rows, source.k) == (((None,),), None)


async def test_the_same_plan_gives_the_same_evidence(market_database: Database) -> None:
    made = registry.load()
    question = 'Who competes for 541512 at "Department of Defense"?'
    names = ("market.competitors", "market.concentration", "market.spend_trend", "graph.partners")
    plan = validate(names, made, extract(question, made.reference), frozenset({"market:read", "graph:read"}))
    async with session(market_database) as held:
        first = await run(plan.nodes, made, held, Asking(TENANT, TODAY, 11))
    async with session(market_database) as held:
        second = await run(plan.nodes, made, held, Asking(TENANT, TODAY, 11))
    assert first == second
    assert first.names == names
    assert all(evidence.rows for evidence in first.evidence)


async def test_another_tenant_sees_no_private_row(market_database: Database) -> None:
    made = registry.load()
    plan = validate(["graph.partners"], made, extract("", made.reference), frozenset({"graph:read"}))
    pool = await open_pool(market_database.worker_url, 2, 16)
    try:
        other = UUID("0ddba11e-5e7a-4c0b-8d2f-6a7b8c9d0e1f")
        async with tenant_transaction(pool, other, Deadline.after(20), 2_000) as held:
            ran = await run(plan.nodes, made, held, Asking(other, TODAY, 11))
    finally:
        await close_pool(pool)
    assert ran.evidence[0].rows == ()
