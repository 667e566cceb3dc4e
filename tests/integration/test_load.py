"""`planner load` on a real PostgreSQL: the shared files as they are, again, in another order, and what goes wrong."""

import asyncio
import csv
import json
import os
import shutil
import sys
import zipfile
from decimal import Decimal
from pathlib import Path
from uuid import UUID

import asyncpg
import pytest

from consumer.errors import Misconfigured, Unreachable
from consumer.store.load import Counts, copy, load
from tests.databases import Database
from tests.support import ROOT

pytestmark = pytest.mark.integration

TENANT = UUID("5a5a5a5a-0000-4000-8000-000000000001")
PRIVATE = {"requirements", "partners"}
FILES = [
    ("awards", "Contracts_PrimeAwardSummaries.csv", Counts(loaded=5000)),
    ("awards", "Contracts_PrimeTransactions.csv", Counts(loaded=1319)),
    ("awards", "Contracts_PrimeTransactions_2rows_297cols.csv", Counts(loaded=2)),
    ("awards", "prime_transactions_1000_28cols.csv", Counts(loaded=1000)),
    ("subawards", "Contracts_Subawards.csv", Counts(loaded=47)),
    ("opportunities", "ContractOpportunitiesFullCSV.csv", Counts(loaded=475)),
    ("requirements", "requirements.csv", Counts(loaded=278)),
    ("partners", "partners.csv", Counts(loaded=120)),
]
EVERYTHING = """
SELECT md5(string_agg(line, E'\n' ORDER BY line)) FROM (
    SELECT a::text AS line FROM market.award a UNION ALL SELECT t::text FROM market.action t
) rows
"""
MONTHS_THAT_DIFFER = """
WITH kept AS (
    SELECT tenant_id, month, agency, subagency, vendor, uei, naics, set_aside, extent_competed,
           obligated, awards, single_offers, several_offers
    FROM market.month
    WHERE obligated <> 0 OR awards <> 0 OR single_offers <> 0 OR several_offers <> 0
), part AS (
    SELECT tenant_id, summary_date AS day, agency, subagency, vendor, uei, naics, set_aside, extent_competed,
           obligated - explained AS obligated, 0 AS awards, 0 AS single, 0 AS several
    FROM market.award WHERE kind = 'contract' AND summary_date IS NOT NULL
    UNION ALL
    SELECT tenant_id, latest_date, agency, subagency, vendor, uei, naics, set_aside, extent_competed,
           0, 1, (offers = 1)::int, (offers > 1)::int
    FROM market.award WHERE kind = 'contract'
    UNION ALL
    SELECT tenant_id, action_date, agency, subagency, vendor, uei, naics, set_aside, extent_competed, obligated, 0, 0, 0
    FROM market.action WHERE kind = 'contract'
), counted AS (
    SELECT tenant_id, date_trunc('month', day::timestamp)::date, agency, subagency, vendor, uei, naics, set_aside,
           extent_competed, sum(obligated), sum(awards), coalesce(sum(single), 0), coalesce(sum(several), 0)
    FROM part GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9
    HAVING sum(obligated) <> 0 OR sum(awards) <> 0 OR sum(single) <> 0 OR sum(several) <> 0
)
SELECT (SELECT count(*) FROM (TABLE kept EXCEPT TABLE counted) d)
     + (SELECT count(*) FROM (TABLE counted EXCEPT TABLE kept) d)
"""


async def one(database: Database, sql: str, *arguments: object) -> object:
    connection = await asyncpg.connect(database.admin_url)
    try:
        return await connection.fetchval(sql, *arguments)
    finally:
        await connection.close()


async def counts(database: Database, kind: str, path: Path, tenant: UUID | None = None) -> Counts:
    return (await load(kind, [path], database.admin_url, tenant)).total


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


