"""Behind pgbouncer in transaction mode: connections change under us between transactions, tenants never do."""

import asyncio
import os
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

import asyncpg
import pytest

from consumer.deadline import Deadline
from consumer.store.pool import close_pool, open_pool
from consumer.store.preflight import Inspection
from consumer.store.tenant import tenant_transaction
from tests.databases import PASSWORD, Database
from tests.support import eventually
from tests.tenants import MARKS, A, B, fill

PGBOUNCER = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(not Path(PGBOUNCER).exists(), reason="the Debian package pgbouncer is not installed"),
]
SERVERS, CLIENTS, QUESTIONS = 2, 8, 240


@pytest.fixture
async def bouncer_url(database: Database, open_folder: Path) -> AsyncGenerator[str]:
    """The worker's URL by way of a pgbouncer with fewer servers than clients."""
    server = urlsplit(database.worker_url)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    users = open_folder / "users.txt"
    users.write_text(f'"planner_worker" "{PASSWORD}"\n')
    settings = open_folder / "pgbouncer.ini"
    settings.write_text(f"""
[databases]
* = host={server.hostname} port={server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = trust
auth_file = {users}
pool_mode = transaction
default_pool_size = {SERVERS}
""")
    user = "nobody" if os.getuid() == 0 else None  # it refuses to run as root
    process = subprocess.Popen([PGBOUNCER, "-q", str(settings)], user=user, stderr=subprocess.PIPE)  # noqa: ASYNC220

    def listens() -> bool:
        assert process.poll() is None, process.stderr and process.stderr.read()
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        await eventually(listens)
        yield f"postgresql://planner_worker@127.0.0.1:{port}/{database.name}"
    finally:
        process.terminate()
        process.wait(timeout=10)


@pytest.fixture
async def bounced(bouncer_url: str, database: Database) -> AsyncGenerator[asyncpg.Pool]:
    connection = await asyncpg.connect(database.admin_url)
    await fill(connection, rows=10)
    await connection.close()
    pool = await open_pool(bouncer_url, CLIENTS, 0)
    yield pool
    await close_pool(pool)


async def test_tenants_stay_apart_on_shared_servers(bounced: asyncpg.Pool) -> None:
    servers: set[int] = set()

    async def question(tenant: UUID) -> None:
        async with tenant_transaction(bounced, tenant, Deadline.after(30), 3_000) as session:
            for _ in range(3):
                rows = await session.fetch("SELECT pg_backend_pid() AS pid, tenant_id, name FROM graph.partner", [])
                assert [(r["tenant_id"], r["name"]) for r in rows] == [(tenant, f"{MARKS[tenant]} PARTNERS LLC")]
                servers.add(rows[0]["pid"])

    await asyncio.gather(*(question((A, B)[n % 2]) for n in range(QUESTIONS)))
    assert len(servers) == SERVERS


async def test_nothing_of_a_tenant_stays_with_a_server(bounced: asyncpg.Pool) -> None:
    for _ in range(SERVERS * 4):
        async with tenant_transaction(bounced, B, Deadline.after(30), 3_000) as session:
            await session.fetch("SELECT 1", [])
        async with bounced.acquire() as held, held.transaction(readonly=True):
            assert await held.fetchval("SELECT current_setting('app.tenant_id', true)") in ("", None)
            assert await held.fetch("SELECT tenant_id FROM market.award") == []


async def test_a_question_that_is_cancelled_leaves_the_servers_usable(bounced: asyncpg.Pool) -> None:
    async def long() -> None:
        async with tenant_transaction(bounced, B, Deadline.after(30), 3_000) as session:
            await session.fetch("SELECT count(*) FROM generate_series(1, 100000000000)", [])

    running = [asyncio.create_task(long()) for _ in range(SERVERS)]
    await asyncio.sleep(0.3)
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    async with tenant_transaction(bounced, A, Deadline.after(10), 3_000) as session:
        assert {r["tenant_id"] for r in await session.fetch("SELECT tenant_id FROM graph.partner", [])} == {A}


async def test_the_preflight_works_through_it(bounced: asyncpg.Pool) -> None:
    await Inspection(bounced, ("market", "graph", "bench", "docs")).refuse()
