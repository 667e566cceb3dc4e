# ruff: noqa: E501, S608 the statements are the cases
"""The attacks on tenancy (t) and on read only access (r), each tried on a real server.

The numbers follow the list of cases that the design was made against; what is found by the preflight is tried here
for what it would have cost, and in test_preflight.py for being found.
"""

import asyncio
import re
import statistics
import time
from collections.abc import AsyncGenerator
from typing import Any
from uuid import UUID

import asyncpg
import pytest

from consumer.authority import Identity, agreed
from consumer.deadline import Deadline
from consumer.errors import DeadLetterReason, Misconfigured, Permanent, Transient
from consumer.service import answerer
from consumer.settings import Settings
from consumer.store.pool import close_pool, connection, is_transient, open_pool
from consumer.store.preflight import preflight
from consumer.store.tenant import TenantContextLost, tenant_transaction
from registry.statement import compile
from schemas import Question
from tests import databases
from tests.databases import Database
from tests.support import ROOT
from tests.tenants import MARKS, PROTECTED, UEIS, A, B, fill, requirement
from tests.unit.registry.test_lint import HOSTILE

pytestmark = pytest.mark.integration
SCHEMAS = ("market", "graph", "bench", "docs")
TENANT_TABLES = ("market.award", "graph.requirement", "graph.partner", "bench.cell", "docs.chunk", "docs.word")


@pytest.fixture(scope="module")
def filled(module_database: Database) -> Database:
    async def work() -> None:
        connection = await asyncpg.connect(module_database.admin_url)
        await fill(connection)
        await connection.close()

    databases.run(work())
    return module_database


@pytest.fixture
async def pool(filled: Database) -> AsyncGenerator[asyncpg.Pool]:
    made = await open_pool(filled.worker_url, 1, 64)
    yield made
    await close_pool(made)


@pytest.fixture
async def admin(filled: Database) -> AsyncGenerator[asyncpg.Connection]:
    """The superuser, in a transaction that is rolled back."""
    connection = await asyncpg.connect(filled.admin_url)
    transaction = connection.transaction()
    await transaction.start()
    yield connection
    await transaction.rollback()
    await connection.close()


async def read(pool: asyncpg.Pool, tenant: UUID, text: str, *arguments: Any) -> list[asyncpg.Record]:
    async with tenant_transaction(pool, tenant, Deadline.after(10), 3_000) as session:
        return await session.fetch(text, arguments)


async def as_worker(connection: asyncpg.Connection, tenant: UUID | None) -> None:
    """Goes on as the worker's role, as its session would be, in the transaction of `admin`."""
    await connection.execute("SET LOCAL ROLE planner_worker")
    await connection.execute("SELECT set_config('app.tenant_id', $1, true)", str(tenant) if tenant else "")


async def seen(connection: asyncpg.Connection, table: str) -> set[UUID]:
    return {row[0] for row in await connection.fetch(f"SELECT DISTINCT tenant_id FROM {table}")}


# Tenancy


async def test_t01_an_owner_without_force_would_see_all_and_is_refused(admin: asyncpg.Connection) -> None:
    await admin.execute("ALTER TABLE graph.partner OWNER TO planner_worker")
    await admin.execute("ALTER TABLE graph.partner NO FORCE ROW LEVEL SECURITY")
    found = {(v.check, v.object) for v in await preflight(admin, SCHEMAS)}
    assert {("owner", "graph.partner"), ("not_forced", "graph.partner")} <= found
    await as_worker(admin, A)
    assert await seen(admin, "graph.partner") == {A, B}


async def test_t02_a_worker_does_not_start_as_superuser(filled: Database) -> None:
    with pytest.raises(Misconfigured, match="must connect as planner_worker"):
        async with answerer(Settings(database_url=filled.admin_url)):
            pass


async def test_t02_a_role_above_row_security_would_see_all_and_is_refused(admin: asyncpg.Connection) -> None:
    await admin.execute("ALTER ROLE planner_worker BYPASSRLS")
    assert ("bypass_row_security", "planner_worker") in {(v.check, v.object) for v in await preflight(admin, SCHEMAS)}
    await as_worker(admin, A)
    assert await seen(admin, "graph.partner") == {A, B}


async def test_t03_after_a_tenant_left_the_connection_nothing_is_read(pool: asyncpg.Pool) -> None:
    assert await read(pool, A, "SELECT tenant_id FROM graph.partner")
    async with pool.acquire() as held:
        assert await held.fetchval("SELECT current_setting('app.tenant_id', true)") == ""
        for table in TENANT_TABLES:
            assert await seen(held, table) == set(), table


