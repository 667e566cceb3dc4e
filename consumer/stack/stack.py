"""Kafka and PostgreSQL side by side, in one folder that one stack holds at a time."""

import asyncio
import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from pathlib import Path

from consumer.errors import Misconfigured
from consumer.stack import kafka, postgres, reach

TEMPORARY = "planner-stack-"
LOCK = "stack.lock"
SWEEP_AGE_SECONDS = 30.0


@dataclass(frozen=True)
class Stack:
    """The running parts, with their own operations for tests that break them."""

    kafka: kafka.Cluster
    postgres: postgres.Server
    folder: Path

    @property
    def kafka_bootstrap(self) -> str:
        return self.kafka.bootstrap

    @property
    def postgres_url(self) -> str:
        """The superuser's URL."""
        return self.postgres.url


@contextlib.asynccontextmanager
async def embedded_stack(folder: Path | None = None, brokers: int = 1) -> AsyncGenerator[Stack]:
    """Starts Kafka (`brokers` of them) and PostgreSQL, and stops both at the end, whatever ended it.

    With `folder` the data stays there for the next start, without it the data goes when the stack does. Raises
    `Misconfigured` when another stack holds the folder, the extra `embedded` is missing or a part does not start.
    """
    with held_folder(folder) as home:
        started = await asyncio.gather(kafka.start(home, brokers), postgres.start(home), return_exceptions=True)
        parts = [part for part in started if not isinstance(part, BaseException)]
        try:
            for part in started:
                if isinstance(part, BaseException):
                    raise part
            cluster, server = started
            assert isinstance(cluster, kafka.Cluster)
            assert isinstance(server, postgres.Server)
            yield Stack(cluster, server, home)
        finally:
            await asyncio.shield(asyncio.gather(*(part.stop() for part in parts)))


@contextlib.contextmanager
def held_folder(named: Path | None) -> Generator[Path]:
    """The folder `named`, or a temporary one that goes at the end, locked against a second stack meanwhile.

    Raises `Misconfigured` when another stack holds it or it can't be made.
    """
    if named is None:
        _sweep(reach.base())
        home = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=reach.base()))
        home.chmod(0o711)  # the server may run as another user and has to reach its own folder below
    else:
        home = named.absolute()
        try:
            home.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Misconfigured(f"the folder {home} can't be made: {error.strerror}") from None
    with _held(home):
        try:
            yield home
        finally:
            if named is None:
                shutil.rmtree(home, ignore_errors=True)


@contextlib.contextmanager
def _held(home: Path) -> Generator[None]:
    """The folder's lock. The kernel drops it with the process, so a killed stack leaves no stale one behind."""
    with (home / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.seek(0)
            holder = file.read().strip() or "unknown"
            raise Misconfigured(
                f"a stack already runs in {home} (process {holder}); stop it or name another folder"
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()}\n")
        file.flush()
        yield


def _sweep(parent: Path) -> None:
    """Removes temporary folders whose stack was killed before it could: those whose lock nobody holds. A new one may
    not have locked its folder yet, so only what has some age counts."""
    for left in parent.glob(f"{TEMPORARY}*/{LOCK}"):
        with contextlib.suppress(OSError), left.open("a") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime < SWEEP_AGE_SECONDS:
                continue
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(left.parent, ignore_errors=True)
