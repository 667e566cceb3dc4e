"""A whole planner on this machine: the parts that the settings don't name, a migrated database, topics, and the worker
and the sink as processes of their own, as in production."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import httpx
import msgspec

from consumer import topics
from consumer.errors import Misconfigured, PlannerError
from consumer.settings import Settings, variable
from consumer.stack import kafka, postgres, process
from consumer.stack.stack import held_folder
from consumer.store.migrate import migrate

DATABASE = "planner"
READY_SECONDS = 60.0
PROBE_SECONDS = 2.0
POLL_SECONDS = 0.1
STOP_MARGIN_SECONDS = 10.0
CONNECTIONS = ("kafka_bootstrap", "database_url", "sink_database_url", "admin_database_url")
"""The settings that say where the parts are."""


@dataclass(frozen=True)
class Service:
    """One process of ours and where its metrics are."""

    name: str
    running: process.Running
    url: str

    async def ready(self) -> None:
        """Returns when /readyz says so. Raises `PlannerError` when the process ended or the time is up."""
        async with httpx.AsyncClient(timeout=PROBE_SECONDS) as client:
            try:
                async with asyncio.timeout(READY_SECONDS):
                    while not await self._answers(client):
                        if not self.running.alive:
                            raise PlannerError(self.epitaph())
                        await asyncio.sleep(POLL_SECONDS)
            except TimeoutError:
                raise PlannerError(
                    f"the {self.name} was not ready within {READY_SECONDS:g} s; its log is {self.running.log}"
                ) from None

    def epitaph(self) -> str:
        return f"the {self.name} ended: {self.running.last_words(1)}; its log is {self.running.log}"

    async def _answers(self, client: httpx.AsyncClient) -> bool:
        try:
            return (await client.get(f"{self.url}/readyz")).is_success
        except httpx.TransportError:
            return False


@contextlib.asynccontextmanager
async def parts(settings: Settings, folder: Path | None) -> AsyncGenerator[tuple[Settings, Path]]:
    """Kafka and Postgres, migrated, with their topics: what `settings` name, else embedded ones in `folder` (temporary
    when None). Yields the settings with all connections filled in, and the folder.

    Raises `Misconfigured` when only some of the database URLs are set, or a part does not start.
    """
    async with contextlib.AsyncExitStack() as stack:
        home = stack.enter_context(held_folder(folder))
        if settings.kafka_bootstrap == Settings().kafka_bootstrap:
            cluster = await kafka.start(home)
            stack.push_async_callback(cluster.stop)
            settings = msgspec.structs.replace(settings, kafka_bootstrap=cluster.bootstrap)
        if not _named(settings):
            server = await postgres.start(home)
            stack.push_async_callback(server.stop)
            settings = msgspec.structs.replace(settings, **await _urls(server.url))
        await migrate(settings.admin_database_url)
        await topics.create_missing(settings)
        yield settings, home


@contextlib.asynccontextmanager
async def services(settings: Settings, folder: Path) -> AsyncGenerator[tuple[Service, Service]]:
    """The worker and the sink, ready; drained and stopped at the end. Their logs are in `folder`."""
    started: list[Service] = []
    try:
        for name, port in (("worker", _port(settings)), ("sink", process.free_ports(1)[0])):
            started.append(await _start(name, port, settings, folder))
        worker, sink = started
        await asyncio.gather(worker.ready(), sink.ready())
        yield worker, sink
    finally:
        seconds = settings.drain_seconds + STOP_MARGIN_SECONDS
        for service in started:  # the worker first: what it answers at the end, the sink still stores
            await asyncio.shield(service.running.stop(signal.SIGTERM, seconds))


def variables(settings: Settings) -> Mapping[str, str]:
    """What makes another command meet the same parts: the connections, and every setting that is not its default, but
    the port, which is one process's own."""
    default = Settings()
    return {
        variable(field): str(getattr(settings, field))
        for field in Settings.__struct_fields__
        if field in CONNECTIONS or (getattr(settings, field) != getattr(default, field) and field != "http_port")
    }


async def _start(name: str, port: int, settings: Settings, folder: Path) -> Service:
    running = await process.start(
        name,
        (sys.executable, "-m", "consumer", name),
        folder / f"{name}.log",
        death_signal=signal.SIGTERM,  # a killed parent still means a drained worker
        variables={**variables(settings), variable("http_port"): str(port)},
    )
    return Service(name, running, f"http://{settings.http_host}:{port}")


def _named(settings: Settings) -> bool:
    urls = {field: bool(getattr(settings, field)) for field in CONNECTIONS if field != "kafka_bootstrap"}
    if any(urls.values()) and not all(urls.values()):
        absent = next(field for field, given in urls.items() if not given)
        raise Misconfigured(f"{variable(absent)} is not set; set all three database URLs, or none for an embedded one")
    return all(urls.values())


async def _urls(superuser_url: str) -> dict[str, str]:
    """Makes the database where it is missing, and names it once for each role."""
    connection = await asyncpg.connect(superuser_url, timeout=10)
    try:
        if not await connection.fetchval("select true from pg_database where datname = $1", DATABASE):
            await connection.execute(f"create database {DATABASE}")
    finally:
        await connection.close(timeout=10)
    return {
        "admin_database_url": _url(superuser_url, postgres.SUPERUSER),
        "database_url": _url(superuser_url, "planner_worker"),
        "sink_database_url": _url(superuser_url, "planner_sink"),
    }


def _url(superuser_url: str, role: str) -> str:
    found = urlsplit(superuser_url)
    return urlunsplit((found.scheme, f"{role}@{found.hostname}:{found.port}", f"/{DATABASE}", "", ""))


def _port(settings: Settings) -> int:
    """The port of the settings, or a free one where somebody has it."""
    return settings.http_port if process.is_free(settings.http_port) else process.free_ports(1)[0]


def cancel_on_stop() -> None:
    """SIGTERM and SIGINT cancel the running task, so that every context manager on the way drains and stops its part.

    Raises `CancelledError` in the caller's task when the signal comes.
    """
    task = asyncio.current_task()
    assert task is not None
    for name in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)


async def first_end(*services: Service) -> None:
    """Waits until one of `services` ends by itself. Raises `PlannerError` that tells what it said last."""
    waiting = {asyncio.create_task(service.running.process.wait()): service for service in services}
    try:
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        raise PlannerError(waiting[done.pop()].epitaph())
    finally:
        for task in waiting:
            task.cancel()