async def test_t04_a_tenant_set_outside_a_transaction_is_lost_and_reads_nothing(pool: asyncpg.Pool) -> None:
    async with pool.acquire() as held:
        await held.execute("SELECT set_config('app.tenant_id', $1, true)", str(B))
        assert await seen(held, "market.award") == set()


async def test_t04_a_session_of_another_role_is_never_answered_from(filled: Database) -> None:
    pool = await open_pool(filled.auditor_url, 1, 0)
    try:
        with pytest.raises(TenantContextLost):
            await read(pool, A, "SELECT 1")
    finally:
        await close_pool(pool)


async def test_t05_a_savepoint_that_rolls_back_gives_the_tenant_back(admin: asyncpg.Connection) -> None:
    await as_worker(admin, A)
    inner = admin.transaction()
    await inner.start()
    await admin.execute("SELECT set_config('app.tenant_id', $1, true)", str(B))
    await inner.rollback()
    assert await seen(admin, "graph.requirement") == {A}


async def test_t06_a_role_that_was_set_does_not_stay_with_the_connection(filled: Database) -> None:
    pool = await open_pool(filled.admin_url, 1, 0)
    try:
        async with connection(pool, Deadline.after(10)) as held:
            who = await held.fetchval("SELECT current_user")
            await held.execute("SET ROLE planner_loader; SET SESSION search_path = market; LISTEN x")
            await held.execute("CREATE TEMPORARY TABLE left_behind (a int)")
        async with connection(pool, Deadline.after(10)) as held:
            assert await held.fetchval("SELECT current_user") == who
            assert await held.fetchval("SELECT to_regclass('left_behind')") is None
            assert await held.fetchval("SHOW search_path") != "market"
            assert await held.fetch("SELECT pg_listening_channels()") == []
    finally:
        await close_pool(pool)


async def test_t07_a_tenant_can_leave_no_temporary_table(pool: asyncpg.Pool) -> None:
    async with pool.acquire() as held:
        for text in ("CREATE TEMPORARY TABLE t (a int)", "CREATE TEMPORARY TABLE t AS SELECT 1 AS a"):
            await held.execute("SET default_transaction_read_only = off")
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await held.execute(text)


