"""Sample data for demo and dev: an invented contractor, its staff, partners and documents, and an invented market.

Agencies, NAICS codes and set asides are real names; vendors, awards, notices and people are made up. Everything is
laid around a given day and is the same whenever that day is: awards that end in 18 months do so next year too. The
files have the layout of the official downloads and go through the same loaders as a user's.
"""

import csv
import random
import tempfile
import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

from consumer.bench.publish import Rule
from consumer.errors import PlannerError
from consumer.settings import Settings
from consumer.store.load import load as load_files
from schemas.answer import Route, Status

SEED = 541_512
TENANT = uuid.UUID("5d0c9a34-7be1-4f26-8a17-c3e9d2b4f608")
OPPORTUNITY = uuid.UUID("a94e1c70-3d52-4b8f-9c06-71fe8d25b3aa")
SCOPES = ("market:read", "graph:read", "bench:read", "docs:read")
AWARDS, STAFF, SUBAWARDS = 360, 320, 40

NAVY, VETERANS, HOMELAND = "Department of the Navy", "Department of Veterans Affairs", "Department of Homeland Security"
AGENCIES = ((NAVY, "Department of Defense"), (VETERANS, VETERANS), (HOMELAND, HOMELAND))
NAICS = {
    "541512": "Computer Systems Design Services",
    "541519": "Other Computer Related Services",
    "541611": "Administrative Management and General Management Consulting Services",
}
SET_ASIDES = (
    ("NONE", "NO SET ASIDE USED."),
    ("SBA", "SMALL BUSINESS SET ASIDE - TOTAL"),
    ("8A", "8A COMPETED"),
    ("SDVOSBC", "SERVICE DISABLED VETERAN OWNED SMALL BUSINESS SET-ASIDE"),
    ("WOSB", "WOMEN OWNED SMALL BUSINESS"),
)
WORK = (
    "Service desk and desktop support",
    "Data platform modernization",
    "Cloud migration of logistics applications",
    "Network operations and sustainment",
    "Security operations center staffing",
)
SKILLS = ("cloud migration", "data engineering", "devsecops", "incident response", "itil", "kubernetes", "zero trust")
CATEGORIES = ("Cyber Analyst", "Data Scientist", "Network Engineer", "Software Engineer", "Systems Engineer")


class Vendor(NamedTuple):
    uei: str
    name: str
    weight: int
    """How often it wins."""


VENDORS = (
    Vendor("QHVNLK4TWJ71", "QUILLHAVEN SYSTEMS LLC", 24),
    Vendor("ZD7RMXK2PSN4", "OSTRELLE DATA WORKS INC", 18),
    Vendor("MWKF9LQ3HTB7", "MARROWICK FEDERAL LLC", 13),
    Vendor("BSPN6GXR4KD1", "BRIGHTSPAR NETWORKS INC", 11),
    Vendor("VTCY8JLM5WQ6", "VELTRANE CYBER LLC", 9),
    Vendor("CRVN3TKH9PX9", "CORVANE TECHNOLOGIES INC", 8),
    Vendor("DFSL5NWQ7MG9", "DUSKFIELD SOLUTIONS LLC", 6),
    Vendor("PLWT4EKR8ZN5", "PALEWATER ENGINEERING INC", 5),
    Vendor("HRWD9CLS6BJ7", "HOLLOWREED CONSULTING LLC", 4),
    Vendor("TBRG7ALY3XK3", "TAMSIN BRIDGE ANALYTICS LLC", 2),
)


class Sample(NamedTuple):
    """A question of the demo, what it shows, and how it must end."""

    shows: str
    text: str
    route: Route
    status: Status = Status.ANSWERED


QUESTIONS = (
    Sample("one intent", f'Who competes for 541512 at "{NAVY}"?', Route.INTENT),
    Sample(
        "a plan over two planes",
        f'What is up for recompete in 541512 at "{NAVY}" in 18 months, and how many TS/SCI people do we have?',
        Route.PLAN,
    ),
    Sample(
        "a plan over three planes",
        f"What are the requirements of opportunity {OPPORTUNITY}, who competes for 541512 at "
        f'"{NAVY}", and do we have TS/SCI people for it?',
        Route.PLAN,
    ),
    Sample("a count too small to show", "How many cyber analysts hold TS/SCI?", Route.INTENT),
    Sample("documents", "What does our transition plan say about the service desk?", Route.RAG),
    Sample("a refusal", "How many of our cleared people are women over fifty?", Route.REFUSED, Status.REFUSED),
)

