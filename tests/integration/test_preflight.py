# ruff: noqa: E501 one fault a line reads best
"""The preflight is silent on what migrations make, and names each fault that is put into it.

Faults go in as the superuser in a transaction that is rolled back, so that the roles, which all tests share, never
change for anybody else.
"""

import asyncio
import contextlib

import asyncpg
import pytest

from consumer.errors import Misconfigured
from consumer.observe import metrics
from consumer.store.pool import close_pool, open_pool
from consumer.store.preflight import SINK, STATEMENT, Inspection, preflight, schemas_of
from registry import load
from tests.databases import Database
from tests.support import eventually

SCHEMAS = ("market", "graph", "bench", "docs")
DEFINER = "LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM graph.partner'"
OPEN_POLICY = (
    "CREATE POLICY tenant ON graph.partner AS RESTRICTIVE FOR ALL TO PUBLIC "
    "USING (tenant_id = (SELECT nullif(current_setting('app.tenant_id', true), '')::uuid) OR true) WITH CHECK (true)"
)

FAULTS = [
    # check, what is put in, the object that must be named
    ("superuser", "ALTER ROLE planner_worker SUPERUSER", "planner_worker"),
    ("superuser", "ALTER ROLE planner_loader SUPERUSER", "planner_loader"),
    ("bypass_row_security", "ALTER ROLE planner_worker BYPASSRLS", "planner_worker"),
    ("bypass_row_security", "ALTER ROLE planner_sink BYPASSRLS", "planner_sink"),
    ("powerful_role", "ALTER ROLE planner_worker CREATEROLE", "planner_worker"),
    ("powerful_role", "ALTER ROLE planner_worker REPLICATION", "planner_worker"),
    ("member_of", "GRANT planner_owner TO planner_worker", "planner_worker"),
    ("member_of", "GRANT pg_read_all_data TO planner_worker", "planner_worker"),
    ("owner", "ALTER TABLE market.award OWNER TO planner_worker", "market.award"),
    ("owner", "ALTER SCHEMA graph OWNER TO planner_worker", "schema graph"),
    ("owner", "ALTER FUNCTION bench.count_changes() OWNER TO planner_sink", "function bench.count_changes()"),
    ("owner", "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I OWNER TO planner_worker', current_database()); END $$", ""),
    ("read_only_default", "ALTER ROLE planner_worker RESET default_transaction_read_only", "planner_worker"),
    ("row_security_off", "SET LOCAL row_security = off", "planner_worker"),
    ("row_security", "ALTER TABLE docs.chunk DISABLE ROW LEVEL SECURITY", "docs.chunk"),
    ("row_security", "CREATE TABLE market.extra (tenant_id uuid NOT NULL)", "market.extra"),
    ("not_forced", "ALTER TABLE graph.partner NO FORCE ROW LEVEL SECURITY", "graph.partner"),
    ("no_tenant", "CREATE TABLE market.fy (y int); GRANT SELECT ON market.fy TO planner_worker", "market.fy"),
    ("no_tenant", "ALTER TABLE docs.corpus DROP CONSTRAINT corpus_pkey; ALTER TABLE docs.corpus ALTER tenant_id DROP NOT NULL", "docs.corpus"),
    ("no_tenant_policy", "DROP POLICY tenant ON graph.requirement", "graph.requirement"),
    ("no_tenant_policy", "DROP POLICY tenant ON bench.person", "bench.person"),
    ("no_tenant_policy", f"DROP POLICY tenant ON graph.partner; {OPEN_POLICY}", "graph.partner"),
    ("no_tenant_policy", "ALTER POLICY tenant ON market.award TO planner_loader", "market.award"),
    ("partition_granted", "CREATE TABLE graph.part () INHERITS (graph.partner); GRANT SELECT ON graph.part TO planner_worker", "graph.part"),
    ("partition_granted", "GRANT SELECT ON audit.plan_answered_0 TO planner_auditor", "audit.plan_answered_0"),
    ("index_not_led", "CREATE INDEX bad ON market.award (naics)", "bad on market.award"),
    ("index_not_led", "CREATE UNIQUE INDEX bad ON market.award (naics, tenant_id, award_key)", "bad on market.award"),
    ("unique_across_tenants", "CREATE UNIQUE INDEX bad ON graph.partner (name)", "bad on graph.partner"),
    ("unique_across_tenants", "CREATE UNIQUE INDEX bad ON bench.person (person_ref) INCLUDE (tenant_id)", "bad on bench.person"),
    (
        "foreign_key_across_tenants",
        "ALTER TABLE graph.partner ADD UNIQUE (uei), ADD above text REFERENCES graph.partner (uei)",
        "partner_above_fkey on graph.partner",
    ),
    ("view_of_owner", "CREATE VIEW graph.all AS SELECT * FROM graph.partner; GRANT SELECT ON graph.all TO planner_worker", 'graph."all"'),
    ("view_of_owner", "ALTER VIEW market.obligation SET (security_invoker = false)", "market.obligation"),
    ("view_of_owner", "ALTER VIEW audit.trail RESET (security_invoker)", "audit.trail"),
    ("materialized_view", "CREATE MATERIALIZED VIEW market.m AS SELECT * FROM market.award; GRANT SELECT ON market.m TO planner_worker", "market.m"),
    (
        "foreign_table",
        "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w; "
        "CREATE FOREIGN TABLE market.far (a int) SERVER s; GRANT SELECT ON market.far TO PUBLIC",
        "market.far",
    ),
    ("security_definer", f"CREATE FUNCTION graph.f() RETURNS bigint {DEFINER}; GRANT EXECUTE ON FUNCTION graph.f() TO planner_worker", "graph.f()"),
    ("leakproof", "CREATE FUNCTION market.f(text) RETURNS boolean LANGUAGE sql LEAKPROOF AS 'SELECT true'", "market.f(text)"),
    ("writes", "GRANT INSERT ON market.award TO planner_worker", "market.award"),
    ("writes", "GRANT UPDATE (title) ON graph.requirement TO PUBLIC", "graph.requirement"),
    ("writes", "GRANT TRIGGER ON docs.chunk TO planner_worker", "docs.chunk"),
    ("sequence", "CREATE SEQUENCE market.s; GRANT USAGE ON SEQUENCE market.s TO planner_worker", "market.s"),
    ("roster", "GRANT SELECT (clearance) ON bench.person TO planner_worker", "bench.person"),
    ("foreign_schema", "GRANT USAGE ON SCHEMA audit TO planner_worker", "schema audit"),
    ("foreign_schema", "GRANT USAGE ON SCHEMA public TO PUBLIC", "schema public"),
    ("eeo", "CREATE SCHEMA eeo; GRANT USAGE ON SCHEMA eeo TO planner_auditor", "schema eeo"),
    ("eeo", "CREATE SCHEMA eeo; CREATE TABLE eeo.self_id (a text); GRANT SELECT ON eeo.self_id TO planner_worker", "eeo.self_id"),
    ("creates", "GRANT CREATE ON SCHEMA market TO planner_worker", "schema market"),
    ("creates", "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO planner_worker', current_database()); END $$", ""),
    ("temporary", "DO $$ BEGIN EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO PUBLIC', current_database()); END $$", ""),
    ("builtin", "GRANT EXECUTE ON FUNCTION pg_sleep(double precision) TO PUBLIC", "pg_sleep(double precision)"),
    ("builtin", "GRANT EXECUTE ON FUNCTION lo_from_bytea(oid, bytea) TO planner_worker", "lo_from_bytea(oid,bytea)"),
    ("builtin", "GRANT EXECUTE ON FUNCTION pg_read_file(text) TO planner_worker", "pg_read_file(text)"),
    ("audit_writes", "GRANT DELETE ON audit.plan_answered TO planner_sink", "audit.plan_answered"),
    ("audit_writes", "GRANT UPDATE (body) ON audit.rejected TO planner_sink", "audit.rejected"),
    ("audit_trigger", "ALTER TABLE audit.plan_answered DISABLE TRIGGER no_change", "audit.plan_answered"),
    ("audit_trigger", "ALTER TABLE audit.event ENABLE TRIGGER no_truncate", "audit.event"),
    ("audit_trigger", "DROP TRIGGER no_truncate ON audit.plan_answered_0", "audit.plan_answered_0"),
    ("audit_hash", "ALTER TABLE audit.plan_answered DROP CONSTRAINT row_hash_is_recomputed", "audit.plan_answered"),
]  # fmt: skip

