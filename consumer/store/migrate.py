"""Brings the database's schema, roles and policies up to date: safe to run again, and by two at once."""

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from importlib import resources

import asyncpg
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from consumer.errors import PlannerError, Unreachable
from consumer.store.preflight import Connection

CONNECT_SECONDS = 10.0
MIGRATE_SECONDS = 3_600.0
LOCK = 7_263_554_001
"""Advisory lock of migrations: the second one waits, then finds nothing to do."""
BOOKS = """
CREATE SCHEMA IF NOT EXISTS planner;
CREATE TABLE IF NOT EXISTS planner.migration (
    name text PRIMARY KEY, sha256 text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()
);
"""

ACCESS = """
DO $$ BEGIN
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO planner_worker, planner_sink, planner_publisher, planner_loader, '
                   'planner_auditor', current_database());
    EXECUTE format('GRANT TEMPORARY ON DATABASE %I TO planner_loader', current_database());
END $$
"""
"""Every time: rights on the database itself are in no dump and no copy of it, so a restored one lacks them."""

ROOM = "SELECT audit.make_ranges(8)"


def migrations() -> dict[str, str]:
    """The SQL of each migration by name, in order."""
    folder = resources.files("consumer.store") / "migrations"
    files = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    return {f.name.removesuffix(".sql"): f.read_text(encoding="utf-8") for f in files}


# Two databases of one cluster that make the same roles at once collide in the shared catalog.
COLLISIONS = (asyncpg.UniqueViolationError, asyncpg.InternalServerError, asyncpg.DuplicateObjectError)


@retry(
    retry=retry_if_exception_type(COLLISIONS),
    stop=stop_after_attempt(8),
    wait=wait_random_exponential(multiplier=0.05, max=1),
    reraise=True,
)
async def migrate(admin_url: str, passwords: Mapping[str, str] | None = None) -> list[str]:
    """Applies what is missing, each migration in a transaction; returns the names applied.

    `passwords` by role name are set where given. Raises Unreachable when Postgres does not answer, PlannerError when
    a migration fails or one that was applied has changed since.
    """
    try:
        connection = await asyncpg.connect(admin_url, timeout=CONNECT_SECONDS)
    except (
        OSError,
        TimeoutError,
        ValueError,
        asyncpg.PostgresConnectionError,
        asyncpg.InvalidAuthorizationSpecificationError,
        asyncpg.InvalidCatalogNameError,
    ) as error:
        raise Unreachable(
            f"Postgres of PLANNER_ADMIN_DATABASE_URL: {type(error).__name__}; is it up, is the URL right?"
        ) from None
    try:
        async with asyncio.timeout(MIGRATE_SECONDS):
            return await _migrate(connection, passwords or {})
    except TimeoutError:
        raise PlannerError(
            f"migrations took longer than {MIGRATE_SECONDS:g} s; does another one hold the lock?"
        ) from None
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


async def _migrate(connection: asyncpg.Connection, passwords: Mapping[str, str]) -> list[str]:
    await connection.execute("SELECT pg_advisory_lock($1)", LOCK)
    await connection.execute(BOOKS)
    known = {r["name"]: r["sha256"] for r in await connection.fetch("SELECT name, sha256 FROM planner.migration")}
    applied = [name for name, sql in migrations().items() if await _apply(connection, name, sql, known)]
    await connection.execute(ACCESS)
    await keep_ahead(connection)
    for role, password in passwords.items():
        await _set_password(connection, role, password)
    return applied


async def keep_ahead(connection: Connection) -> int:
    """Makes the ranges of the audit trail that rows to come will need; returns how many were missing. Every time, and
    by `planner audit retain` between releases."""
    return await connection.fetchval(ROOM)


async def _apply(connection: asyncpg.Connection, name: str, sql: str, known: Mapping[str, str]) -> bool:
    digest = sha256(sql.encode()).hexdigest()
    if name in known:
        if known[name] != digest:
            raise PlannerError(
                f"migration {name} was applied and has changed since; restore its file and add a new one"
            )
        return False
    try:
        async with connection.transaction():
            await connection.execute(sql)
            await connection.execute("INSERT INTO planner.migration (name, sha256) VALUES ($1, $2)", name, digest)
    except COLLISIONS:
        raise
    except asyncpg.PostgresError as error:
        raise PlannerError(f"migration {name} failed and left nothing of itself: {error}") from error
    return True


async def _set_password(connection: asyncpg.Connection, role: str, password: str) -> None:
    # ALTER ROLE takes no parameters: the server quotes both.
    statement = await connection.fetchval(
        "SELECT format('ALTER ROLE %I PASSWORD %L', $1::text, $2::text)", role, password
    )
    await connection.execute(statement)
