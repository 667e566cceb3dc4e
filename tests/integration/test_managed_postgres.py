"""A Postgres whose administrator is no superuser, as clouds sell it: it migrates, loads, and keeps tenants apart."""

import shutil
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

import registry
from consumer.deadline import Deadline
from consumer.stack import postgres, reach
from consumer.store.agree import disagreements
from consumer.store.migrate import migrate, migrations
from consumer.store.pool import close_pool, open_pool
from consumer.store.preflight import Inspection
from consumer.store.tenant import tenant_transaction
from tests.tenants import A, B, fill

pytestmark = pytest.mark.integration


@pytest.fixture
async def place() -> AsyncGenerator[str]:
    """Host, port and database of a server of its own, with an administrator called cloud_admin."""
    home = Path(tempfile.mkdtemp(dir=reach.base()))
    home.chmod(0o711)  # noqa: ASYNC240 nothing else runs here
    server = await postgres.start(home)
    try:
        connection = await asyncpg.connect(server.url)
        await connection.execute("CREATE ROLE cloud_admin LOGIN CREATEROLE CREATEDB NOSUPERUSER")
        await connection.execute("CREATE DATABASE cloud OWNER cloud_admin")
        await connection.close()
        url = urlsplit(server.url)
        yield f"{url.hostname}:{url.port}/cloud"
    finally:
        await server.stop()
        shutil.rmtree(home)


async def test_an_administrator_without_superuser_is_enough(place: str) -> None:
    admin_url = f"postgresql://cloud_admin@{place}"
    assert await migrate(admin_url, {"planner_worker": "planner"}) == list(migrations())
    assert await migrate(admin_url) == []
    admin = await asyncpg.connect(admin_url)
    await fill(admin)
    await admin.close()

    pool = await open_pool(f"postgresql://planner_worker:planner@{place}", 1, 64)
    try:
        await Inspection(pool, ("market", "graph", "bench", "docs")).refuse()
        async with pool.acquire() as held:
            assert await disagreements(held, registry.load()) == []
        for tenant in (A, B):
            async with tenant_transaction(pool, tenant, Deadline.after(10), 3_000) as session:
                rows = await session.fetch("SELECT DISTINCT tenant_id FROM graph.partner", [])
                assert [row["tenant_id"] for row in rows] == [tenant]
    finally:
        await close_pool(pool)