async def test_every_row_of_the_shared_files_is_loaded_once_and_never_twice(
    database: Database, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for kind, name, expected in FILES:
        tenant = TENANT if kind in PRIVATE else None
        assert await counts(database, kind, shared / "data" / name, tenant) == expected, name
    before = await one(database, EVERYTHING)
    for kind, name, expected in FILES:
        tenant = TENANT if kind in PRIVATE else None
        assert await counts(database, kind, shared / "data" / name, tenant) == Counts(unchanged=expected.loaded), name
    assert await one(database, EVERYTHING) == before
    assert await one(database, MONTHS_THAT_DIFFER) == 0
    assert files_in(tmp_path) == []


@pytest.mark.parametrize("name", ["messy_transactions_utf8_bom.csv", "messy_transactions_cp1252.csv"])
async def test_a_messy_file_loads_all_but_its_bad_rows_and_says_why(
    database: Database, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with (shared / "data/messy_transactions_utf8_bom.csv").open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    keys = [row["contract_transaction_unique_key"] for row in rows]
    dated = [row["action_date"] != "13/45/2024" for row in rows]
    good = [key for key, fine in zip(keys, dated, strict=True) if key and fine]

    report = await load("awards", [shared / "data" / name], database.admin_url)

    assert report.total == Counts(
        loaded=len(set(good)), unchanged=len(good) - len(set(good)), rejected=len(rows) - len(good)
    )
    with (tmp_path / f"{name}.rejected.csv").open(encoding="utf-8", newline="") as file:
        rejected = list(csv.DictReader(file))
    assert {row["reason"] for row in rejected} == {
        "contract_transaction_unique_key is empty",
        "action_date: 13/45/2024 is no date",
    }
    assert len(rejected) == report.total.rejected
    assert await one(
        database,
        "SELECT bool_and(description LIKE '%café%') FROM market.action WHERE starts_with(description, 'Line one')",
    )
    assert await one(database, "SELECT count(*) FROM market.action WHERE description ~ E'[\\r\\n]'") == 0


async def test_both_encodings_of_one_file_are_the_same_rows(
    database: Database, shared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    await counts(database, "awards", shared / "data/messy_transactions_utf8_bom.csv")
    assert (await counts(database, "awards", shared / "data/messy_transactions_cp1252.csv")).updated == 0


async def test_any_order_of_actions_and_summaries_gives_the_same_awards(
    database: Database, shared: Path, tmp_path: Path
) -> None:
    """Forwards, backwards, and the actions one file each: one state of the market."""
    with (shared / "data/prime_transactions_1000_28cols.csv").open(encoding="utf-8", newline="") as file:
        actions = list(csv.DictReader(file))
    with (shared / "data/Contracts_PrimeAwardSummaries.csv").open(encoding="utf-8-sig", newline="") as file:
        known = {row["contract_award_unique_key"] for row in actions}
        summaries = [row for row in csv.DictReader(file) if row["contract_award_unique_key"] in known]
    assert len(summaries) == 5
    both = [
        row
        for row in actions
        if row["contract_award_unique_key"] in {s["contract_award_unique_key"] for s in summaries}
    ]
    files = [
        write(tmp_path / "summaries.csv", summaries),
        write(tmp_path / "a.csv", actions),
        write(tmp_path / "b.csv", both),
    ]
    states: list[object] = []
    for order in (files, files[::-1], [files[2], files[0], files[1], files[0]]):
        for path in order:
            await load("awards", [path], database.admin_url)
        states.append(await one(database, EVERYTHING))
        assert await one(database, MONTHS_THAT_DIFFER) == 0
        connection = await asyncpg.connect(database.admin_url)
        await connection.execute("DELETE FROM market.award")
        await connection.execute("DELETE FROM market.action")
        await connection.close()
        assert await one(database, "SELECT count(*) FROM market.month WHERE obligated <> 0 OR awards <> 0") == 0
    assert len(set(states)) == 1


ACTION = {
    "contract_transaction_unique_key": "", "contract_award_unique_key": "CONT_AWD_X", "modification_number": "0",
    "action_date": "", "federal_action_obligation": "", "awarding_agency_name": "Department of Energy",
    "recipient_name": "A FIRM", "recipient_uei": "", "naics_code": "541512", "last_modified_date": "",
}  # fmt: skip
SUMMARY = {
    "contract_award_unique_key": "CONT_AWD_X", "total_obligated_amount": "100",
    "award_latest_action_date": "2025-06-30",
    "awarding_agency_name": "Department of Energy", "recipient_name": "A FIRM", "naics_code": "541512",
}  # fmt: skip


def action(key: str, day: str, amount: str, **more: str) -> dict[str, str]:
    return {
        **ACTION,
        "contract_transaction_unique_key": key,
        "action_date": day,
        "federal_action_obligation": amount,
        **more,
    }


async def dated(database: Database) -> list[tuple[str, Decimal]]:
    connection = await asyncpg.connect(database.admin_url)
    try:
        rows = await connection.fetch(
            "SELECT action_date::text, obligated FROM market.obligation WHERE obligated <> 0 ORDER BY 1, 2"
        )
    finally:
        await connection.close()
    return [(row[0], row[1]) for row in rows]


async def test_no_dollar_of_an_award_with_summary_and_actions_counts_twice(database: Database, tmp_path: Path) -> None:
    """The actions that the summary knows of are taken off its total; later ones count beside it."""
    summary = write(tmp_path / "s.csv", [SUMMARY])
    actions = write(
        tmp_path / "a.csv",
        [action("1", "2024-01-15", "70"), action("2", "2025-06-30", "-10"), action("3", "2025-09-01", "5")],
    )
    await load("awards", [summary], database.admin_url)
    assert await dated(database) == [("2025-06-30", Decimal(100))]
    await load("awards", [actions], database.admin_url)
    expected = [("2024-01-15", 70), ("2025-06-30", -10), ("2025-06-30", 40), ("2025-09-01", 5)]
    assert await dated(database) == expected
    assert (await load("awards", [summary, actions], database.admin_url)).total == Counts(unchanged=4)
    assert await dated(database) == expected


async def test_an_older_download_changes_nothing_of_a_newer_one(database: Database, tmp_path: Path) -> None:
    newer = write(tmp_path / "new.csv", [{**SUMMARY, "award_latest_action_date": "2026-01-01", "recipient_name": "B"}])
    older = write(tmp_path / "old.csv", [SUMMARY])
    await load("awards", [newer], database.admin_url)
    assert await counts(database, "awards", older) == Counts(unchanged=1)
    assert await one(database, "SELECT vendor FROM market.award") == "B"
    first = write(tmp_path / "a1.csv", [action("1", "2024-01-15", "70", last_modified_date="2024-02-02")])
    stale = write(tmp_path / "a2.csv", [action("1", "2024-01-15", "60", last_modified_date="2024-02-01")])
    assert (await load("awards", [first, stale], database.admin_url)).total == Counts(loaded=1, unchanged=1)


async def test_a_download_of_fewer_columns_takes_nothing_away(database: Database, tmp_path: Path) -> None:
    full = write(tmp_path / "full.csv", [action("1", "2024-01-15", "70", recipient_uei="UE9QJD4KK1L6")])
    row = action("1", "2024-01-15", "70")
    del row["recipient_uei"]
    fewer = write(tmp_path / "fewer.csv", [row])
    empty = write(tmp_path / "empty.csv", [action("1", "2024-01-15", "70")])
    report = await load("awards", [full, fewer, empty], database.admin_url)
    assert report.total == Counts(loaded=1, unchanged=2)
    assert await one(database, "SELECT uei FROM market.award") == "UE9QJD4KK1L6"


async def test_an_award_takes_its_latest_action_however_the_rows_stand(database: Database, tmp_path: Path) -> None:
    rows = [
        action("3", "2025-01-01", "1", modification_number="P00002", recipient_name="LATEST"),
        action("1", "2024-01-01", "1", recipient_name="FIRST", recipient_uei="UE9QJD4KK1L6"),
        action("2", "2025-01-01", "1", modification_number="P00001", recipient_name="MIDDLE"),
    ]
    await load("awards", [write(tmp_path / "a.csv", rows)], database.admin_url)
    query = "SELECT concat_ws(' ', vendor, uei, obligated, base_date, latest_date) FROM market.award"
    assert await one(database, query) == "LATEST UE9QJD4KK1L6 3.00 2024-01-01 2025-01-01"


async def test_a_tenants_own_award_stands_for_the_public_one_and_is_seen_by_no_other(
    database: Database, tmp_path: Path
) -> None:
    public = write(tmp_path / "public.csv", [SUMMARY, {**SUMMARY, "contract_award_unique_key": "CONT_AWD_Y"}])
    own = write(tmp_path / "own.csv", [{**SUMMARY, "total_obligated_amount": "7"}])
    await load("awards", [public], database.admin_url)
    assert (await load("awards", [own], database.admin_url, TENANT)).total == Counts(loaded=1)
    later = write(tmp_path / "later.csv", [action("1", "2026-01-01", "55")])  # public, of the award that is private too
    await load("awards", [later], database.admin_url)
    connection = await asyncpg.connect(database.worker_url)
    try:
        seen: dict[tuple[str, str], Decimal] = {}
        for who in (str(TENANT), "5a5a5a5a-0000-4000-8000-00000000000f"):
            async with connection.transaction(readonly=True, isolation="repeatable_read"):
                await connection.fetchval("SELECT set_config('app.tenant_id', $1, true)", who)
                for view in ("market.obligation", "market.monthly"):
                    seen[who, view] = await connection.fetchval(f"SELECT sum(obligated) FROM {view}")  # noqa: S608
        assert list(seen.values()) == [Decimal(107), Decimal(107), Decimal(255), Decimal(255)]
    finally:
        await connection.close()


async def test_a_zip_of_csvs_is_one_load(database: Database, tmp_path: Path) -> None:
    actions = write(tmp_path / "a.csv", [action("1", "2024-01-15", "70"), action("", "2024-01-15", "70")])
    summary = write(tmp_path / "s.csv", [SUMMARY])
    path = tmp_path / "download.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(actions, "Contracts_PrimeTransactions_1.csv")
        archive.write(summary, "Contracts_PrimeAwardSummaries_1.csv")
    report = await load("awards", [path], database.admin_url)
    assert report.total == Counts(loaded=2, rejected=1)
    assert report.files[0].rejects == tmp_path / "download.zip.rejected.csv"


async def test_batches_of_a_file_are_one_transaction(
    database: Database, tmp_path: Path, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copy, "BATCH_ROWS", 100)
    monkeypatch.setattr(copy, "CHUNK_ROWS", 7)
    path = tmp_path / "Contracts_PrimeTransactions.csv"
    shutil.copy(shared / "data" / path.name, path)
    assert await counts(database, "awards", path) == Counts(loaded=1319)
    seen: list[int] = []

    def interrupt(path: Path, done: int, total: int) -> None:
        seen.append(done)
        if done > total // 2:
            task.cancel()  # what Ctrl-C does

    before = await one(database, EVERYTHING)
    rows = list(csv.DictReader(path.open(encoding="utf-8-sig", newline="")))
    changed = write(tmp_path / "changed.csv", [{**row, "federal_action_obligation": "1"} for row in rows])
    task = asyncio.ensure_future(load("awards", [changed], database.admin_url, None, interrupt))
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(seen) > 2
    assert await one(database, EVERYTHING) == before


async def test_an_edited_private_file_is_what_the_tenant_has_then(database: Database, tmp_path: Path) -> None:
    row = {"uei": "H8GHNMBMKML5", "name": "A FIRM", "capabilities": "rmf;itil", "set_asides": "8(a)"}
    await load("partners", [write(tmp_path / "p.csv", [row])], database.admin_url, TENANT)
    edited = write(tmp_path / "p.csv", [{**row, "capabilities": ""}, {**row, "uei": "UE9QJD4KK1L6"}])
    assert await counts(database, "partners", edited, TENANT) == Counts(loaded=1, updated=1)
    assert await one(database, "SELECT cardinality(capabilities) FROM graph.partner WHERE uei = 'H8GHNMBMKML5'") == 0


async def test_wrong_use_is_said_in_one_line(database: Database, tmp_path: Path, shared: Path) -> None:
    data = shared / "data"
    cases: list[tuple[str, Path, UUID | None, str]] = [
        ("nonsense", data / "partners.csv", None, "nonsense is not a kind of file; known are awards"),
        ("partners", data / "partners.csv", None, "partners belong to a tenant; say whose with --tenant"),
        ("opportunities", data / "ContractOpportunitiesFullCSV.csv", TENANT, "opportunities are public"),
        ("awards", data / "Contracts_PrimeTransactions.csv", UUID(int=0), "is no tenant"),
        ("awards", tmp_path / "absent.csv", None, "absent.csv is not there"),
        ("awards", data / "partners.csv", None, "holds partners; load it with `planner load partners`"),
        ("awards", data / "naics_2022.csv", None, "no file of award .* it has no column"),
        ("subawards", data / "Contracts_PrimeTransactions.csv", None, "holds award transactions; .* load awards"),
    ]
    for kind, path, tenant, words in cases:
        with pytest.raises(Misconfigured, match=words):
            await load(kind, [path], database.admin_url, tenant)
    with pytest.raises(Misconfigured, match="PLANNER_ADMIN_DATABASE_URL is not set"):
        await load("awards", [data / "Contracts_PrimeTransactions.csv"], "")
    with pytest.raises(Unreachable, match="PLANNER_ADMIN_DATABASE_URL"):
        await load("awards", [data / "Contracts_PrimeTransactions.csv"], "postgresql://nobody@127.0.0.1:1/none")


async def planner(database: Database, folder: Path, *arguments: str) -> tuple[int, str, str]:
    """What `planner ARGUMENTS` in `folder` returns, prints and complains of."""
    environment = {**os.environ, "PLANNER_ADMIN_DATABASE_URL": database.admin_url}
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "consumer", *arguments,
        cwd=folder, env={**environment, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    out, complaint = await asyncio.wait_for(process.communicate(), 60)
    return process.returncode or 0, out.decode(), complaint.decode()


async def test_the_command_counts_points_to_the_rejects_and_speaks_json(database: Database, tmp_path: Path) -> None:
    rows = [action("1", "2024-01-15", "70"), action("", "2024-01-15", "70")]
    path = write(tmp_path / "a.csv", rows)
    code, out, _ = await planner(database, tmp_path, "load", "awards", str(path))
    assert code == 0
    assert [line.split()[1:] for line in out.splitlines() if line.startswith("a.csv")] == [["1", "0", "0", "1"]]
    assert str(tmp_path / "a.csv.rejected.csv") in out
    code, out, _ = await planner(database, tmp_path, "load", "awards", str(path), "--json")
    assert json.loads(out) == {
        "kind": "awards",
        "files": [
            {
                "file": str(path), "loaded": 0, "updated": 0, "unchanged": 1, "rejected": 1,
                "rejects": str(tmp_path / "a.csv.rejected.csv"),
            }
        ],
    }  # fmt: skip
    code, out, complaint = await planner(database, tmp_path, "load", "partners", str(path))
    assert (code, out) == (2, "")
    assert complaint == "planner: partners belong to a tenant; say whose with --tenant UUID\n"
