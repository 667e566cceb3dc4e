"""KIND `bench`: a tenant's roster. After a load the counts that may be shown are published anew, if they are due."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from uuid import UUID

from consumer.bench.lattice import Vocabulary, lattice
from consumer.bench.publish import Rule
from consumer.bench.snapshot import due, publish_tenant
from consumer.store.load.csvkind import CsvLoader
from consumer.store.load.kind import Connection, Tenancy
from consumer.store.load.layout import Field, Layout, Table
from consumer.store.load.requirements import clearance
from consumer.store.load.values import day, key, name, words

_MARK = re.compile(r"[A-Z0-9]+(?:-[A-Z0-9]+)*")
NOTHING = "{}"


def compartments(cell: str) -> str:
    """Names of SCI compartments split by `;`, `,` or `/`, as a Postgres array in upper case."""
    marks = [mark.strip().upper() for mark in re.split(r"[;,/]", cell) if mark.strip()]
    for mark in marks:
        if not _MARK.fullmatch(mark):
            raise ValueError(f"{mark[:40]} is no compartment; give names such as SI or TK split by semicolons")
    return words(";".join(marks))


def whole(row: Mapping[str, str | None]) -> str | None:
    """A compartment is access to sensitive compartmented information: only TS_SCI has any (ICD 704)."""
    if row["compartments"] != NOTHING and row["clearance"] != "TS_SCI":
        return f"compartments need the clearance TS_SCI; this row has {row['clearance']}"
    return None


LAYOUT = Layout(
    name="bench",
    table=Table(name="bench.person", key=("person_ref",)),
    fields=(
        Field("person_ref", ("person_ref",), key, required=True),
        Field("labor_category", ("labor_category",), name, memo=True),
        Field("clearance", ("clearance",), clearance, required=True, memo=True),
        Field("compartments", ("compartments",), compartments, memo=True),
        Field("skills", ("skills",), words),
        Field("available_from", ("available_from",), day, required=True, memo=True),
    ),
    needs=("person_ref", "labor_category", "clearance", "compartments", "skills", "available_from"),
    check=whole,
)

LOADER = CsvLoader(kind="bench", tenancy=Tenancy.PRIVATE, layouts=(LAYOUT,), tables=("bench.person",))


async def publish_if_due(connection: Connection, tenant: UUID, rule: Rule) -> bool:
    """Publishes the tenant's counts where the load calls for it; whether it did. See `snapshot.due`."""
    if not await due(connection, tenant, rule):
        return False
    await publish_tenant(connection, tenant, lattice(Vocabulary()), rule, datetime.now(UTC).date())
    return True
