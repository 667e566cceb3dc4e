"""`planner dev` and `planner demo` as a person meets them: real processes from start to end, nothing left behind."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import psutil
import pytest

from tests.support import ROOT, eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

PLANNER = (sys.executable, "-m", "consumer")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PLANNER_")} | {
    "COLUMNS": "160"
}


async def started(*arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *PLANNER,
        *arguments,
        cwd=ROOT,
        env=ENVIRONMENT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


async def ended(*arguments: str) -> tuple[int | None, str, str]:
    process = await started(*arguments)
    out, err = await asyncio.wait_for(process.communicate(), 120)
    return process.returncode, out.decode(), err.decode()


async def until_ready(process: asyncio.subprocess.Process) -> list[str]:
    assert process.stdout is not None
    lines: list[str] = []
    async with asyncio.timeout(120):
        while not lines or lines[-1] != "ready":
            line = await process.stdout.readline()
            if not line:
                assert process.stderr is not None
                raise AssertionError((await process.stderr.read()).decode())
            lines.append(line.decode().rstrip())
    return lines


def alive(processes: list[psutil.Process]) -> list[psutil.Process]:
    return [one for one in processes if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]


async def test_dev_serves_until_ctrl_c_says_so_when_started_twice_and_leaves_no_process(open_folder: Path) -> None:
    dev = await started("dev", "--empty", "--folder", str(open_folder))
    await until_ready(dev)
    family = psutil.Process(dev.pid).children(recursive=True)
    assert len(family) >= 4, "Kafka, Postgres, worker, sink"

    env_file = open_folder / "dev.env"
    names = {line.partition("=")[0] for line in env_file.read_text().splitlines()}
    assert {"PLANNER_KAFKA_BOOTSTRAP", "PLANNER_DATABASE_URL", "PLANNER_SINK_DATABASE_URL"} <= names

    code, _, err = await ended("dev", "--folder", str(open_folder))
    assert code == 2
    assert f"a stack already runs in {open_folder} (process {dev.pid})" in err

    code, out, err = await ended("doctor", "--env-file", str(env_file))
    assert code == 0, out + err

    dev.send_signal(signal.SIGINT)
    assert await asyncio.wait_for(dev.wait(), 60) == 0
    assert alive(family) == []


async def test_dev_ends_with_a_reason_when_its_worker_does(open_folder: Path) -> None:
    dev = await started("dev", "--empty", "--folder", str(open_folder))
    await until_ready(dev)
    family = psutil.Process(dev.pid).children(recursive=True)
    (worker,) = [one for one in family if one.cmdline()[-1:] == ["worker"]]
    worker.kill()
    _, err = await asyncio.wait_for(dev.communicate(), 60)
    assert dev.returncode == 1
    assert "the worker ended" in err.decode()
    assert str(open_folder / "worker.log") in err.decode()
    await eventually(lambda: not alive(family))


async def test_the_demo_answers_every_question_and_shows_the_audit_rows() -> None:
    code, out, err = await ended("demo")
    assert code == 0, out + err
    for part in (
        "one intent",
        "two planes",
        "three planes",
        "withheld",
        "documents",
        "a refusal",
        "What the sink stored",
    ):
        assert part in out
