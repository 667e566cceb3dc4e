"""A tenant's own picture: requirements as a list and as a tree, gaps, partners, owners; and nobody else's."""

import csv
from collections import defaultdict
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import pytest

import registry
from consumer.store.load import load
from registry.statement import compile
from tests.databases import Database
from tests.market import OTHER_TENANT, TENANT
from tests.support import SHARED

pytestmark = pytest.mark.integration

MINE, THEIRS = UUID("6a6a6a6a-0000-4000-8000-000000000001"), UUID("6a6a6a6a-0000-4000-8000-000000000002")
OPPORTUNITY = UUID("6a6a6a6a-0000-4000-8000-00000000000a")


def read(name: str) -> list[dict[str, str]]:
    with (SHARED / "data" / name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


async def rows_of(database: Database, name: str, tenant: UUID, **values: object) -> list[dict[str, Any]]:
    built = registry.load()
    intent = built.by_name[name]
    statement = compile(intent.sql)  # without the row cap
    bound = {p.name: p.default for p in intent.params} | values | {"tenant_id": tenant}
    connection = await asyncpg.connect(database.worker_url)
    try:
        async with connection.transaction(readonly=True, isolation="repeatable_read"):
            await connection.fetchval("SELECT set_config('app.tenant_id', $1, true)", str(tenant))
            rows = await connection.fetch(statement.text, *(bound[p] for p in statement.parameters))
        assert [c.name for c in intent.columns] == list(rows[0].keys()) if rows else True
        return [dict(row) for row in rows]
    finally:
        await connection.close()


def opportunities() -> dict[str, list[dict[str, str]]]:
    by_opportunity: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in read("requirements.csv"):
        by_opportunity[row["opportunity_id"]].append(row)
    return dict(by_opportunity)


async def test_the_requirements_of_an_opportunity(market_database: Database) -> None:
    for opportunity, expected in list(opportunities().items())[:8]:
        got = await rows_of(market_database, "graph.requirements", TENANT, subject=opportunity)
        assert sorted(
            (r["requirement"], r["clearance"] or "", r["headcount"], tuple(r["skills"])) for r in got
        ) == sorted((r["title"], r["clearance"], int(r["headcount"]), tuple(r["skills"].split(";"))) for r in expected)
        alone = await rows_of(
            market_database, "graph.requirements", TENANT, subject=UUID(expected[0]["requirement_id"])
        )
        assert [r["requirement"] for r in alone] == [expected[0]["title"]]


async def test_the_tree_holds_every_requirement_once_at_its_level(market_database: Database) -> None:
    for opportunity, expected in list(opportunities().items())[:8]:
        got = await rows_of(market_database, "graph.requirement_tree", TENANT, subject=opportunity)
        tops = sorted(r["title"] for r in expected if not r["parent_id"])
        assert [r["path"] for r in got if r["level"] == 1] == tops
        assert len(got) == len(expected)
        by_id = {r["requirement_id"]: r for r in expected}
        assert sorted(r["path"] for r in got if r["level"] == 2) == sorted(
            f"{by_id[r['parent_id']]['title']} / {r['title']}" for r in expected if r["parent_id"]
        )


async def test_partners_that_cover_the_skills_and_skills_that_none_covers(market_database: Database) -> None:
    partners = {r["uei"]: set(r["capabilities"].split(";")) for r in read("partners.csv")}
    for opportunity, requirements in list(opportunities().items())[:8]:
        needed = {skill for r in requirements for skill in r["skills"].split(";")}
        got = await rows_of(market_database, "graph.partner_coverage", TENANT, subject=opportunity)
        expected = {uei: needed & skills for uei, skills in partners.items() if needed & skills}
        assert {r["uei"]: set(r["covered_skills"]) for r in got} == expected
        assert [r["skills_covered"] for r in got] == sorted(map(len, expected.values()), reverse=True)
        assert await rows_of(market_database, "graph.requirement_gaps", TENANT, subject=opportunity) == []


async def test_one_partner_and_all_of_them(market_database: Database) -> None:
    first = read("partners.csv")[0]
    (got,) = await rows_of(market_database, "graph.partner", TENANT, uei=first["uei"])
    assert (got["partner"], got["capabilities"]) == (first["name"], first["capabilities"].split(";"))
    assert len(await rows_of(market_database, "graph.partners", TENANT)) == len(read("partners.csv"))
    hubzone = {r["uei"] for r in read("partners.csv") if "HUBZone" in r["set_asides"].split(";")}
    got = await rows_of(market_database, "graph.partners", TENANT, set_aside="HUBZone")
    assert {r["uei"] for r in got} == hubzone != set()


async def test_when_a_response_is_due(market_database: Database) -> None:
    notice = next(r for r in read("ContractOpportunitiesFullCSV.csv") if r["SetASideCode"] == "SDVOSBC")
    (got,) = await rows_of(market_database, "graph.opportunity", TENANT, opportunity=notice["NoticeId"])
    assert got["due_date"].isoformat() == notice["ResponseDeadLine"][:10]
    assert (got["set_aside"], got["title"], got["office"]) == (
        "SDVOSB",
        " ".join(notice["Title"].split()),
        notice["Office"],
    )


async def test_a_vendor_its_parent_and_its_sisters(market_database: Database) -> None:
    """Who owns whom is what the latest action of each award says."""
    order = ("action_date", "modification_number", "transaction_number", "contract_transaction_unique_key")
    owners: dict[str, dict[str, str]] = defaultdict(dict)
    for row in sorted(read("Contracts_PrimeTransactions.csv"), key=lambda r: [r[c] for c in order]):
        told = {c: row[c] for c in ("recipient_uei", "recipient_parent_uei", "recipient_parent_name") if row[c]}
        owners[row["contract_award_unique_key"]].update(told)
    pairs = {(o["recipient_uei"], o["recipient_parent_uei"]) for o in owners.values() if len(o) == 3}
    asked = next(o["recipient_uei"] for o in owners.values() if o["recipient_parent_name"] == "THE BOEING COMPANY")
    parents = {parent for uei, parent in pairs if uei == asked} | {asked}

    got = await rows_of(market_database, "graph.vendor_parents", TENANT, uei=asked)

    assert {(r["uei"], r["parent_uei"]) for r in got} == {pair for pair in pairs if pair[1] in parents}
    assert {r["uei"] for r in got if r["relation"] == "itself"} == {asked}
    assert len(got) > 3


async def test_another_tenant_sees_nothing(market_database: Database) -> None:
    opportunity, (requirement, *_) = next(iter(opportunities().items()))
    for name, values in [
        ("graph.requirements", {"subject": opportunity}),
        ("graph.requirement_tree", {"subject": UUID(requirement["requirement_id"])}),
        ("graph.requirement_gaps", {"subject": opportunity}),
        ("graph.partner_coverage", {"subject": opportunity}),
        ("graph.partners", {}),
        ("graph.partner", {"uei": read("partners.csv")[0]["uei"]}),
    ]:
        assert await rows_of(market_database, name, OTHER_TENANT, **values) == [], name


@pytest.fixture
async def tangled(database: Database, tmp_path: Any) -> Database:
    """A circle of two, a chain of ten, an orphan, the same ids for another tenant."""
    header = "requirement_id,opportunity_id,parent_id,title,clearance,skills,headcount\n"
    ids = [UUID(int=n + 1) for n in range(10)]
    chain = [(ids[n], ids[n - 1] if n else "", f"link {n:02}") for n in range(10)]
    circle = [(UUID(int=50), UUID(int=51), "hen"), (UUID(int=51), UUID(int=50), "egg")]
    orphan = [(UUID(int=60), uuid4(), "orphan")]
    lines = [
        f"{i},{OPPORTUNITY},{parent},{title},SECRET,unheard of;RMF,3\n" for i, parent, title in chain + circle + orphan
    ]
    path = tmp_path / "requirements.csv"
    path.write_text(header + "".join(lines))
    await load("requirements", [path], database.admin_url, MINE)
    path.write_text(header + f"{ids[1]},{OPPORTUNITY},,somebody else's,,,\n")
    await load("requirements", [path], database.admin_url, THEIRS)
    path = tmp_path / "partners.csv"
    path.write_text("uei,name,capabilities,set_asides\nH8GHNMBMKML5,A FIRM,rmf,8(a)\n")
    await load("partners", [path], database.admin_url, MINE)
    return database


async def test_a_tree_ends_at_its_depth_limit_and_never_circles(tangled: Database) -> None:
    got = await rows_of(tangled, "graph.requirement_tree", MINE, subject=OPPORTUNITY)
    assert [r["level"] for r in got if "link" in r["path"]] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert [r["path"] for r in got if r["level"] == 1] == ["link 00", "orphan"]
    circle = await rows_of(tangled, "graph.requirement_tree", MINE, subject=UUID(int=50))
    assert len(circle) == 8
    assert [r["path"] for r in await rows_of(tangled, "graph.requirement_tree", THEIRS, subject=OPPORTUNITY)] == [
        "somebody else's"
    ]


async def test_a_gap_is_a_skill_that_no_partner_lists(tangled: Database) -> None:
    got = await rows_of(tangled, "graph.requirement_gaps", MINE, subject=OPPORTUNITY)
    assert {tuple(r["missing_skills"]) for r in got} == {("unheard of",)}
    assert len(got) == 13
    assert await rows_of(tangled, "graph.requirement_gaps", THEIRS, subject=OPPORTUNITY) == []