async def test_t08_a_question_that_is_cancelled_leaves_no_transaction_and_no_tenant(pool: asyncpg.Pool) -> None:
    long = "SELECT count(*) FROM market.award a, market.award b, market.award c, market.award d, market.award e"
    running = asyncio.create_task(read(pool, B, long))
    await asyncio.sleep(0.2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    async with pool.acquire(timeout=5) as held:
        assert not held.is_in_transaction()
        assert await held.fetchval("SELECT current_setting('app.tenant_id', true)") in ("", None)
        assert await seen(held, "market.award") == set()


async def test_t09_one_prepared_statement_serves_each_tenant_its_own_rows(pool: asyncpg.Pool) -> None:
    text = "SELECT tenant_id, name FROM graph.partner WHERE name <> $1"
    for turn in range(16):  # a generic plan comes after five
        tenant = (A, B)[turn % 2]
        assert {tuple(row) for row in await read(pool, tenant, text, "")} == {(tenant, f"{MARKS[tenant]} PARTNERS LLC")}


async def test_t10_a_view_of_its_owner_would_show_all_and_is_refused(admin: asyncpg.Connection) -> None:
    await admin.execute("CREATE VIEW graph.v AS SELECT * FROM graph.partner; GRANT SELECT ON graph.v TO planner_worker")
    assert ("view_of_owner", "graph.v") in {(v.check, v.object) for v in await preflight(admin, SCHEMAS)}
    await as_worker(admin, A)
    assert await seen(admin, "graph.v") == {A, B}
    await admin.execute("RESET ROLE; ALTER VIEW graph.v SET (security_invoker = true)")
    await as_worker(admin, A)
    assert await seen(admin, "graph.v") == {A}


async def test_t11_a_materialized_view_would_show_all_and_is_refused(admin: asyncpg.Connection) -> None:
    await admin.execute("CREATE MATERIALIZED VIEW graph.m AS SELECT * FROM graph.partner")
    await admin.execute("GRANT SELECT ON graph.m TO planner_worker")
    assert ("materialized_view", "graph.m") in {(v.check, v.object) for v in await preflight(admin, SCHEMAS)}
    await as_worker(admin, A)
    assert await seen(admin, "graph.m") == {A, B}


async def test_t12_a_function_of_its_owner_would_count_all_and_is_refused(admin: asyncpg.Connection) -> None:
    await admin.execute(
        "CREATE FUNCTION graph.f() RETURNS bigint LANGUAGE sql SECURITY DEFINER AS 'SELECT count(*) FROM graph.partner'; "
        "GRANT EXECUTE ON FUNCTION graph.f() TO planner_worker"
    )
    assert ("security_definer", "graph.f()") in {(v.check, v.object) for v in await preflight(admin, SCHEMAS)}
    await as_worker(admin, A)
    assert await admin.fetchval("SELECT graph.f()") == 2


async def test_t13_another_permissive_policy_widens_nothing(admin: asyncpg.Connection) -> None:
    await admin.execute("CREATE POLICY oops ON graph.partner AS PERMISSIVE FOR ALL TO PUBLIC USING (true)")
    await as_worker(admin, A)
    assert await seen(admin, "graph.partner") == {A}


async def test_t14_a_part_of_a_table_that_is_granted_is_refused(admin: asyncpg.Connection) -> None:
    await admin.execute(
        "CREATE TABLE graph.part () INHERITS (graph.partner); GRANT SELECT ON graph.part TO planner_worker; "
        f"INSERT INTO graph.part (tenant_id, uei, name) VALUES ('{B}', 'X', 'Y')"
    )
    assert ("partition_granted", "graph.part") in {(v.check, v.object) for v in await preflight(admin, SCHEMAS)}
    await as_worker(admin, A)
    assert await seen(admin, "graph.part") == {B}


@pytest.fixture
async def crowded(database: Database) -> AsyncGenerator[asyncpg.Pool]:
    """A database in which tenant B has many partners and private awards, and A few."""
    connection = await asyncpg.connect(database.admin_url)
    await connection.execute(
        f"INSERT INTO graph.partner (tenant_id, uei, name) SELECT '{B}', 'B' || n, 'B' || n FROM generate_series(1, 60000) n;"
        f"INSERT INTO graph.partner (tenant_id, uei, name) SELECT '{A}', 'A' || n, 'A' || n FROM generate_series(1, 50) n;"
        "INSERT INTO market.award (tenant_id, award_key, uei, vendor, obligated, naics) "
        f"SELECT '{B}', 'CONT_AWD_' || n, 'B1', 'B', 1, '541512' FROM generate_series(1, 60000) n"
    )
    await connection.execute("ANALYZE graph.partner, market.award")
    await connection.close()
    pool = await open_pool(database.worker_url, 1, 64)
    yield pool
    await close_pool(pool)


TIMED = [
    ("SELECT name FROM graph.partner WHERE tenant_id = $1 AND uei = $2", "B777", "Z777"),
    ("SELECT name FROM graph.partner WHERE uei = $2 AND $1::uuid IS NOT NULL", "B777", "Z777"),
    ("SELECT award_key FROM market.award WHERE tenant_id = $1 AND uei = $2", "B1", "Z1"),
    ("SELECT award_key FROM market.award WHERE tenant_id = $1 AND award_key = $2", "CONT_AWD_9", "CONT_AWD_Z"),
]


async def test_t15_the_time_to_nothing_says_nothing_of_another_tenants_rows(crowded: asyncpg.Pool) -> None:
    for text, theirs, nobodys in TIMED:
        taken: dict[str, list[float]] = {theirs: [], nobodys: []}
        for _ in range(80):
            for value, times in taken.items():
                async with tenant_transaction(crowded, A, Deadline.after(10), 3_000) as session:
                    began = time.perf_counter()
                    assert await session.fetch(text, (A, value)) == []
                    times.append(time.perf_counter() - began)
        # the lowest tenth: what else runs on this machine only adds to a time
        one, other = (statistics.quantiles(times, n=10)[0] * 1_000 for times in taken.values())
        assert abs(one - other) < max(0.5, 0.5 * min(one, other)), (text, one, other)


async def test_t16_nothing_of_ours_explains_a_query_or_reads_statistics() -> None:
    asks = re.compile(r"\bEXPLAIN\s+(\(|ANALYZE|VERBOSE|SELECT|WITH)|pg_stat_|reltuples|pg_stats\b", re.IGNORECASE)
    sources = [*ROOT.glob("consumer/**/*.py"), *ROOT.glob("consumer/**/*.sql"), *ROOT.glob("registry/**/*.sql")]
    assert len(sources) > 50
    assert [str(path) for path in sources if asks.search(path.read_text(encoding="utf-8"))] == []


async def test_t17_a_value_of_another_tenant_is_no_duplicate(filled: Database) -> None:
    connection = await asyncpg.connect(filled.admin_url)
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute("SET LOCAL ROLE planner_loader")
    await connection.execute("SELECT set_config('app.tenant_id', $1, true)", str(A))
    await connection.execute("INSERT INTO graph.partner (tenant_id, uei, name) VALUES ($1, $2, 'x')", A, UEIS[B])
    await connection.execute(
        "INSERT INTO graph.requirement (tenant_id, requirement_id, opportunity_id, title) VALUES ($1, $2, $2, 'x')",
        A, requirement(B),
    )  # fmt: skip
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute("INSERT INTO graph.partner (tenant_id, uei, name) VALUES ($1, 'NEW', 'x')", B)
    await transaction.rollback()
    await connection.close()


async def test_t18_a_leakproof_function_would_see_all_and_is_refused(admin: asyncpg.Connection) -> None:
    await admin.execute(
        "CREATE FUNCTION graph.peek(text) RETURNS boolean LANGUAGE plpgsql LEAKPROOF COST 0.0001 "
        "AS 'BEGIN RAISE WARNING ''%'', $1; RETURN true; END'; GRANT EXECUTE ON FUNCTION graph.peek(text) TO planner_worker"
    )
    assert ("leakproof", "graph.peek(text)") in {(v.check, v.object) for v in await preflight(admin, SCHEMAS)}
    await admin.execute(
        "SET LOCAL enable_indexscan = off; SET LOCAL enable_bitmapscan = off; SET LOCAL enable_indexonlyscan = off"
    )
    heard: list[str] = []
    admin.add_log_listener(lambda _, message: heard.append(str(message)))
    await as_worker(admin, A)
    await admin.fetch("SELECT uei FROM graph.partner WHERE graph.peek(name)")
    await asyncio.sleep(0)
    assert any(MARKS[B] in message for message in heard), heard


async def test_t19_an_error_of_the_database_carries_no_value(pool: asyncpg.Pool) -> None:
    with pytest.raises(asyncpg.DataError) as refused:
        await read(pool, A, "SELECT $1::text::uuid", "not-a-uuid")
    assert not is_transient(refused.value)
    with pytest.raises(Transient) as lost:
        async with tenant_transaction(pool, A, Deadline.after(5), 1_000):
            raise asyncpg.InterfaceError("the message names BRACKENFELL")
    assert str(lost.value) == "InterfaceError"


async def test_t20_a_token_of_another_tenant_than_the_event_runs_no_query() -> None:
    event = Question(question_id=A, tenant_id=B, question="Who competes?")
    with pytest.raises(Permanent) as refused:
        agreed(event, Identity(A, "subject", ()))
    assert refused.value.reason is DeadLetterReason.IDENTITY_MISMATCH


# Read only


async def test_r01_one_statement_runs_and_no_second(pool: asyncpg.Pool) -> None:
    for text in ("COMMIT; BEGIN; DELETE FROM graph.partner", "SELECT 1; DELETE FROM graph.partner"):
        with pytest.raises(asyncpg.PostgresSyntaxError, match="multiple commands"):
            await read(pool, A, text)


async def test_r02_a_transaction_can_not_be_made_writable(pool: asyncpg.Pool) -> None:
    for text in ("SET TRANSACTION READ WRITE", "SET LOCAL transaction_read_only = off"):
        with pytest.raises(asyncpg.PostgresError) as refused:
            await read(pool, A, text)
        assert refused.value.sqlstate == "25001"


async def test_r03_a_transaction_of_its_own_may_not_write_either(pool: asyncpg.Pool) -> None:
    async with pool.acquire() as held:
        for text in ("INSERT INTO graph.partner (tenant_id, uei, name) VALUES ($1, 'x', 'x')", "DELETE FROM market.award WHERE tenant_id = $1"):  # fmt: skip
            transaction = held.transaction(readonly=False)
            await transaction.start()
            await held.execute("SET TRANSACTION READ WRITE")
            await held.execute("SELECT set_config('app.tenant_id', $1, true)", str(A))
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await held.execute(text, A)
            await transaction.rollback()


BUILTINS = [
    "SELECT lo_from_bytea(0, 'x')",
    "SELECT lo_create(0)",
    "SELECT pg_notify('a', 'b')",
    "SELECT pg_sleep(1)",
    "SELECT pg_advisory_lock(1)",
    "SELECT pg_try_advisory_xact_lock(1)",
    "SELECT pg_export_snapshot()",
    "SELECT pg_logical_emit_message(true, 'a', 'b')",
    "SELECT pg_terminate_backend(1)",
    "SELECT query_to_xml('SELECT 1', true, true, '')",
    "SELECT table_to_xml('graph.partner', true, true, '')",
    "SELECT database_to_xml(true, true, '')",
    "SELECT pg_read_file('PG_VERSION')",
    "SELECT pg_ls_dir('.')",
    "SELECT (1.0::float8).pg_sleep",
]


async def test_r04_what_read_only_does_not_stop_may_not_be_called(pool: asyncpg.Pool) -> None:
    for text in BUILTINS:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await read(pool, A, text)


async def test_r05_a_statement_has_its_time_and_can_give_itself_no_more(pool: asyncpg.Pool) -> None:
    long = "SELECT set_config('statement_timeout', '0', true), (SELECT count(*) FROM generate_series(1, 100000000000))"
    async with tenant_transaction(pool, A, Deadline.after(20), 300) as session:
        began = time.perf_counter()
        with pytest.raises(Exception, match="PLANNER_STATEMENT_TIMEOUT_MS"):
            await session.fetch(long, [])
        assert time.perf_counter() - began < 3


async def test_r06_no_hostile_statement_reads_another_tenant_or_writes_even_without_the_lint(
    pool: asyncpg.Pool, filled: Database
) -> None:
    connection = await asyncpg.connect(filled.admin_url)
    before = await _counts(connection)
    for sql in HOSTILE:
        statement = compile(sql)
        arguments = [A if name == "tenant_id" else None for name in statement.parameters]
        try:
            async with tenant_transaction(pool, A, Deadline.after(10), 300) as session:
                rows = await session.fetch(statement.text, arguments)
        except Exception as refused:  # noqa: BLE001 how each is refused does not matter here
            rows = [str(refused)]
        assert not any(secret in repr(rows) for secret in (MARKS[B], str(B), PROTECTED)), sql[:200]
    assert await _counts(connection) == before
    await connection.close()


async def _counts(connection: asyncpg.Connection) -> list[int]:
    tables = (
        *TENANT_TABLES,
        "market.action",
        "eeo.self_id",
        "pg_catalog.pg_largeobject_metadata",
        "pg_catalog.pg_class",
    )
    return [await connection.fetchval(f"SELECT count(*) FROM {table}") for table in tables]


WRITES = [
    "WITH gone AS (DELETE FROM graph.partner RETURNING uei) SELECT uei FROM gone",
    "SELECT uei INTO graph.copy FROM graph.partner",
    "CREATE TABLE graph.copy AS SELECT uei FROM graph.partner",
    "SELECT uei FROM graph.partner FOR UPDATE",
    "SELECT uei FROM graph.partner FOR KEY SHARE",
    "SELECT nextval('audit.rejected_id_seq')",
    "EXPLAIN ANALYZE DELETE FROM graph.partner",
    "TRUNCATE graph.partner",
    "LOCK TABLE graph.partner IN EXCLUSIVE MODE",
    "REFRESH MATERIALIZED VIEW graph.partner",
    "COPY graph.partner TO PROGRAM 'cat'",
    "CALL audit.make_ranges(1)",
    "DO 'BEGIN DELETE FROM graph.partner; END'",
]


async def test_r07_statements_that_write_in_other_clothes_are_refused(pool: asyncpg.Pool) -> None:
    for text in WRITES:
        with pytest.raises((asyncpg.PostgresError, Transient)) as refused:
            await read(pool, A, text)
        cause = refused.value.__cause__ or refused.value  # 25006 alone is one to try elsewhere: a standby answers so
        assert getattr(cause, "sqlstate", "") in ("25006", "42501", "42809"), (text, cause)


async def test_r07_without_read_only_the_missing_grants_refuse_the_same(pool: asyncpg.Pool) -> None:
    async with pool.acquire() as held:
        for text in WRITES:
            transaction = held.transaction(readonly=False)
            await transaction.start()
            await held.execute("SET TRANSACTION READ WRITE")
            with pytest.raises(asyncpg.PostgresError) as refused:
                await held.execute(text)
            assert refused.value.sqlstate in ("42501", "42809"), (text, refused.value)
            await transaction.rollback()


async def test_no_role_of_ours_reads_protected_data(filled: Database) -> None:
    for url in (filled.worker_url, filled.sink_url, filled.publisher_url, filled.loader_url, filled.auditor_url):
        connection = await asyncpg.connect(url)
        for text in ("SELECT answer FROM eeo.self_id", "SELECT 'eeo.self_id'::regclass::text", "TABLE eeo.self_id"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await connection.fetch(text)
        await connection.close()
