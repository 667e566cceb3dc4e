"""The pool under a database that dies, moves, turns read only or changes: what is tried again, and what is not.

Each test is named for what people met (asyncpg and its users); a question must never be lost to it.
"""

import asyncio
import random
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from decimal import Decimal
from uuid import UUID

import asyncpg
import pytest

from consumer.deadline import Deadline
from consumer.errors import Transient, Unreachable
from consumer.observe import metrics
from consumer.store.pool import close_pool, connection, is_transient, open_pool
from consumer.store.tenant import StatementTooLong, TenantTransaction, tenant_transaction
from tests.databases import Database

pytestmark = pytest.mark.integration
TENANT = UUID("a1a1a1a1-0000-4000-8000-00000000000a")


@pytest.fixture
async def pool(database: Database) -> AsyncGenerator[asyncpg.Pool]:
    made = await open_pool(database.worker_url, 2, 64)
    yield made
    await close_pool(made)


@pytest.fixture
async def admin(database: Database) -> AsyncGenerator[asyncpg.Connection]:
    made = await asyncpg.connect(database.admin_url)
    yield made
    await made.close()


def transaction(pool: asyncpg.Pool, seconds: float = 10.0, timeout_ms: int = 3_000):
    return tenant_transaction(pool, TENANT, Deadline.after(seconds), timeout_ms)


async def one(session: TenantTransaction) -> int:
    return (await session.fetch("SELECT 1 AS n", []))[0]["n"]


async def tried(pool: asyncpg.Pool, text: str = "SELECT 1 AS n") -> int:
    """How often a question has to be tried until it is answered."""
    for attempt in range(1, 6):
        try:
            async with transaction(pool) as session:
                await session.fetch(text, [])
        except Transient:
            continue
        return attempt
    raise AssertionError("never answered")


async def kill(admin: asyncpg.Connection) -> None:
    await admin.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE usename = 'planner_worker' AND datname = current_database()"
    )


async def test_a_backend_killed_while_idle_is_one_retry(pool: asyncpg.Pool, admin: asyncpg.Connection) -> None:
    # asyncpg#784: the first use says "cannot switch to state 11", an InternalClientError
    await tried(pool)
    await kill(admin)
    assert await tried(pool) <= 3


async def test_a_backend_killed_inside_a_transaction_is_transient(
    pool: asyncpg.Pool, admin: asyncpg.Connection
) -> None:
    # asyncpg#537: leaving the transaction says "cannot call Transaction.__aexit__()" and hides why
    with pytest.raises(Transient):
        async with transaction(pool) as session:
            await one(session)
            await kill(admin)
            await one(session)
    assert await tried(pool) <= 3


async def test_a_backend_killed_under_a_running_statement_is_transient(
    pool: asyncpg.Pool, admin: asyncpg.Connection
) -> None:
    async def long() -> None:
        async with transaction(pool) as session:
            await session.fetch("SELECT count(*) FROM generate_series(1, 100000000000)", [])

    running = asyncio.create_task(long())
    await asyncio.sleep(0.2)
    await kill(admin)
    with pytest.raises(Transient):
        await running


async def test_a_server_that_turned_read_only_is_left_and_tried_again(database: Database) -> None:
    # after a failover a pool kept its connections to the old primary for days (asyncpg PR 253): 25006 must expire them
    pool = await open_pool(database.admin_url, 1, 0)
    try:
        async with connection(pool, Deadline.after(5)) as held:
            before = await held.fetchval("SELECT pg_backend_pid()")
        with pytest.raises(Transient):
            async with connection(pool, Deadline.after(5)) as held:
                await held.execute("SET default_transaction_read_only = on")
                await held.execute("CREATE TABLE market.x (a int)")
        async with connection(pool, Deadline.after(5)) as held:
            assert await held.fetchval("SELECT pg_backend_pid()") != before
    finally:
        await close_pool(pool)


async def test_a_column_added_under_cached_plans_is_one_retry_and_no_dead_letter(
    pool: asyncpg.Pool, admin: asyncpg.Connection
) -> None:
    # asyncpg#458: "cached statement plan is invalid" inside a transaction
    text = "SELECT * FROM graph.partner"
    for _ in range(4):
        await tried(pool, text)
    await admin.execute("ALTER TABLE graph.partner ADD COLUMN more text")
    assert await tried(pool, text) <= 3
    await admin.execute("ALTER TABLE graph.partner ALTER COLUMN more TYPE integer USING 1")
    assert await tried(pool, text) <= 3


async def test_a_statement_over_its_time_is_dropped_and_the_others_go_on(pool: asyncpg.Pool) -> None:
    async with transaction(pool, timeout_ms=200) as session:
        with pytest.raises(StatementTooLong):
            await session.fetch("SELECT count(*) FROM generate_series(1, 100000000000)", [])
        assert await one(session) == 1


