"""Migrations: from nothing, again, two at once, over a copy; and a changed one is refused."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator

import asyncpg
import pytest

from consumer.cli.migrate import passwords
from consumer.errors import PlannerError, Unreachable
from consumer.settings import Settings
from consumer.store import migrate as module
from consumer.store.migrate import migrate, migrations
from tests import databases
from tests.databases import Database

pytestmark = pytest.mark.integration


@pytest.fixture
async def empty(postgres_url: str) -> AsyncGenerator[list[str]]:
    """URLs of two fresh databases of one server."""
    names = [f"planner_{uuid.uuid4().hex[:12]}" for _ in range(2)]
    connection = await asyncpg.connect(postgres_url)
    for name in names:
        await connection.execute(f'create database "{name}"')
    yield [databases.described(postgres_url, name).admin_url for name in names]
    for name in names:
        await connection.execute(f'drop database "{name}" with (force)')
    await connection.close()


@contextlib.asynccontextmanager
async def connected(url: str) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


async def test_all_are_applied_in_order_and_again_changes_nothing(empty: list[str]) -> None:
    names = list(migrations())
    assert names == sorted(names)
    assert await migrate(empty[0]) == names
    assert await migrate(empty[0]) == []
    async with connected(empty[0]) as connection:
        rows = await connection.fetch("SELECT name, sha256 FROM planner.migration ORDER BY applied_at")
        assert [row["name"] for row in rows] == names
        assert len({row["sha256"] for row in rows}) == len(names)


async def test_two_at_once_apply_each_migration_once(empty: list[str]) -> None:
    applied = await asyncio.gather(*(migrate(empty[0]) for _ in range(3)))
    assert sorted(name for names in applied for name in names) == list(migrations())


async def test_two_databases_of_one_server_are_made_at_once_though_roles_are_shared(empty: list[str]) -> None:
    assert await asyncio.gather(*map(migrate, empty)) == [list(migrations())] * 2


async def test_a_migration_that_changed_after_it_was_applied_is_refused(
    empty: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(empty[0])
    changed = {**migrations(), "0001_roles": migrations()["0001_roles"] + "\n-- changed"}
    monkeypatch.setattr(module, "migrations", lambda: changed)
    with pytest.raises(PlannerError, match="0001_roles was applied and has changed since"):
        await migrate(empty[0])


async def test_one_that_fails_leaves_nothing_of_itself(empty: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    broken = {**migrations(), "9999_broken": "CREATE TABLE market.half (a int); SELECT 1 / 0"}
    monkeypatch.setattr(module, "migrations", lambda: broken)
    with pytest.raises(PlannerError, match="migration 9999_broken failed and left nothing of itself: division by zero"):
        await migrate(empty[0])
    monkeypatch.undo()
    assert await migrate(empty[0]) == []
    async with connected(empty[0]) as connection:
        assert await connection.fetchval("SELECT to_regclass('market.half')") is None


async def test_a_copy_of_a_database_gets_the_rights_back_that_no_copy_carries(
    postgres_url: str, empty: list[str]
) -> None:
    await migrate(empty[0])
    source = empty[0].rpartition("/")[2]
    copy = databases.described(postgres_url, f"planner_{uuid.uuid4().hex[:12]}")
    async with connected(postgres_url) as connection:
        await connection.execute(f'create database "{copy.name}" template "{source}"')
        may_all_connect = "SELECT has_database_privilege('public', $1, 'CONNECT')"
        assert await connection.fetchval(may_all_connect, copy.name)
        assert await migrate(copy.admin_url) == []
        assert not await connection.fetchval(may_all_connect, copy.name)
        await connection.execute(f'drop database "{copy.name}" with (force)')


async def test_a_database_that_is_away_is_one_readable_line() -> None:
    for url in ("postgresql://x@127.0.0.1:9/x", "postgresql://nobody.invalid/x", "nonsense"):
        with pytest.raises(Unreachable, match="PLANNER_ADMIN_DATABASE_URL"):
            await migrate(url)


W, S = "planner_worker", "planner_sink"
PASSWORDS = [
    (f"postgresql://{W}:pa%2Fss@h/d", f"postgresql://{S}:two@h/d", {W: "pa/ss", S: "two"}),
    (f"postgresql://{W}@h/d", "", {}),
    ("postgresql://postgres:root@h/d", f"postgresql://{W}:other@h/d", {}),
]


@pytest.mark.parametrize(("worker", "sink", "expected"), PASSWORDS)
def test_a_role_gets_the_password_of_the_url_that_names_it(worker: str, sink: str, expected: dict[str, str]) -> None:
    assert passwords(Settings(database_url=worker, sink_database_url=sink)) == expected


async def test_roles_have_the_least_they_need(module_database: Database) -> None:
    can = "SELECT has_table_privilege($1, $2, $3) OR has_any_column_privilege($1, $2, $3)"
    rights = [
        # role, table, right, whether it may
        ("planner_worker", "market.award", "SELECT", True),
        ("planner_worker", "market.award", "INSERT", False),
        ("planner_worker", "bench.person", "SELECT", False),
        ("planner_worker", "bench.cell", "SELECT", True),
        ("planner_worker", "audit.plan_answered", "SELECT", False),
        ("planner_sink", "audit.plan_answered", "INSERT", True),
        ("planner_sink", "audit.plan_answered", "UPDATE", False),
        ("planner_sink", "market.award", "SELECT", False),
        ("planner_publisher", "bench.person", "SELECT", True),
        ("planner_publisher", "bench.person", "UPDATE", False),
        ("planner_publisher", "market.award", "SELECT", False),
        ("planner_loader", "bench.person", "INSERT", True),
        ("planner_loader", "bench.cell", "SELECT", False),
        ("planner_loader", "audit.plan_answered", "SELECT", False),
        ("planner_auditor", "audit.plan_answered", "SELECT", True),
        ("planner_auditor", "audit.plan_answered", "INSERT", False),
        ("planner_auditor", "bench.cell", "SELECT", False),
    ]
    async with connected(module_database.admin_url) as connection:
        for role, table, right, may in rights:
            assert await connection.fetchval(can, role, table, right) is may, (role, table, right)
        loose = "SELECT rolname FROM pg_roles WHERE rolname LIKE 'planner\\_%' AND (rolsuper OR rolbypassrls OR rolcreaterole OR rolcreatedb OR rolinherit AND rolcanlogin)"  # noqa: E501
        assert await connection.fetch(loose) == []
