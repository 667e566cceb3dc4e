# ruff: noqa: E501, S608 its own statements
"""Two tenants with data of their own beside public data: what one of them must never see is easy to search for.

Every private value of tenant B, be it a name, a title, an id or an amount, holds one of its MARKS.
"""

from datetime import date
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

import asyncpg

A, B, PUBLIC = UUID("a1a1a1a1-0000-4000-8000-00000000000a"), UUID("b2b2b2b2-0000-4000-8000-00000000000b"), UUID(int=0)
NAVY = "Department of the Navy"
NAICS = "541512"
MARKS = {A: "ALDERMOOR", B: "BRACKENFELL"}
"""A word in every name that a tenant owns."""
CENTS = {A: "11.31", B: "22.97"}
"""How every amount that a tenant owns ends; no sum of up to 50 of them with public ones is as B alone would have it."""
UEIS = {A: "AAAAAAAAAAA1", B: "BBBBBBBBBBB2", PUBLIC: "PUBLICVENDR3"}
TODAY = date(2026, 12, 1)
PROTECTED = "PROTECTEDGROUND"


async def fill(connection: asyncpg.Connection, rows: int = 40) -> None:
    """Public awards, and for each tenant awards, requirements, partners, documents and published counts of its own;
    beside them a schema of protected data that no role of ours may reach."""
    await connection.execute(
        "CREATE SCHEMA eeo; CREATE TABLE eeo.self_id (tenant_id uuid, answer text); "
        f"INSERT INTO eeo.self_id VALUES ('{B}', '{PROTECTED}')"
    )
    for tenant in (PUBLIC, A, B):
        async with connection.transaction():
            await connection.execute("SET LOCAL ROLE planner_loader")
            await connection.execute("SELECT set_config('app.tenant_id', $1, true)", str(tenant))
            await connection.executemany(AWARD, [_award(tenant, number) for number in range(rows)])
            if tenant != PUBLIC:
                await _own(connection, tenant, rows)
        if tenant != PUBLIC:
            await _cells(connection, tenant)


def requirement(tenant: UUID, number: int = 0) -> UUID:
    return uuid5(tenant, f"requirement {number}")


def opportunity(tenant: UUID) -> UUID:
    return uuid5(tenant, "opportunity")


AWARD = """
INSERT INTO market.award (tenant_id, award_key, agency, subagency, vendor, uei, naics, set_aside, obligated, offers,
                          start_date, current_end, potential_end, summary_date, description, extent_competed)
VALUES ($1, $2, 'Department of Defense', $3, $4, $5, $6, 'SMALL BUSINESS', $7, 2, $8, $9, $9, $8, $10, 'Full and open competition')
"""  # fmt: skip


def _award(tenant: UUID, number: int) -> tuple[Any, ...]:
    mark = MARKS.get(tenant, "PUBLIC")
    amount = Decimal(1_000 + number) + (Decimal(CENTS[tenant]) if tenant in CENTS else Decimal(0))
    day, end = date(2026, 1 + number % 11, 5), date(2027, 1 + number % 12, 9)
    key = f"CONT_AWD_{mark}_{number}"
    return tenant, key, NAVY, f"{mark} SYSTEMS", UEIS[tenant], NAICS, amount, day, end, f"{mark} support"


async def _own(connection: asyncpg.Connection, tenant: UUID, rows: int) -> None:
    mark = MARKS[tenant]
    await connection.executemany(
        "INSERT INTO graph.requirement VALUES ($1, $2, $3, NULL, $4, 'TS', '{data engineering}', $5)",
        [(tenant, requirement(tenant, n), opportunity(tenant), f"{mark} requirement {n}", 1 + n) for n in range(rows)],
    )
    await connection.execute(
        "INSERT INTO graph.partner VALUES ($1, $2, $3, '{data engineering}', '{8A}')",
        tenant, UEIS[tenant], f"{mark} PARTNERS LLC",
    )  # fmt: skip
    await connection.execute(
        "INSERT INTO market.opportunity (tenant_id, opportunity_id, notice_id, title, agency, subagency, naics) "
        "VALUES ($1, $2, $3, $4, 'Department of Defense', $5, $6)",
        tenant, opportunity(tenant), f"{mark}-1", f"{mark} notice", NAVY, NAICS,
    )  # fmt: skip


async def _cells(connection: asyncpg.Connection, tenant: UUID) -> None:
    people = 40 if tenant == A else 97
    async with connection.transaction():
        await connection.execute("SET LOCAL ROLE planner_publisher")
        await connection.execute("SELECT set_config('app.tenant_id', $1, true)", str(tenant))
        await connection.execute(
            "INSERT INTO bench.cell VALUES ($1, 'TS', '', 0, '', $2, $2, $3, NULL, $4, 'rule')",
            tenant, people, f"everybody of {MARKS[tenant]}", TODAY,
        )  # fmt: skip
