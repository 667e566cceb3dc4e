# ruff: noqa: E501 one difference a line reads best
"""`planner registry` on a real database: every intent prepares as the worker, and each kind of difference is named."""

import json
import os
import subprocess
import sys

import asyncpg
import pytest

import registry
from consumer.store.agree import disagreements
from tests.databases import Database
from tests.support import ROOT

pytestmark = pytest.mark.integration


def planner(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "consumer", *arguments],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "COLUMNS": "200", **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


async def test_every_intent_prepares_with_the_columns_and_types_it_declares(module_database: Database) -> None:
    connection = await asyncpg.connect(module_database.worker_url)
    assert [(d.intent, d.what) for d in await disagreements(connection, registry.load())] == []
    await connection.close()


DIFFERENCES = [
    # what is done to the database, the intent that is named, the words
    ("REVOKE SELECT ON graph.partner FROM planner_worker", "graph.partner", "permission denied for table partner"),
    ("ALTER TABLE graph.requirement RENAME COLUMN headcount TO heads", "graph.requirements", "headcount"),
    ("DROP TABLE bench.cell", "bench.cleared_count", "does not exist"),
    ("ALTER TABLE graph.requirement ALTER headcount TYPE numeric", "graph.requirements", "headcount is numeric; count must be int2 or int4 or int8"),
    ("ALTER TABLE graph.requirement ALTER COLUMN skills TYPE text USING ''", "graph.requirements", "skills is text"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "intent", "says"), DIFFERENCES)
async def test_what_differs_is_named(module_database: Database, change: str, intent: str, says: str) -> None:
    connection = await asyncpg.connect(module_database.admin_url)
    transaction = connection.transaction()
    await transaction.start()
    await connection.execute(change)
    await connection.execute("SET LOCAL ROLE planner_worker")
    found = [d.what for d in await disagreements(connection, _only(intent))]
    assert any(says in what for what in found), found
    await transaction.rollback()
    await connection.close()


def _only(name: str) -> registry.Registry:
    loaded = registry.load()
    return registry.Registry(loaded.folder, loaded.planes, [loaded.by_name[name]], loaded.reference)


def test_check_says_that_all_is_well(module_database: Database) -> None:
    run = planner("registry", "check", PLANNER_DATABASE_URL=module_database.worker_url)
    assert run.returncode == 0, run.stderr
    assert "all prepared against the database" in run.stdout
    run = planner("registry", "check", "--json", PLANNER_DATABASE_URL=module_database.worker_url)
    found = json.loads(run.stdout)
    assert found["faults"] == []
    assert found["prepared"] == found["intents"] == len(registry.load().intents)


def test_check_without_a_database_proves_the_statements_alone() -> None:
    run = planner("registry", "check")
    assert (run.returncode, run.stderr) == (0, "")
    assert "set PLANNER_DATABASE_URL" in run.stdout


def test_check_fails_with_the_fault_of_each_intent(database: Database) -> None:
    subprocess_url = database.sink_url  # a role that may read nothing of it
    run = planner("registry", "check", "--json", PLANNER_DATABASE_URL=subprocess_url)
    assert run.returncode == 1
    faults = json.loads(run.stdout)["faults"]
    assert {fault["intent"] for fault in faults} == {intent.name for intent in registry.load().intents}
    assert all("permission denied" in fault["what"] for fault in faults)


WRONG = [
    (("registry", "show", "market.nothing"), {}, 2, "there is no intent market.nothing"),
    (("registry", "list"), {"PLANNER_REGISTRY": "/nowhere"}, 2, "/nowhere/planes.toml can't be read"),
    (("registry", "check"), {"PLANNER_REGISTRY": "/nowhere"}, 1, "/nowhere/planes.toml can't be read"),
    (("registry", "check"), {"PLANNER_DATABASE_URL": "postgresql://x@127.0.0.1:9/x"}, 5, "PLANNER_DATABASE_URL"),
    (("migrate",), {}, 2, "PLANNER_ADMIN_DATABASE_URL is not set"),
    (("migrate",), {"PLANNER_ADMIN_DATABASE_URL": "postgresql://x@127.0.0.1:9/x"}, 5, "PLANNER_ADMIN_DATABASE_URL"),
]


@pytest.mark.parametrize(("arguments", "environment", "code", "says"), WRONG)
def test_what_is_wrong_is_one_line(
    arguments: tuple[str, ...], environment: dict[str, str], code: int, says: str
) -> None:
    run = planner(*arguments, **environment)
    assert (run.returncode, run.stdout) == (code, "")
    assert says in run.stderr
    assert run.stderr.count("\n") == 1


def test_list_show_and_digest_agree() -> None:
    loaded = registry.load()
    listed = json.loads(planner("registry", "list", "--json").stdout)
    assert [one["name"] for one in listed["intents"]] == [intent.name for intent in loaded.intents]
    assert listed["digest"] == planner("registry", "digest").stdout.strip() == loaded.digest
    shown = json.loads(planner("registry", "show", "market.competitors", "--json").stdout)
    assert shown["sql"] == loaded.by_name["market.competitors"].sql
    read = planner("registry", "show", "market.competitors").stdout
    assert loaded.by_name["market.competitors"].sql in read
    assert "one of agency or naics is needed" in read


def test_migrate_says_what_it_did(postgres_url: str, database: Database) -> None:
    run = planner("migrate", PLANNER_ADMIN_DATABASE_URL=database.admin_url)
    assert run.returncode == 0
    assert run.stdout.startswith("up to date: all ")
    again = json.loads(planner("migrate", "--json", PLANNER_ADMIN_DATABASE_URL=database.admin_url).stdout)
    assert again["applied"] == []
