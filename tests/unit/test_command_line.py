"""The command line itself: exit codes, one readable line on stderr, and help that costs no import of the service."""

import subprocess
import sys
from pathlib import Path

import pytest

from consumer.__main__ import COMMANDS
from consumer.settings import Settings, variable
from tests.support import ROOT


def planner(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "consumer", *arguments],
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


WRONG = [
    # arguments, environment, what the one line names
    (("asks",), {}, "there is no command asks; planner --help lists them"),
    (("ask",), {}, "QUESTION"),
    (("ask", "who?"), {}, "--tenant"),
    (("ask", "who?", "--tenant", "seven"), {}, "--tenant"),
    (("ask", "who?", "--tenant", "5d0c9a34-7be1-4f26-8a17-c3e9d2b4f608", "--timeout", "0"), {}, "--timeout"),
    (("ask", "who?", "--tenant", "5d0c9a34-7be1-4f26-8a17-c3e9d2b4f608", "--bogus"), {}, "--bogus"),
    (("ask", "", "--tenant", "5d0c9a34-7be1-4f26-8a17-c3e9d2b4f608"), {}, "the question can't be asked"),
    (("topics",), {"PLANNER_CONCURENCY": "3"}, "PLANNER_CONCURENCY is not a setting"),
    (("topics",), {"PLANNER_CONCURRENCY": "many"}, "PLANNER_CONCURRENCY"),
    (("topics", "--env-file", "/nowhere/planner.env"), {}, "/nowhere/planner.env can't be read"),
    (("completion", "tcsh"), {}, "tcsh"),
    (("dev",), {"PLANNER_DATABASE_URL": "postgresql://a@b/c"}, "PLANNER_SINK_DATABASE_URL is not set"),
]


@pytest.mark.parametrize(("arguments", "environment", "named"), WRONG, ids=lambda value: str(value)[:40])
def test_wrong_use_is_one_line_that_names_it_and_exit_2(
    arguments: tuple[str, ...], environment: dict[str, str], named: str, tmp_path: Path
) -> None:
    if arguments == ("dev",):
        arguments = ("dev", "--folder", str(tmp_path), "--empty")
        environment = {**environment, "PLANNER_KAFKA_BOOTSTRAP": "127.0.0.1:9"}
    result = planner(*arguments, **environment)
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("planner: ")
    assert named in result.stderr


@pytest.mark.parametrize("command", ["topics", "ask"])
def test_kafka_away_is_exit_5(command: str) -> None:
    more = ("who?", "--tenant", "5d0c9a34-7be1-4f26-8a17-c3e9d2b4f608") if command == "ask" else ()
    result = planner(command, *more, PLANNER_KAFKA_BOOTSTRAP="127.0.0.1:9")
    assert (result.returncode, result.stdout) == (5, "")
    assert result.stderr.splitlines()[0].startswith("planner: no Kafka broker answers at 127.0.0.1:9")
    assert len(result.stderr.splitlines()) == 1


def test_debug_shows_the_traceback() -> None:
    assert "Traceback" in planner("asks", "--debug").stderr


def test_help_lists_every_command_without_importing_kafka_or_postgres() -> None:
    result = planner("--help")
    assert result.returncode == 0
    assert [name for name in COMMANDS if name not in result.stdout] == []
    heavy = "import sys; import consumer.__main__; sys.exit(any(m in sys.modules for m in ('aiokafka', 'asyncpg')))"
    assert subprocess.run([sys.executable, "-c", heavy], cwd=ROOT, check=False).returncode == 0


def test_help_config_lists_every_setting_with_its_default() -> None:
    result = planner("--help-config")
    assert result.returncode == 0
    assert [name for name in map(variable, Settings.__struct_fields__) if name not in result.stdout] == []
    assert "planner.questions.v1-dlt" in result.stdout


def test_the_version_is_printed() -> None:
    assert planner("--version").stdout.strip() == "0.1.0"
