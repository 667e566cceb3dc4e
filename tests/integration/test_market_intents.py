"""Every number of the market, counted again by hand over the shared files.

The counting here reads the files with the standard library alone and shares nothing with loaders or statements.
"""

import csv
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest

import registry
from registry.statement import compile
from tests.databases import Database
from tests.market import OTHER_TENANT, TENANT
from tests.support import SHARED

pytestmark = pytest.mark.integration

TODAY = date(2026, 12, 1)
NAVY, DOD = "Department of the Navy", "Department of Defense"
MARKETS: list[tuple[str | None, str | None]] = [
    (NAVY, "541512"),
    (DOD, "541519"),
    ("Defense Information Systems Agency", None),
    (None, "541330"),
    ("department of veterans affairs", None),
    ("General Services Administration", "541611"),
]
Row = dict[str, Any]


class Money(NamedTuple):
    """An amount on its day, as a file tells it."""

    award: str
    day: date
    amount: Decimal
    agency: str
    office: str
    vendor: str
    uei: str
    naics: str
    set_aside: str
    extent: str
    offers: str


class Award(NamedTuple):
    """What the summaries say of one award."""

    key: str
    piid: str
    agency: str
    office: str
    vendor: str
    uei: str
    naics: str
    total: Decimal
    latest: date
    start: date
    current: date | None
    potential: date | None
    extent: str
    award_type: str
    set_aside: str


def read(name: str) -> list[dict[str, str]]:
    with (SHARED / "data" / name).open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def day(text: str) -> date | None:
    return date.fromisoformat(text[:10]) if text else None


def months_before(months: int, from_day: date = TODAY) -> date:
    year, month = divmod(from_day.year * 12 + from_day.month - 1 - months, 12)
    return date(year, month + 1, from_day.day)  # TODAY is the first of a month


@cache
def money() -> list[Money]:
    """Summaries with their total on the day of their latest action, actions on their own; vehicles left out. The two
    files have no award in common."""
    summaries = [
        Money(
            r["contract_award_unique_key"], date.fromisoformat(r["award_latest_action_date"]),
            Decimal(r["total_obligated_amount"]).quantize(Decimal("0.01"), ROUND_HALF_UP), r["awarding_agency_name"],
            r["awarding_sub_agency_name"], r["recipient_name"], r["recipient_uei"], r["naics_code"],
            r["type_of_set_aside"], r["extent_competed"], r["number_of_offers_received"],
        )
        for r in read("Contracts_PrimeAwardSummaries.csv")
    ]  # fmt: skip
    actions = [
        Money(
            r["contract_award_unique_key"], date.fromisoformat(r["action_date"]),
            Decimal(r["federal_action_obligation"]), r["awarding_agency_name"], r["awarding_sub_agency_name"],
            r["recipient_name"], r["recipient_uei"], r["naics_code"], r["type_of_set_aside"], r["extent_competed"],
            r["number_of_offers_received"],
        )
        for r in read("Contracts_PrimeTransactions.csv")
        if r["award_or_idv_flag"] == "AWARD"
    ]  # fmt: skip
    return summaries + actions


@cache
def awards() -> list[Award]:
    return [
        Award(
            r["contract_award_unique_key"], r["award_id_piid"], r["awarding_agency_name"],
            r["awarding_sub_agency_name"], r["recipient_name"], r["recipient_uei"], r["naics_code"],
            Decimal(r["total_obligated_amount"]).quantize(Decimal("0.01"), ROUND_HALF_UP),
            date.fromisoformat(r["award_latest_action_date"]),
            date.fromisoformat(r["period_of_performance_start_date"]),
            day(r["period_of_performance_current_end_date"]), day(r["period_of_performance_potential_end_date"]),
            r["extent_competed"], r["award_type"], r["type_of_set_aside"],
        )
        for r in read("Contracts_PrimeAwardSummaries.csv")
    ]  # fmt: skip


def within(agency: str | None, naics: str | None) -> Callable[[Money | Award], bool]:
    return lambda row: (
        (agency is None or agency.upper() in (row.agency.upper(), row.office.upper()))
        and (naics is None or row.naics == naics)
    )


def market(agency: str | None, naics: str | None, since: date) -> list[Money]:
    inside = within(agency, naics)
    return [m for m in money() if inside(m) and since <= m.day <= TODAY]


def summed(rows: Iterable[Money], by: Callable[[Money], str]) -> dict[str, Decimal]:
    sums: defaultdict[str, Decimal] = defaultdict(Decimal)
    for row in rows:
        sums[by(row)] += row.amount
    return dict(sums)


def percent(part: Decimal, whole: Decimal) -> Decimal:
    return (100 * part / whole).quantize(Decimal("0.1"), ROUND_HALF_UP)