DECOYS = """
CREATE SCHEMA eeo;
CREATE TABLE eeo.self_id (person text, answer text);
CREATE FUNCTION graph.unreachable() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT 1::bigint';
CREATE MATERIALIZED VIEW market.unreachable AS SELECT * FROM market.award;
CREATE VIEW graph.fair WITH (security_invoker = on) AS SELECT * FROM graph.partner;
GRANT SELECT ON graph.fair TO planner_worker;
CREATE UNIQUE INDEX led ON graph.partner (tenant_id, name);
CREATE TABLE market.fair (tenant_id uuid NOT NULL, x text);
SELECT planner.shared_table('market.fair');
GRANT SELECT ON market.fair TO planner_worker;
CREATE POLICY wide ON graph.partner AS PERMISSIVE FOR SELECT TO PUBLIC USING (true);
"""


async def found(database: Database, *faults: str) -> list[tuple[str, str]]:
    """Check and object of each violation once `faults` are in; that we look as the superuser is no news."""
    connection = await asyncpg.connect(database.admin_url)
    transaction = connection.transaction()
    await transaction.start()
    try:
        for fault in faults:
            await connection.execute(fault)
        violations = await preflight(connection, SCHEMAS)
    finally:
        await transaction.rollback()
        await connection.close()
    return [(v.check, v.object) for v in violations if v.check != "connected_role"]


