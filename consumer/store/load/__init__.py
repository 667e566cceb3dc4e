"""Loads real files into the store.

A KIND is a `Loader` (kind.py) in `KINDS`. One whose files are CSV is a `CsvLoader` with a `Layout` (partners.py is the
shortest example); one that reads something else implements `Loader` itself.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from uuid import UUID

import asyncpg

from consumer.bench.publish import Rule
from consumer.errors import Misconfigured, Unreachable
from consumer.store.load import awards, bench, documents, opportunities, partners, requirements, subawards
from consumer.store.load.kind import PUBLIC, Counts, FileReport, Loader, LoadReport, Progress, Tenancy

__all__ = ["KINDS", "PUBLIC", "Counts", "FileReport", "LoadReport", "Loader", "Tenancy", "load"]

CONNECT_SECONDS = 10.0
ROLE = "planner_loader"

KINDS: Mapping[str, Loader] = {
    module.LOADER.kind: module.LOADER
    for module in (awards, subawards, opportunities, bench, requirements, partners, documents)
}


def _no_progress(path: Path, done: int, total: int) -> None: ...


async def load(
    kind: str,
    paths: Sequence[Path],
    admin_url: str,
    tenant: UUID | None = None,
    progress: Progress = _no_progress,
    rule: Rule = Rule(),  # noqa: B008 frozen
) -> LoadReport:
    """Loads files of one KIND, each in a transaction of its own: a file is loaded whole or not at all.

    A roster's counts are then published under `rule`, where they are due.

    Raises `Misconfigured` for a kind, file or tenant that does not fit and `Unreachable` when Postgres does not answer.
    """
    loader = KINDS.get(kind)
    if loader is None:
        raise Misconfigured(f"{kind} is not a kind of file; known are {', '.join(KINDS)}")
    whose = _whose(loader, tenant)
    if missing := [path for path in paths if not path.exists()]:
        raise Misconfigured(f"{missing[0]} is not there")
    connection = await _connect(admin_url)
    try:
        files = tuple([await _file(connection, loader, p, whose, progress) for p in paths])
        if loader is bench.LOADER:
            await bench.publish_if_due(connection, whose, rule)
        return LoadReport(kind=kind, files=files)
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


def _whose(loader: Loader, tenant: UUID | None) -> UUID:
    if tenant == PUBLIC:
        raise Misconfigured(f"{tenant} is no tenant; leave --tenant out for public rows")
    if loader.tenancy is Tenancy.PRIVATE and tenant is None:
        raise Misconfigured(f"{loader.kind} belong to a tenant; say whose with --tenant UUID")
    if loader.tenancy is Tenancy.PUBLIC and tenant is not None:
        raise Misconfigured(f"{loader.kind} are public; leave --tenant out")
    return tenant or PUBLIC


async def _connect(admin_url: str) -> asyncpg.Connection:
    if not admin_url:
        raise Misconfigured("PLANNER_ADMIN_DATABASE_URL is not set; `planner load` writes through it")
    try:
        return await asyncpg.connect(admin_url, timeout=CONNECT_SECONDS)
    except (
        OSError,
        TimeoutError,
        asyncpg.PostgresConnectionError,
        asyncpg.InvalidAuthorizationSpecificationError,
    ) as e:
        raise Unreachable(
            f"Postgres of PLANNER_ADMIN_DATABASE_URL: {type(e).__name__}; is it up, is the URL right?"
        ) from None


async def _file(
    connection: asyncpg.Connection, loader: Loader, path: Path, tenant: UUID, progress: Progress
) -> FileReport:
    """One file in one transaction, as the loader's role and with the tenant set, so that row security holds for
    loads too."""
    async with connection.transaction():
        await connection.execute(f"SET LOCAL ROLE {ROLE}")
        await connection.fetchval("SELECT set_config('app.tenant_id', $1, true)", str(tenant))
        return await loader.load(connection, path, tenant, progress)