@pytest.fixture
async def ask(market_database: Database) -> Any:
    """`await ask("market.competitors", agency=…)` gives the rows as the worker's role reads them."""
    built = registry.load()
    connection = await asyncpg.connect(market_database.worker_url)

    async def run(name: str, tenant: object = TENANT, **values: object) -> list[Row]:
        intent = built.by_name[name]
        statement = compile(intent.sql)  # without the row cap: all that there is is counted
        bound = {p.name: p.default for p in intent.params} | values | {"tenant_id": tenant, "as_of": TODAY}
        async with connection.transaction(readonly=True, isolation="repeatable_read"):
            await connection.fetchval("SELECT set_config('app.tenant_id', $1, true)", str(tenant))
            rows = await connection.fetch(statement.text, *(bound[p] for p in statement.parameters))
        assert [c.name for c in intent.columns] == list(rows[0].keys()) if rows else True
        return [dict(row) for row in rows]

    yield run
    await connection.close()


async def test_the_competitors_of_a_market_and_their_shares(ask: Any) -> None:
    for agency, naics in MARKETS:
        sums = summed(market(agency, naics, months_before(36)), lambda m: m.uei or m.vendor)
        held = {vendor: amount for vendor, amount in sums.items() if amount > 0}
        whole = sum(held.values(), Decimal())
        got = await ask("market.competitors", agency=agency, naics=naics)
        assert {r["uei"] or r["vendor"]: (r["obligated"], r["share"]) for r in got} == {
            vendor: (amount, percent(amount, whole)) for vendor, amount in held.items()
        }, (agency, naics)
        assert [r["obligated"] for r in got] == sorted(held.values(), reverse=True)
        assert sum(r["awards"] for r in got) == len(
            {m.award for m in market(agency, naics, months_before(36)) if (m.uei or m.vendor) in held}
        )


async def test_another_window_is_another_market(ask: Any) -> None:
    for months in (1, 12, 24, 120):
        got = await ask("market.competitors", agency=DOD, naics="541512", window_months=months)
        expected = summed(market(DOD, "541512", months_before(months)), lambda m: m.uei)
        assert sum(r["obligated"] for r in got) == sum(v for v in expected.values() if v > 0)


async def test_concentration_is_that_of_the_same_shares(ask: Any) -> None:
    for agency, naics in MARKETS:
        sums = summed(market(agency, naics, months_before(36)), lambda m: m.uei or m.vendor)
        held = sorted((amount for amount in sums.values() if amount > 0), reverse=True)
        got = await ask("market.concentration", agency=agency, naics=naics)
        if not held:
            assert got == []
            continue
        whole = sum(held)
        hhi = sum((100 * amount / whole) ** 2 for amount in held).quantize(Decimal(1), ROUND_HALF_UP)
        assert (got[0]["hhi"], got[0]["vendors"], got[0]["obligated"]) == (hhi, len(held), whole)
        for column, count in (("top_share", 1), ("top_three_share", 3), ("top_ten_share", 10)):
            assert got[0][column] == percent(sum(held[:count], Decimal()), whole)
        band = "highly" if hhi > 1800 else "moderately" if hhi >= 1000 else "un"
        assert got[0]["band"].startswith(band)


async def test_fiscal_years_start_in_october_and_the_first_one_is_whole(ask: Any) -> None:
    got = await ask("market.spend_trend", agency=NAVY, naics="541512")
    rows = market(NAVY, "541512", date(2021, 10, 1))  # 60 months before December 2026 lie in fiscal year 2022
    expected = summed(rows, lambda m: f"FY{m.day.year + (m.day.month >= 10)}")
    assert {r["fiscal_year"]: r["obligated"] for r in got} == expected
    assert [r["fiscal_year"] for r in got] == sorted(expected)
    for before, row in pairwise(got):
        assert row["change"] == percent(row["obligated"] - before["obligated"], before["obligated"])
    assert all(r["status"] == "complete" for r in got if r["fiscal_year"] < "FY2027")


async def test_the_set_aside_mix_is_the_whole_market(ask: Any) -> None:
    for agency, naics in MARKETS:
        rows = market(agency, naics, months_before(36))
        got = {r["set_aside"]: r for r in await ask("market.set_asides", agency=agency, naics=naics)}
        assert sum((r["obligated"] for r in got.values()), Decimal()) == sum((m.amount for m in rows), Decimal())
        by_words = summed(rows, lambda m: m.set_aside)
        for words, shown in [
            ("SMALL BUSINESS SET ASIDE - TOTAL", "Total small business"),
            ("8(A) SOLE SOURCE", "8(a) sole source"),
            ("NO SET ASIDE USED.", "No set aside"),
            ("", "Not reported"),
        ]:
            assert (got[shown]["obligated"] if shown in got else 0) == by_words.get(words, 0), (agency, naics, words)