async def test_what_migrations_make_has_no_violation(module_database: Database) -> None:
    assert await found(module_database) == []


async def test_decoys_stay_silent(module_database: Database) -> None:
    assert await found(module_database, DECOYS) == []


@pytest.mark.parametrize(("check", "fault", "named"), FAULTS)
async def test_a_fault_is_found_and_named(module_database: Database, check: str, fault: str, named: str) -> None:
    violations = await found(module_database, fault)
    assert check in {c for c, _ in violations}, violations
    assert any(c == check and named in o for c, o in violations), violations


def test_every_check_has_a_fault_that_proves_it() -> None:
    named = {
        line.split("'")[1]
        for line in STATEMENT.splitlines()
        if line.strip().startswith(("SELECT '", "UNION ALL SELECT '"))
    }
    elsewhere = {"connected_role", "missing_role"}
    assert named - elsewhere == {check for check, _, _ in FAULTS}


async def test_another_role_than_the_workers_is_refused(module_database: Database) -> None:
    connection = await asyncpg.connect(module_database.sink_url)
    try:
        violations = await preflight(connection, SCHEMAS)
    finally:
        await connection.close()
    assert [v.check for v in violations] == ["connected_role"]


async def test_a_role_that_does_not_exist_is_named(module_database: Database) -> None:
    connection = await asyncpg.connect(module_database.worker_url)
    try:
        violations = await preflight(connection, SCHEMAS, "planner_nobody")
    finally:
        await connection.close()
    assert "missing_role" in {v.check for v in violations}


async def test_a_worker_refuses_to_start_on_a_violation(database: Database) -> None:
    admin = await asyncpg.connect(database.admin_url)
    pool = await open_pool(database.worker_url, 1, 0)
    try:
        inspection = Inspection(pool, SCHEMAS)
        await inspection.refuse()
        await admin.execute(
            "ALTER TABLE graph.partner NO FORCE ROW LEVEL SECURITY; GRANT CREATE ON SCHEMA market TO PUBLIC"
        )
        with pytest.raises(Misconfigured, match=r"is not safe to work on: schema market.* and \d+ more"):
            await inspection.refuse()
    finally:
        await close_pool(pool)
        await admin.close()


async def test_a_sink_refuses_a_role_that_could_change_the_trail(database: Database) -> None:
    for url, says in ((database.sink_url, ""), (database.admin_url, "must connect as planner_sink")):
        pool = await open_pool(url, 1, 0)
        try:
            inspection = Inspection(pool, (), SINK)
            with pytest.raises(Misconfigured, match=says) if says else contextlib.nullcontext():
                await inspection.refuse()
        finally:
            await close_pool(pool)


async def test_a_fault_that_comes_later_is_seen_by_readiness_metric_and_log(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    admin = await asyncpg.connect(database.admin_url)
    pool = await open_pool(database.worker_url, 1, 0)
    inspection = Inspection(pool, SCHEMAS)
    await inspection.refuse()
    running = asyncio.create_task(inspection.repeat(0.05))
    try:
        await admin.execute("ALTER TABLE graph.partner NO FORCE ROW LEVEL SECURITY")
        await eventually(inspection.problems)
        assert metrics.TENANCY_VIOLATIONS._value.get() == 1
        await eventually(lambda: "is not safe to work on" in caplog.text)
        await admin.execute("ALTER TABLE graph.partner FORCE ROW LEVEL SECURITY")
        await eventually(lambda: not inspection.problems())
    finally:
        running.cancel()
        await close_pool(pool)
        await admin.close()


def test_schemas_are_those_of_the_planes_and_the_documents() -> None:
    assert schemas_of(load()) == ("bench", "docs", "graph", "market")
