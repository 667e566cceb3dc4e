"""What the database of the fixture `market_database` holds: the files of SHARED/data, private ones under TENANT.

The private files reference the public ones: requirements hang on notices, partners are firms of the awards.
"""

from pathlib import Path
from uuid import UUID

from consumer.store.load import load

TENANT = UUID("c0ffee00-4b1d-4a5e-9c3f-0f1e2d3c4b5a")
OTHER_TENANT = UUID("0ddba11e-5e7a-4c0b-8d2f-6a7b8c9d0e1f")
"""A tenant without a row of its own."""

FILES = (
    ("awards", ("Contracts_PrimeAwardSummaries.csv", "Contracts_PrimeTransactions.csv"), None),
    ("subawards", ("Contracts_Subawards.csv",), None),
    ("opportunities", ("ContractOpportunitiesFullCSV.csv",), None),
    ("requirements", ("requirements.csv",), TENANT),
    ("partners", ("partners.csv",), TENANT),
    ("bench", ("bench.csv",), TENANT),
    ("documents", ("rfp_HE125426QE041_pws.txt",), TENANT),
)


async def fill(admin_url: str, folder: Path) -> None:
    """Loads all files through the product's own loaders."""
    for kind, names, tenant in FILES:
        await load(kind, [folder / name for name in names], admin_url, tenant)