async def test_competition_counts_awards_offers_and_money(ask: Any) -> None:
    got = {r["extent"]: r for r in await ask("market.competition", agency=DOD, naics="541512")}
    rows = market(DOD, "541512", months_before(36))
    for words, shown in [
        ("FULL AND OPEN COMPETITION", "Full and open competition"),
        ("NOT COMPETED", "Not competed"),
        ("COMPETED UNDER SAP", "Competed under simplified acquisition"),
    ]:
        part = [m for m in rows if m.extent == words]
        offers = [int(m.offers) for m in part if m.offers]
        assert got[shown]["obligated"] == sum(m.amount for m in part)
        assert got[shown]["awards"] == len({m.award for m in part})
        assert got[shown]["single_offer"] == offers.count(1)
        assert got[shown]["several_offers"] == len(offers) - offers.count(1) - offers.count(0)


async def test_agencies_that_buy_most_under_a_code(ask: Any) -> None:
    got = await ask("market.agency_leaders", naics="541512")
    rows = market(None, "541512", months_before(36))
    sums = {office: amount for office, amount in summed(rows, lambda m: m.office).items() if amount > 0}
    assert {r["agency"]: r["obligated"] for r in got} == sums
    for row in got:
        vendors = summed((m for m in rows if m.office == row["agency"]), lambda m: m.uei)
        assert row["leader_obligated"] == max(vendors.values())
        assert vendors[row["leader_uei"]] == row["leader_obligated"]
        assert row["vendors"] == len(vendors)


async def test_recompetes_are_the_awards_whose_ends_lie_in_the_window(ask: Any) -> None:
    for agency, naics, months in [(NAVY, "541512", 18), (DOD, None, 6), (None, "541519", 60)]:
        last = months_before(-months)
        inside = within(agency, naics)
        due = {
            (a.piid, a.uei): min(d for d in (a.current, a.potential) if d and TODAY <= d <= last)
            for a in awards()
            if inside(a) and any(d and TODAY <= d <= last for d in (a.current, a.potential))
        }
        got = await ask("market.recompetes", agency=agency, naics=naics, window_months=months)
        contracts = [r for r in got if r["kind"] == "contract"]
        assert {(r["award"], r["uei"]): r["ends_on"] for r in contracts} == due
        assert [r["ends_on"] for r in got] == sorted(r["ends_on"] for r in got)
        for row in contracts:
            assert (row["ends"] == "option") == (max(row["current_end"], row["potential_end"]) > row["ends_on"])


async def test_vehicles_stand_in_lists_marked_and_never_in_sums(ask: Any) -> None:
    vehicles = [
        r
        for r in read("Contracts_PrimeTransactions.csv")
        if r["award_or_idv_flag"] == "IDV" and r["awarding_agency_name"] == "Department of Homeland Security"
    ]
    ends = {r["award_id_piid"]: r["ordering_period_end_date"] for r in vehicles}
    listed = await ask("market.incumbents", agency="Department of Homeland Security")
    assert {r["award"] for r in listed if r["kind"] == "vehicle"} <= {
        p for p, end in ends.items() if end >= "2026-12-01"
    }
    assert any(r["kind"] == "vehicle" for r in listed)
    spent = await ask("market.set_asides", agency="Department of Homeland Security", window_months=120)
    rows = market("Department of Homeland Security", None, months_before(120))
    assert sum((r["obligated"] for r in spent), Decimal()) == sum((m.amount for m in rows), Decimal())


async def test_incumbents_are_performing_today(ask: Any) -> None:
    got = await ask("market.incumbents", agency=NAVY, naics=None)
    active = {(a.piid, a.uei, a.total) for a in awards() if within(NAVY, None)(a) and a.current and a.current >= TODAY}
    assert {(r["award"], r["uei"], r["obligated"]) for r in got if r["kind"] == "contract"} == active


async def test_sole_source_awards_are_the_ones_that_were_not_competed(ask: Any) -> None:
    got = await ask("market.sole_source", agency="Defense Information Systems Agency", naics="541512", window_months=24)
    inside = within("Defense Information Systems Agency", "541512")
    expected = {
        (a.piid, a.uei, a.total)
        for a in awards()
        if inside(a) and a.latest >= months_before(24) and a.extent.startswith("NOT ")
    }
    assert {(r["award"], r["uei"], r["obligated"]) for r in got} == expected
    assert expected


async def test_new_entrants_had_no_award_before_the_window(ask: Any) -> None:
    got = await ask(
        "market.new_entrants", agency="Defense Information Systems Agency", naics="541512", window_months=36
    )
    inside = within("Defense Information Systems Agency", "541512")
    first: dict[str, date] = {}
    for a in filter(inside, awards()):
        first[a.uei] = min(first.get(a.uei, date.max), a.start, a.latest)
    expected = {uei: began for uei, began in first.items() if months_before(36) <= began <= TODAY}
    assert {r["uei"]: r["first_award"] for r in got} == expected
    assert expected


