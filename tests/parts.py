"""The real parts of a test run, found or started once and shared by all workers of pytest-xdist.

In this order: what PLANNER_TEST_KAFKA and PLANNER_TEST_POSTGRES name, containers where a Docker engine answers, the
embedded stack. The last two are held by a process of their own (`python -m tests.parts`), since the worker that comes
first may leave first; it ends with the process that runs the whole session, whatever ends that.
"""

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import NamedTuple

from consumer.stack import embedded_stack

KAFKA, POSTGRES = "PLANNER_TEST_KAFKA", "PLANNER_TEST_POSTGRES"
KAFKA_IMAGE, POSTGRES_IMAGE = "confluentinc/cp-kafka:8.0.0", "pgvector/pgvector:pg18"
START_SECONDS = 240.0
STOP_SECONDS = 60.0


class Parts(NamedTuple):
    kafka_bootstrap: str
    postgres_url: str
    """The superuser's URL."""


def named() -> Parts | None:
    """The parts that the environment names; None unless it names both."""
    kafka, postgres = os.environ.get(KAFKA), os.environ.get(POSTGRES)
    return Parts(kafka, postgres) if kafka and postgres else None


def shared(folder: Path, session_pid: int) -> Parts:
    """The parts of the session whose process is `session_pid`: the first caller starts them, the others wait."""
    with (folder / "parts.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        written = folder / "parts.json"
        if not written.exists():
            _start(written, session_pid)
        return Parts(*json.loads(written.read_text())["parts"])


def stop(folder: Path) -> None:
    """Stops what `shared` started in `folder`, and waits until it is gone."""
    written = folder / "parts.json"
    if written.exists():
        pid = json.loads(written.read_text())["pid"]
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + STOP_SECONDS
        while _runs(pid) and time.monotonic() < end:
            time.sleep(0.05)


def _start(written: Path, session_pid: int) -> None:
    log = written.with_suffix(".log")
    with log.open("w") as output:
        holder = subprocess.Popen(
            [sys.executable, "-m", "tests.parts", str(written), str(session_pid)],
            cwd=Path(__file__).resolve().parent.parent,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    end = time.monotonic() + START_SECONDS
    while not written.exists():
        if holder.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"no Kafka and Postgres for the tests: {log.read_text()[-2000:]}")
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def _hold(written: Path, session_pid: int) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    async with _containers() if _docker_answers() else _embedded() as parts:
        partial = written.with_suffix(".tmp")
        partial.write_text(json.dumps({"pid": os.getpid(), "parts": parts}))
        partial.rename(written)
        while not over.is_set() and _runs(session_pid):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(over.wait(), 0.5)
    written.unlink(missing_ok=True)  # noqa: ASYNC240 nothing else runs here


@contextlib.asynccontextmanager
async def _embedded() -> AsyncGenerator[Parts]:
    async with embedded_stack() as stack:
        yield Parts(stack.kafka_bootstrap, stack.postgres_url)


@contextlib.asynccontextmanager
async def _containers() -> AsyncGenerator[Parts]:
    from testcontainers.kafka import KafkaContainer  # noqa: PLC0415 slow to import, and only used with Docker
    from testcontainers.postgres import PostgresContainer  # noqa: PLC0415

    kafka = KafkaContainer(KAFKA_IMAGE).with_kraft()
    postgres = PostgresContainer(POSTGRES_IMAGE).with_command("postgres -c max_connections=400 -c fsync=off")
    with await asyncio.to_thread(kafka.start), await asyncio.to_thread(postgres.start):
        yield Parts(kafka.get_bootstrap_server(), postgres.get_connection_url(driver=None))


def _docker_answers() -> bool:
    try:
        return subprocess.run(["docker", "info"], capture_output=True, timeout=5, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


if __name__ == "__main__":
    asyncio.run(_hold(Path(sys.argv[1]), int(sys.argv[2])))