DOCUMENTS = {
    "transition-plan.md": """# Transition plan for network and service desk work

The incoming team shadows the outgoing team for thirty days. In the first ten days it takes over monitoring, in the next
ten the service desk, in the last ten the change board.

## Service desk

Every agent of the service desk completes the knowledge transfer before the first shift. Open tickets are handed over by
priority, oldest first, and the phone number does not change. A fallback to the outgoing team stays open for two weeks.

## Risks

Badge requests take longest. They are filed on the day of award.
""",
    "past-performance.md": """# Past performance in data platforms

For a logistics customer the team moved 140 applications to a managed cloud in eleven months with no outage in working
hours. The work covered data engineering, access control under zero trust rules, and the retirement of two data centers.

The customer rated schedule and quality as very good and renewed the task order.
""",
}


class Files(NamedTuple):
    """A kind of `planner load`, its file or folder, and whether the rows are the tenant's own."""

    kind: str
    path: Path
    private: bool


def write(folder: Path, today: date) -> list[Files]:
    """Writes all sample files into `folder`, in the order in which they load."""
    rng = random.Random(SEED)
    awards = list(_awards(rng, today))
    tables: dict[str, tuple[list[dict[str, object]], bool]] = {
        "awards": (awards, False),
        "subawards": (list(_subawards(rng, awards)), False),
        "opportunities": (list(_opportunities(today)), False),
        "requirements": (list(_requirements(rng)), True),
        "partners": (list(_partners(rng)), True),
        "bench": (list(_bench(rng, today)), True),
    }
    made = [Files(kind, _write(folder / f"{kind}.csv", rows), private) for kind, (rows, private) in tables.items()]
    documents = folder / "documents"
    documents.mkdir(exist_ok=True)
    for name, text in DOCUMENTS.items():
        (documents / name).write_text(text, encoding="utf-8")
    return [*made, Files("documents", documents, True)]


async def load(settings: Settings) -> None:
    """Loads the sample data laid around today; loading it again on the same day changes nothing."""
    rule = Rule(k=settings.bench_k, round=settings.bench_round)
    with tempfile.TemporaryDirectory(prefix="planner-sample-") as folder:
        for files in write(Path(folder), datetime.now(UTC).date()):
            tenant = TENANT if files.private else None
            report = await load_files(files.kind, [files.path], settings.admin_database_url, tenant, rule=rule)
            if report.total.rejected:
                raise PlannerError(f"sample {files.kind}: {report.total.rejected} rows were rejected")


