"""`/metrics`, `/livez` and `/readyz` of a running process.

Both probes ask the process for its own facts (age of the last poll, lanes, database) rather than ping a broker: a
consumer whose fetch loop died still answers a ping (aiokafka#1154). A probe lists what is wrong, in words of a
closed vocabulary, never a value.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from consumer.errors import Misconfigured

Check = Callable[[], Sequence[str]]
"""What is wrong now; empty when all is well."""


def app(registry: CollectorRegistry, live: Check, ready: Check) -> Starlette:
    def metrics(_: Request) -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    def probe(check: Check) -> Callable[[Request], Response]:
        def answer(_: Request) -> Response:
            problems = list(check())
            return JSONResponse(
                {"status": "failing" if problems else "ok", "problems": problems}, 503 if problems else 200
            )

        return answer

    return Starlette(routes=[Route("/metrics", metrics), Route("/livez", probe(live)), Route("/readyz", probe(ready))])


class _Server(uvicorn.Server):
    """A server inside our process: the process handles its signals itself, to drain before it stops."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@asynccontextmanager
async def serve(app: Starlette, host: str, port: int) -> AsyncGenerator[int, None]:
    """Serves `app` while the block runs and yields the port. Raises Misconfigured when the port is in use."""
    server = _Server(uvicorn.Config(app, host=host, port=port, log_level="critical", access_log=False, lifespan="off"))
    try:
        listener = server.config.bind_socket()
    except (OSError, SystemExit):
        # uvicorn exits the process where the port is taken
        raise Misconfigured(
            f"port {port} on {host} is in use; set PLANNER_HTTP_PORT to another port, or 0 for any free one"
        ) from None
    running = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await running
