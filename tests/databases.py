"""Databases of tests: one template a state of the migrations, cloned in milliseconds for whoever needs a fresh one.

Roles belong to the whole server, so all that touches them or a template runs under one advisory lock of the server.
"""

import asyncio
import contextlib
import hashlib
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from consumer.settings import Settings
from consumer.store.migrate import migrate
from tests import market as market_files
from tests.support import ROOT, SHARED

PASSWORD = "planner"
ROLES = ("planner_worker", "planner_sink", "planner_publisher", "planner_loader", "planner_auditor")
LOCK = 7_041_776


class Database(NamedTuple):
    """A migrated database: the superuser's URL and one for each role of the service."""

    name: str
    admin_url: str
    worker_url: str
    sink_url: str
    publisher_url: str
    loader_url: str
    auditor_url: str

    def settings(self, kafka_bootstrap: str, **others: Any) -> Settings:
        """Of a worker or a sink on this database and these brokers."""
        return Settings(
            kafka_bootstrap=kafka_bootstrap, admin_database_url=self.admin_url, database_url=self.worker_url,
            sink_database_url=self.sink_url, **others,
        )  # fmt: skip


def described(server_url: str, name: str) -> Database:
    return Database(name, _url(server_url, name), *(_url(server_url, name, role) for role in ROLES))


async def fresh(server_url: str) -> Database:
    """A migrated database of its own, empty."""
    template = await _made(server_url, "template", _digest("consumer/store"), _migrated)
    name = f"planner_{uuid.uuid4().hex[:12]}"
    async with _admin(server_url) as connection:
        await connection.execute(f'create database "{name}" template "{template}"')
    await migrate(_url(server_url, name))  # nothing is missing but the rights on the database, which no copy carries
    return described(server_url, name)


async def drop(server_url: str, database: Database) -> None:
    async with _admin(server_url) as connection:
        await connection.execute(f'drop database if exists "{database.name}" with (force)')


async def market(server_url: str) -> Database:
    """A database with the files of SHARED/data loaded, for reading only: the server keeps one for all tests."""
    name = await _made(server_url, "market", _digest("consumer/store"), _loaded)
    return described(server_url, name)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Runs async work for a plain fixture, on a thread of its own: the test's loop stays untouched."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work).result()


async def _made(server_url: str, kind: str, digest: str, fill: Callable[[str], Awaitable[None]]) -> str:
    name = f"planner_{kind}_{digest}"
    async with _admin(server_url) as connection:
        await connection.execute("select pg_advisory_lock($1)", LOCK)
        if not await connection.fetchval("select true from pg_database where datname = $1", name):
            draft = f"{name}_draft"
            await connection.execute(f'drop database if exists "{draft}" with (force)')
            await connection.execute(f'create database "{draft}"')
            await fill(_url(server_url, draft))
            await connection.execute(f'alter database "{draft}" rename to "{name}"')
    return name


async def _migrated(url: str) -> None:
    await migrate(url, passwords=dict.fromkeys(ROLES, PASSWORD))


async def _loaded(url: str) -> None:
    await _migrated(url)
    await market_files.fill(url, SHARED / "data")


def _digest(folder: str) -> str:
    """Of every source file below `folder`: a changed migration or loader gets a new template."""
    mixed = hashlib.sha256()
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix in {".py", ".sql"}:
            mixed.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return mixed.hexdigest()[:12]


def _url(server_url: str, database: str, role: str = "") -> str:
    parts = urlsplit(server_url)
    place = parts.netloc.rpartition("@")[2]
    login = f"{role}:{PASSWORD}" if role else parts.netloc.rpartition("@")[0]
    return urlunsplit((parts.scheme, f"{login}@{place}", f"/{database}", parts.query, ""))


@contextlib.asynccontextmanager
async def _admin(server_url: str) -> AsyncGenerator[asyncpg.Connection]:
    connection = await asyncpg.connect(server_url, timeout=10)
    try:
        yield connection
    finally:
        await connection.close()