def _write(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def _awards(rng: random.Random, today: date) -> Iterator[dict[str, object]]:
    for number in range(AWARDS):
        yield from _actions(rng, today, number)


def _actions(rng: random.Random, today: date, number: int) -> Iterator[dict[str, object]]:
    """One award as its actions: the base, then a modification a year that adds money or takes some back."""
    piid = f"SAMPLE{number:06d}"
    start = today - timedelta(days=rng.randrange(30, 1_600))
    current = start + timedelta(days=365 * rng.randrange(1, 6))
    ceiling = Decimal(rng.randrange(400_000, 48_000_000))
    award = {
        "contract_award_unique_key": f"CONT_AWD_{piid}_SAMPLE",
        "award_id_piid": piid,
        "potential_total_value_of_award": ceiling,
        "period_of_performance_start_date": start,
        "period_of_performance_current_end_date": current,
        "period_of_performance_potential_end_date": current + timedelta(days=365 * rng.choice((0, 0, 1, 2))),
        **_market(rng),
    }
    for modification, day in enumerate(range(0, (today - start).days, 365)):
        taken_back = modification > 0 and rng.random() < 0.15
        money = (ceiling * rng.randrange(5, 20) / 100).quantize(Decimal("0.01"))
        yield {
            "contract_transaction_unique_key": f"SAMPLE_{piid}_{modification}",
            **award,
            "modification_number": f"P{modification:05d}" if modification else "0",
            "action_date": start + timedelta(days=day),
            "federal_action_obligation": -money if taken_back else money,
            "action_type": "FUNDING ONLY ACTION" if modification else "",
        }


def _market(rng: random.Random) -> dict[str, object]:
    """Who buys, who sells, and how it was competed."""
    vendor = rng.choices(VENDORS, [v.weight for v in VENDORS])[0]
    agency, parent = rng.choice(AGENCIES)
    naics = rng.choices(tuple(NAICS), (5, 3, 2))[0]
    code, set_aside = rng.choice(SET_ASIDES)
    sole = rng.random() < 0.15
    return {
        "awarding_agency_name": parent,
        "awarding_sub_agency_name": agency,
        "recipient_uei": vendor.uei,
        "recipient_name": vendor.name,
        "recipient_parent_uei": vendor.uei,
        "recipient_parent_name": vendor.name,
        "award_type": "DELIVERY ORDER",
        "transaction_description": rng.choice(WORK).upper(),
        "naics_code": naics,
        "naics_description": NAICS[naics].upper(),
        "product_or_service_code": "DA01",
        "extent_competed_code": "C" if sole else "A",
        "extent_competed": "NOT COMPETED" if sole else "FULL AND OPEN COMPETITION",
        "type_of_set_aside_code": code,
        "type_of_set_aside": set_aside,
        "number_of_offers_received": 1 if sole else rng.randrange(1, 9),
    }


def _subawards(rng: random.Random, awards: Sequence[dict[str, object]]) -> Iterator[dict[str, object]]:
    for number, prime in enumerate(rng.sample(awards, SUBAWARDS)):
        sub = rng.choice([v for v in VENDORS if v.uei != prime["recipient_uei"]])
        yield {
            "prime_award_unique_key": prime["contract_award_unique_key"],
            "prime_award_piid": prime["award_id_piid"],
            "prime_award_awarding_agency_name": prime["awarding_agency_name"],
            "prime_award_awarding_sub_agency_name": prime["awarding_sub_agency_name"],
            "prime_awardee_uei": prime["recipient_uei"],
            "prime_awardee_name": prime["recipient_name"],
            "prime_award_naics_code": prime["naics_code"],
            "subaward_type": "sub-contract",
            "subaward_number": f"S{number:05d}",
            "subaward_sam_report_id": f"SAMPLE{number:05d}",
            "subaward_amount": rng.randrange(20_000, 900_000),
            "subaward_action_date": prime["period_of_performance_start_date"],
            "subawardee_uei": sub.uei,
            "subawardee_name": sub.name,
            "subaward_description": rng.choice(WORK),
        }


def _opportunities(today: date) -> Iterator[dict[str, object]]:
    notices = (OPPORTUNITY, *(uuid.uuid5(OPPORTUNITY, work) for work in WORK[1:]))
    for number, (notice, work) in enumerate(zip(notices, WORK, strict=True)):
        agency, parent = AGENCIES[number % len(AGENCIES)]
        code, set_aside = SET_ASIDES[number]
        yield {
            "NoticeId": notice.hex,
            "Title": work,
            "Sol#": f"SAMPLE-26-R-{number:04d}",
            "Department/Ind.Agency": parent,
            "Sub-Tier": agency,
            "Office": "Sample contracting office",
            "PostedDate": today - timedelta(days=7 + number),
            "Type": "Solicitation",
            "SetASideCode": "" if code == "NONE" else code,
            "SetASide": "" if code == "NONE" else set_aside,
            "ResponseDeadLine": f"{today + timedelta(days=30 + 5 * number)}T17:00:00-05:00",
            "NaicsCode": tuple(NAICS)[number % len(NAICS)],
            "Active": "Yes",
            "Description": work,
        }


def _requirements(rng: random.Random) -> Iterator[dict[str, object]]:
    tasks = {
        "Operate the service desk": ("", ("Answer calls day and night", "Keep the knowledge base")),
        "Secure the enclave": ("TS_SCI", ("Monitor and respond to incidents", "Assess new software")),
        "Sustain the network": ("SECRET", ("Replace aging switches",)),
    }
    for title, (clearance, below) in tasks.items():
        top = uuid.uuid5(OPPORTUNITY, title)
        yield _requirement(rng, top, "", title, clearance)
        for child in below:
            yield _requirement(rng, uuid.uuid5(top, child), top, child, clearance)


def _requirement(rng: random.Random, key: uuid.UUID, parent: object, title: str, clearance: str) -> dict[str, object]:
    return {
        "requirement_id": key,
        "opportunity_id": OPPORTUNITY,
        "parent_id": parent,
        "title": title,
        "clearance": clearance,
        "skills": _joined(rng.sample(SKILLS, 2)),
        "headcount": rng.randrange(2, 9),
    }


def _partners(rng: random.Random) -> Iterator[dict[str, object]]:
    for vendor in VENDORS[4:]:
        yield {
            "uei": vendor.uei,
            "name": vendor.name,
            "capabilities": _joined(rng.sample(SKILLS, 3)),
            "set_asides": rng.choice(("SDVOSB", "8(a)", "WOSB", "HUBZone")),
        }


def _bench(rng: random.Random, today: date) -> Iterator[dict[str, object]]:
    for number in range(STAFF):
        clearance = rng.choices(("NONE", "PUBLIC_TRUST", "SECRET", "TS", "TS_SCI"), (20, 15, 30, 15, 20))[0]
        held = rng.sample(("SI", "TK"), rng.choice((0, 1, 1, 2))) if clearance == "TS_SCI" else []
        yield {
            "person_ref": f"SAMPLE-{number:04d}",
            "labor_category": rng.choice(CATEGORIES),
            "clearance": clearance,
            "compartments": _joined(held),
            "skills": _joined(rng.sample(SKILLS, 2)),
            "available_from": (today + timedelta(days=30 * rng.randrange(0, 18))).replace(day=1),
        }


def _joined(values: Iterable[str]) -> str:
    return ";".join(sorted(values))
