# ruff: noqa: E501 statements read best whole
"""The service is not tied to its default Registry: one file adds an intent, another folder is another field."""

import shutil
from datetime import date
from pathlib import Path
from uuid import uuid4

import asyncpg
import pytest

import registry
from consumer import service
from consumer import settings as configuration
from consumer.deadline import Deadline
from consumer.planner.answer import Asked
from registry.catalog import BUILT_IN, InvalidRegistry
from schemas import Answer
from schemas.answer import Route, Status
from tests import market
from tests.databases import Database

PRICING = """/*---
name = "market.pricing"
plane = "market"
description = "How contracts are priced at an agency: fixed price, time and materials, cost."
heading = "Contracts by pricing"
noun = ["pricing"]
words = ["pricing", "priced", "fixed price"]
phrases = ["how are contracts priced", "pricing of contracts"]
row_cap = 20

[[params]]
name = "agency"
kind = "agency"

[[columns]]
name = "pricing"
type = "enum"
key = true

[[columns]]
name = "contracts"
type = "count"
unit = "contracts"
---*/
SELECT coalesce(a.pricing, 'not reported') AS pricing, count(*) AS contracts
FROM market.award AS a
WHERE a.tenant_id IN (:tenant_id, '00000000-0000-0000-0000-000000000000')
  AND (a.agency_key = upper(:agency) OR a.subagency_key = upper(:agency))
GROUP BY 1
ORDER BY 2 DESC, 1
"""

LOANS = """/*---
name = "loans.overdue"
plane = "loans"
description = "Books that are overdue, by how long."
heading = "Overdue loans"
noun = ["loan"]
words = ["overdue", "late", "books"]
phrases = ["which books are overdue"]
row_cap = 10

[[params]]
name = "window_months"
kind = "window_months"
required = false
default = 1
minimum = 1
maximum = 24

[[columns]]
name = "title"
type = "entity"
key = true

[[columns]]
name = "due"
type = "date"
words = ["due"]
---*/
SELECT l.title, l.due
FROM library.loan AS l
WHERE l.tenant_id = :tenant_id AND l.due < :as_of::date AND l.due >= (:as_of::date - make_interval(months => :window_months))::date
ORDER BY l.due, l.title
"""
PLANES = '[[planes]]\nname = "loans"\nscope = "loans:read"\nschemas = ["library"]\nwords = ["books", "loans"]\n'


async def answer(settings: configuration.Settings, question: str, scope: str) -> Answer:
    async with service.answerer(settings) as answerer:
        asked = Asked(uuid4(), market.TENANT, uuid4(), question, None, frozenset({scope}), date(2026, 12, 1))
        found, _ = await answerer.planner.answer(asked, Deadline.after(20))
        return found


def own_pack(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return str(folder)


async def test_one_file_adds_an_intent(tmp_path: Path, market_database: Database) -> None:
    pack = tmp_path / "pack"
    shutil.copytree(BUILT_IN, pack, ignore=shutil.ignore_patterns("*.py", "__pycache__"))
    own_pack(pack, {"intents/market/pricing.sql": PRICING})
    settings = configuration.load({"PLANNER_DATABASE_URL": market_database.worker_url, "PLANNER_REGISTRY": str(pack)})
    found = await answer(settings, 'How are contracts priced at "Department of the Navy"?', "market:read")
    assert (found.status, found.route) == (Status.ANSWERED, Route.INTENT)
    assert found.evidence[0].intent == "market.pricing"
    assert found.evidence[0].rows
    assert found.registry_digest != registry.load().digest


async def test_a_registry_of_another_field_is_served_without_a_line_of_code(tmp_path: Path, database: Database) -> None:
    pack = own_pack(tmp_path / "library", {"planes.toml": PLANES, "intents/loans/overdue.sql": LOANS})
    admin = await asyncpg.connect(database.admin_url)
    try:
        await admin.execute(
            "CREATE SCHEMA library; CREATE TABLE library.loan (tenant_id uuid NOT NULL, title text NOT NULL, due date NOT NULL);"
            "CREATE INDEX ON library.loan (tenant_id, due); SELECT planner.private_table('library.loan');"
            "ALTER SCHEMA library OWNER TO planner_owner; GRANT USAGE ON SCHEMA library TO planner_worker;"
            "GRANT SELECT ON library.loan TO planner_worker"
        )
        await admin.execute(
            "INSERT INTO library.loan VALUES ($1, 'A Field Guide to Lichens', '2026-11-20'), ($1, 'Tides', '2027-01-05')",
            market.TENANT,
        )
        await admin.execute(
            "INSERT INTO library.loan VALUES ($1, 'Of another reader', '2026-11-21')", market.OTHER_TENANT
        )
    finally:
        await admin.close()
    settings = configuration.load({"PLANNER_DATABASE_URL": database.worker_url, "PLANNER_REGISTRY": pack})
    found = await answer(settings, "Which books are overdue?", "loans:read")
    assert (found.status, found.route) == (Status.ANSWERED, Route.INTENT)
    assert found.evidence[0].rows == (("A Field Guide to Lichens", "2026-11-20"),)
    assert "A Field Guide to Lichens" in found.answer


FAULTS = [
    ({"planes.toml": PLANES}, "holds no intent"),
    ({"intents/loans/overdue.sql": LOANS}, "planes.toml"),
    ({"planes.toml": PLANES, "intents/loans/late.sql": LOANS}, "its path says loans.late"),
    ({"planes.toml": PLANES, "intents/loans/overdue.sql": LOANS.replace("library.loan", "public.loan")}, "public"),
    (
        {"planes.toml": PLANES, "intents/loans/overdue.sql": LOANS.replace("l.tenant_id = :tenant_id AND ", "")},
        "tenant",
    ),
    ({"planes.toml": PLANES, "intents/loans/overdue.sql": LOANS.replace("/*---", "/*")}, "declaration"),
]


@pytest.mark.parametrize(("files", "said"), FAULTS)
def test_a_broken_pack_is_refused_with_its_file_and_rule(tmp_path: Path, files: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidRegistry, match=said):
        registry.load(own_pack(tmp_path, files))
