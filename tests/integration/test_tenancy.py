"""Each intent keeps tenants apart twice over: by row security alone, and by its own statement alone."""

from typing import Any
from uuid import UUID

import asyncpg
import pytest

import registry
from registry import Intent
from tests import databases
from tests.databases import Database
from tests.tenants import MARKS, NAICS, NAVY, TODAY, UEIS, A, B, fill, opportunity, requirement

pytestmark = pytest.mark.integration
REGISTRY = registry.load()


@pytest.fixture(scope="module")
def filled(module_database: Database) -> Database:
    async def work() -> None:
        connection = await asyncpg.connect(module_database.admin_url)
        await fill(connection)
        await connection.close()

    databases.run(work())
    return module_database


def arguments(intent: Intent, tenant: UUID, whose: UUID) -> list[Any]:
    """For the statement of `intent`: the tenant that asks, and values that fit what `whose` owns."""
    role = {param.name: param.role or param.name for param in intent.params}
    known: dict[str, Any] = {
        "agency": NAVY,
        "naics": NAICS,
        "uei": UEIS[whose],
        "clearance": "TS",
        "compartments": [],
        "window_months": 120,
    }
    kinds = {param.name: param.kind for param in intent.params}

    def value(name: str) -> Any:
        if name == "tenant_id":
            return tenant
        if name == "as_of":
            return TODAY
        if kinds[name] == "uuid":
            return requirement(whose) if role[name] == "requirement" else opportunity(whose)
        return known.get(kinds[name])

    return [value(name) for name in REGISTRY.statements[intent.name].parameters]


async def rows(connection: asyncpg.Connection, intent: Intent, tenant: UUID, whose: UUID) -> str:
    found = await connection.fetch(REGISTRY.statements[intent.name].text, *arguments(intent, tenant, whose))
    return repr([tuple(row.values()) for row in found])


def foreign(text: str) -> list[str]:
    return [mark for mark in (MARKS[B], UEIS[B]) if mark in text]


NAMES = [intent.name for intent in REGISTRY.intents]


@pytest.mark.parametrize("name", NAMES)
async def test_row_security_alone_holds_whatever_tenant_a_statement_names(filled: Database, name: str) -> None:
    intent = REGISTRY.by_name[name]
    connection = await asyncpg.connect(filled.worker_url)
    async with connection.transaction():
        await connection.execute("SELECT set_config('app.tenant_id', $1, true)", str(A))
        assert foreign(await rows(connection, intent, B, B)) == []
    await connection.close()


@pytest.mark.parametrize("name", NAMES)
async def test_the_statement_alone_holds_where_row_security_does_not(filled: Database, name: str) -> None:
    intent = REGISTRY.by_name[name]
    connection = await asyncpg.connect(filled.admin_url)  # the superuser is above row security
    async with connection.transaction():
        await connection.execute("SELECT set_config('app.tenant_id', $1, true)", str(A))
        assert foreign(await rows(connection, intent, A, B)) == []
    await connection.close()


async def test_what_these_tests_look_for_is_there_to_be_found(filled: Database) -> None:
    connection = await asyncpg.connect(filled.worker_url)
    seen: list[str] = []
    async with connection.transaction():
        await connection.execute("SELECT set_config('app.tenant_id', $1, true)", str(B))
        for intent in REGISTRY.intents:
            seen += [intent.name] if foreign(await rows(connection, intent, B, B)) else []
    await connection.close()
    assert len(seen) >= 10, seen
    assert {"market.competitors", "graph.partner", "graph.requirements", "market.incumbents"} <= set(seen)
