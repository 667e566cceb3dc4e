"""`planner console`: the read only page."""

import asyncio
import signal
from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

import asyncpg
from cyclopts import Parameter

from consumer import service
from consumer.asker import asker
from consumer.cli import Configured
from consumer.console.app import Parts, Trail
from consumer.console.app import console as application
from consumer.errors import Misconfigured
from consumer.observe.health import serve

CONNECT_SECONDS = 5.0
EVENTS = """
SELECT recorded_at, chain_id, seq, event_id, intents, param_kinds, node_count, suppressed_cells, faithfulness, outcome
FROM audit.trail WHERE tenant_id = $1 OR $1 IS NULL ORDER BY recorded_at DESC LIMIT 50
"""
CHAINS = "SELECT chain_id, size, encode(head_hash, 'hex') AS head FROM audit.head ORDER BY chain_id"
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


async def console(
    *,
    tenant: UUID | None = None,
    tenant_header: str = "",
    scope: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = (),
    host: str = "127.0.0.1",
    port: int = 8_090,
    settings: Configured,
) -> None:
    """Serves a page to ask and to see why the answer is what it is, until Ctrl-C. It writes nothing but questions.

    Parameters
    ----------
    tenant
        The tenant that asks.
    tenant_header
        Header of a trusted proxy that names the tenant instead.
    scope
        A scope of the asker; give it once for each. Without one, all of the Registry's.
    host
        Address to serve on; one that is not loopback needs the proxy's header.
    port
        Port to serve on; 0 picks a free one.
    """
    if host not in LOOPBACK and not tenant_header:
        raise Misconfigured(f"{host} is no loopback address; there a proxy must say who asks, in --tenant-header")
    if tenant is None and not tenant_header:
        raise Misconfigured("say whose questions these are, with --tenant or --tenant-header")
    async with service.judge(settings) as judge, asker(settings) as asking:
        scopes = scope or (*(plane.scope for plane in judge.registry.planes), "docs:read")
        parts = Parts(judge, asking, _trail(settings.admin_database_url, tenant), tenant, tenant_header, scopes)
        stopped = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, stopped.set)
        async with serve(application(parts), host, port) as bound:
            print(f"http://{host}:{bound}", flush=True)
            await stopped.wait()


def _trail(url: str, tenant: UUID | None) -> Trail:
    """Reads the trail as the auditor; empty where no administrator's URL is set."""

    async def read() -> tuple[Sequence[dict[str, Any]], Sequence[dict[str, Any]]]:
        if not url:
            return [], []
        connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS)
        try:
            await connection.execute("SET ROLE planner_auditor")
            events = [dict(row) for row in await connection.fetch(EVENTS, tenant, timeout=CONNECT_SECONDS)]
            chains = [dict(row) for row in await connection.fetch(CHAINS, timeout=CONNECT_SECONDS)]
        finally:
            await connection.close(timeout=CONNECT_SECONDS)
        return events, chains

    return read