async def test_money_taken_back_is_the_sum_of_the_actions_below_zero(ask: Any) -> None:
    for agency, naics, months in [
        (None, "541715", 120),
        (DOD, None, 120),
        ("General Services Administration", None, 36),
    ]:
        taken: defaultdict[str, Decimal] = defaultdict(Decimal)
        for r in read("Contracts_PrimeTransactions.csv"):
            amount = Decimal(r["federal_action_obligation"])
            same_agency = agency in (None, r["awarding_agency_name"], r["awarding_sub_agency_name"])
            if (
                amount < 0
                and same_agency
                and naics in (None, r["naics_code"])
                and (months_before(months) <= date.fromisoformat(r["action_date"]) <= TODAY)
            ):
                taken[r["recipient_uei"]] -= amount
        got = await ask("market.deobligations", agency=agency, naics=naics, window_months=months)
        assert {r["uei"]: r["taken_back"] for r in got} == dict(taken), (agency, naics)


async def test_how_long_contracts_run(ask: Any) -> None:
    got = {r["award_type"]: r for r in await ask("market.duration", agency=NAVY, naics="541512")}
    for award_type in ("DELIVERY ORDER", "DEFINITIVE CONTRACT"):
        lengths = sorted(
            (Decimal((end - a.start).days) / Decimal("30.4375")).quantize(Decimal(1), ROUND_HALF_UP)
            for a in awards()
            if within(NAVY, "541512")(a)
            and a.award_type == award_type
            and (end := a.potential or a.current)
            and end > a.start
        )
        row = got[award_type.lower()]
        assert (row["contracts"], row["median_months"]) == (len(lengths), lengths[(len(lengths) - 1) // 2])


async def test_what_one_vendor_won_and_from_whom(ask: Any) -> None:
    uei = "UE9QJD4KK1L6"
    rows = [m for m in market(None, None, months_before(24)) if m.uei == uei]
    (profile,) = await ask("market.vendor_profile", uei=uei, window_months=24)
    assert (profile["obligated"], profile["awards"]) == (sum(m.amount for m in rows), len({m.award for m in rows}))
    sums = summed(rows, lambda m: m.office)
    assert profile["agencies"] == sorted(sums, key=lambda office: -sums[office])[:5]
    agencies = await ask("market.vendor_agencies", uei=uei, window_months=24)
    assert {r["agency"]: r["obligated"] for r in agencies} == sums
    assert await ask("market.vendor_profile", uei="XK11LLUL61A8", window_months=24) == []


async def test_who_subs_to_whom(ask: Any) -> None:
    rows = read("Contracts_Subawards.csv")
    got = await ask("market.subawards", agency="Department of the Army")
    expected: defaultdict[tuple[str, str], Decimal] = defaultdict(Decimal)
    for r in rows:
        if r["prime_award_awarding_sub_agency_name"] == "DEPT OF THE ARMY":
            expected[r["prime_awardee_uei"], r["subawardee_uei"]] += Decimal(r["subaward_amount"])
    assert {(r["prime_uei"], r["sub_uei"]): r["amount"] for r in got} == dict(expected)
    sub = rows[0]["subawardee_uei"]
    assert {r["sub_uei"] for r in await ask("market.subawards", uei=sub)} >= {sub}


async def test_an_opportunity_names_its_incumbent_where_an_award_carries_its_number(ask: Any) -> None:
    notices = {r["NoticeId"]: r for r in read("ContractOpportunitiesFullCSV.csv")}
    numbers: defaultdict[str, set[str]] = defaultdict(set)
    for r in read("Contracts_PrimeTransactions.csv"):
        if r["solicitation_identifier"]:
            numbers[r["solicitation_identifier"].replace("-", "")].add(r["award_id_piid"])
    found = 0
    for notice, r in notices.items():
        expected = numbers.get(r["Sol#"].replace("-", "").replace(" ", ""), {None})
        found += expected != {None}
        if expected != {None} or found == 0:
            got = await ask("market.opportunity", opportunity=notice)
            assert {row["award"] for row in got} == expected, notice
    assert found == 4


async def test_every_intent_reads_alike_for_a_tenant_without_rows(ask: Any) -> None:
    own = await ask("market.competitors", agency=NAVY, naics="541512")
    other = await ask("market.competitors", agency=NAVY, naics="541512", tenant=OTHER_TENANT)
    assert own == other


@pytest.mark.skipif(not (SHARED / "data").is_dir(), reason="the shared files are not there")
def test_the_hand_count_stands_on_files_without_a_common_award() -> None:
    keys = {r["contract_award_unique_key"] for r in read("Contracts_PrimeTransactions.csv")}
    assert not keys & {a.key for a in awards()}
    assert Path(SHARED).is_dir()