async def test_a_failed_statement_leaves_the_snapshot_and_the_tenant(pool: asyncpg.Pool) -> None:
    state = "SELECT pg_current_snapshot()::text AS s, current_setting('app.tenant_id') AS t"
    async with transaction(pool) as session:
        before = await session.fetch(state, [])
        for text in ("SELECT 1 / 0", "SELECT nothing FROM market.award", "this is no SQL"):
            with pytest.raises(asyncpg.PostgresError):
                await session.fetch(text, [])
        assert await session.fetch(state, []) == before
        assert before[0]["t"] == str(TENANT)


async def test_a_plan_sees_one_snapshot(pool: asyncpg.Pool, admin: asyncpg.Connection) -> None:
    count = "SELECT count(*) AS n FROM graph.partner"
    async with transaction(pool) as session:
        before = await session.fetch(count, [])
        await admin.execute("INSERT INTO graph.partner (tenant_id, uei, name) VALUES ($1, 'X', 'x')", TENANT)
        assert await session.fetch(count, []) == before
        with pytest.raises(asyncpg.DivisionByZeroError):
            await session.fetch("SELECT 1 / 0", [])
        assert await session.fetch(count, []) == before
    async with transaction(pool) as session:
        assert await session.fetch(count, []) != before


async def test_a_pool_that_is_all_taken_is_transient_at_the_deadline(pool: asyncpg.Pool) -> None:
    # asyncpg#467, #1247: acquire hung or starved
    async with transaction(pool), transaction(pool):
        with pytest.raises(Transient):
            async with transaction(pool, seconds=0.2):
                pass
    assert await tried(pool) == 1


async def test_random_cancellations_leak_no_connection_and_no_transaction(
    pool: asyncpg.Pool, admin: asyncpg.Connection
) -> None:
    random.seed(7)

    async def question() -> None:
        async with transaction(pool) as session:
            for _ in range(6):
                await session.fetch("SELECT count(*) FROM generate_series(1, $1::int)", [random.randrange(200_000)])

    running = [asyncio.create_task(question()) for _ in range(60)]
    for task in random.sample(running, 40):
        await asyncio.sleep(0.01)
        task.cancel()
    ends = await asyncio.gather(*running, return_exceptions=True)
    assert {type(end) for end in ends} <= {type(None), asyncio.CancelledError}
    async with transaction(pool) as one_of_two, transaction(pool) as other:
        assert await one(one_of_two) == await one(other) == 1
    left = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'planner_worker' AND state LIKE 'idle in transaction%' AND datname = current_database()"  # noqa: E501
    assert await admin.fetchval(left) == 0


PERMANENT = [
    # an argument that no statement can take: asyncpg#1139 and its kin
    ("SELECT $1::int", "not a number"),
    ("SELECT $1::int", 2**40),
    ("SELECT $1::uuid", "not-a-uuid"),
    ("SELECT $1::date", "2026-01-01"),
    ("SELECT $1::timestamp", datetime(2026, 1, 1, tzinfo=UTC)),
    ("SELECT $1::text", Decimal(1)),
    ("SELECT $1::text[]", "one"),
    ("SELECT 1 / $1::int", 0),
    ("SELECT nothing FROM graph.partner WHERE name = $1", "x"),
    ("SELECT answer FROM audit.plan_answered WHERE $1", True),
]


@pytest.mark.parametrize(("text", "value"), PERMANENT)
async def test_what_stays_wrong_is_not_tried_again(pool: asyncpg.Pool, text: str, value: object) -> None:
    with pytest.raises(Exception) as wrong:
        async with transaction(pool) as session:
            await session.fetch(text, [value])
    assert not isinstance(wrong.value, Transient)
    assert not is_transient(wrong.value)
    assert await tried(pool) == 1


async def test_a_login_that_is_refused_for_now_is_no_fault_of_the_question(
    database: Database, admin: asyncpg.Connection
) -> None:
    pool = await open_pool(database.worker_url, 1, 0)
    try:
        await admin.execute(f'REVOKE CONNECT ON DATABASE "{database.name}" FROM planner_worker')
        await kill(admin)
        for _ in range(3):
            with pytest.raises(Transient):
                async with transaction(pool) as session:
                    await one(session)
        await admin.execute(f'GRANT CONNECT ON DATABASE "{database.name}" TO planner_worker')
        assert await tried(pool) <= 2
    finally:
        await close_pool(pool)


async def test_the_pool_is_measured(pool: asyncpg.Pool) -> None:
    def connections(state: str) -> float:
        return next(
            s.value for m in metrics.POOL_SIZE.collect() for s in m.samples if s.labels["state"] == state
        )  # fmt: skip

    async with transaction(pool):
        assert connections("open") == 2
        assert connections("idle") == 1


async def test_a_server_that_is_away_at_the_start_is_one_readable_line() -> None:
    for url in ("postgresql://x@127.0.0.1:9/x", "postgresql://[", "nonsense"):
        with pytest.raises(Unreachable, match="Postgres"):
            await open_pool(url, 2, 0)
