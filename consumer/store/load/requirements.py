"""KIND `requirements`: what a tenant reads out of a solicitation, as a tree."""

import re

from consumer.store.load.csvkind import CsvLoader
from consumer.store.load.kind import Tenancy
from consumer.store.load.layout import Field, Layout, Table
from consumer.store.load.values import count, name, uuid, words

_CLEARANCES = {
    "": None,
    "NONE": "NONE",
    "PUBLIC_TRUST": "PUBLIC_TRUST",
    "CONFIDENTIAL": "CONFIDENTIAL",
    "SECRET": "SECRET",
    "S": "SECRET",
    "TS": "TS",
    "TOP_SECRET": "TS",
    "TS_SCI": "TS_SCI",
    "TOP_SECRET_SCI": "TS_SCI",
    "DOE_L": "DOE_L",
    "DOE_Q": "DOE_Q",
}


def clearance(cell: str) -> str | None:
    """A level by its code or its usual spellings: `TS/SCI` is `TS_SCI`."""
    folded = re.sub(r"[^A-Z]+", "_", cell.strip().upper()).strip("_")
    if folded not in _CLEARANCES:
        raise ValueError(f"{cell.strip()} is no clearance; known are {', '.join(sorted(set(_CLEARANCES) - {''}))}")
    return _CLEARANCES[folded]


LAYOUT = Layout(
    name="requirements",
    table=Table(name="graph.requirement", key=("requirement_id",)),
    fields=(
        Field("requirement_id", ("requirement_id",), uuid, required=True),
        Field("opportunity_id", ("opportunity_id",), uuid, required=True),
        Field("parent_id", ("parent_id",), uuid),
        Field("title", ("title",), name, required=True),
        Field("clearance", ("clearance",), clearance, memo=True),
        Field("skills", ("skills",), words),
        Field("headcount", ("headcount",), count, memo=True),
    ),
    needs=("requirement_id", "opportunity_id", "parent_id", "title", "clearance", "skills", "headcount"),
)

LOADER = CsvLoader(kind="requirements", tenancy=Tenancy.PRIVATE, layouts=(LAYOUT,), tables=("graph.requirement",))
