"""The connection pool, and what an error of the database means for a question."""

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

import asyncpg

from consumer.deadline import Deadline
from consumer.errors import PlannerError, Transient, Unreachable
from consumer.observe import metrics

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Connection = PoolConnectionProxy[asyncpg.Record]
    Direct = asyncpg.Connection[asyncpg.Record]
else:
    Connection = Direct = object

CONNECT_SECONDS = 10.0
RESET_SECONDS = 5.0
# Ends what a block left open and all it may have set, in one round trip; RESET ALL alone leaves the role, temporary
# tables and advisory locks of the last user of a connection behind.
RESET = """
ROLLBACK; RESET SESSION AUTHORIZATION; RESET ROLE; RESET ALL; DISCARD TEMP; CLOSE ALL; UNLISTEN *;
"""

# SQLSTATE classes and codes that say "not now": connection, resources, operator, rollback, lock; then read only (a
# failover left us on a standby), a cached plan that a migration made stale, and objects being re-created.
NOT_NOW_CLASSES = ("08", "53", "57", "40", "55")
NOT_NOW = frozenset({"25006", "0A000", "42P10", "25P03"})
STALE = frozenset({"25006", "0A000", "42P10"})
"""After these every connection of the pool is suspect."""


BROKEN = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""What cleaning up may meet on a connection that died or was cancelled: the pool then closes it."""


class StatementTooLong(PlannerError):
    """A statement ran into its time limit: its node is dropped, the question goes on."""


def is_transient(error: BaseException) -> bool:
    """Whether trying again on a fresh connection may help.

    asyncpg reports a connection that died under it as InterfaceError or InternalClientError (asyncpg#537, #784), not
    as a connection error. An argument that no statement can take is an InterfaceError too, and a ValueError: it stays
    wrong however often it is tried.
    """
    if isinstance(error, ValueError):
        return False
    if isinstance(error, asyncpg.PostgresError):
        code = error.sqlstate or ""
        return code[:2] in NOT_NOW_CLASSES or code in NOT_NOW
    return isinstance(error, (asyncpg.InterfaceError, asyncpg.InternalClientError, OSError, TimeoutError))


async def _already_reset(_: Direct) -> None:
    """`connection` resets what it lent; asyncpg's own way takes a round trip for ROLLBACK and one for the rest."""


async def open_pool(url: str, size: int, statement_cache: int) -> asyncpg.Pool:
    """A pool of `size` connections. Raises Unreachable when Postgres does not answer."""
    try:
        pool = await asyncpg.create_pool(
            url,
            min_size=min(2, size),
            max_size=size,
            timeout=CONNECT_SECONDS,
            statement_cache_size=statement_cache,
            reset=_already_reset,
        )
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Unreachable(f"Postgres: {type(error).__name__}; is it up, and is the database URL right?") from None
    metrics.POOL_SIZE.labels("open").set_function(pool.get_size)
    metrics.POOL_SIZE.labels("idle").set_function(pool.get_idle_size)
    return pool


async def close_pool(pool: asyncpg.Pool) -> None:
    try:
        await asyncio.wait_for(pool.close(), CONNECT_SECONDS)
    except TimeoutError:
        pool.terminate()


@contextlib.asynccontextmanager
async def connection(pool: asyncpg.Pool, deadline: Deadline) -> AsyncGenerator[Connection, None]:
    """A connection of the pool for the block. Raises Transient when none can be had in time or it breaks inside."""
    started = time.perf_counter()
    held: Connection | None = None
    try:
        held = await pool.acquire(timeout=max(0.001, deadline.remaining()))
        metrics.POOL_WAIT.observe(time.perf_counter() - started)
        yield held
    except Exception as error:
        # Whatever keeps us from a connection is the server's matter: a login refused for now is no fault of a question.
        if held is not None and not is_transient(error):
            raise
        metrics.DB_RETRIES.labels(type(error).__name__).inc()
        if getattr(error, "sqlstate", None) in STALE:
            await pool.expire_connections()
        raise Transient(type(error).__name__) from error
    finally:
        if held is not None:
            await _release(pool, held)


async def _release(pool: asyncpg.Pool, held: Connection) -> None:
    """Resets the connection and gives it back, with time of its own: with what the question had left, each question at
    its deadline cost a connection. One that can't be reset in that time is closed."""
    with contextlib.suppress(*BROKEN):
        try:
            await held.execute(RESET, timeout=RESET_SECONDS)
        except BROKEN:
            held.terminate()  # raises too where the pool has noticed that the connection is gone
        await pool.release(held, timeout=RESET_SECONDS)
