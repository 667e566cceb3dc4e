"""KIND `subawards`: USAspending subaward downloads, what primes report of their first tier."""

from consumer.store.load.csvkind import CsvLoader
from consumer.store.load.kind import Tenancy
from consumer.store.load.layout import Field, Layout, Table
from consumer.store.load.names import agency
from consumer.store.load.values import day, key, money, naics, name, text, uei

LAYOUT = Layout(
    name="subawards",
    table=Table(
        name="market.subaward",
        key=("prime_award_key", "subaward_number", "report_id", "action_date", "sub_vendor"),
        sparse=True,
    ),
    fields=(
        Field("prime_award_key", ("prime_award_unique_key",), key, required=True),
        Field("subaward_number", ("subaward_number",), key, required=True),
        Field("report_id", ("subaward_sam_report_id",), lambda cell: key(cell) or "none"),
        Field("action_date", ("subaward_action_date",), day, required=True, memo=True),
        Field("amount", ("subaward_amount",), money, required=True),
        Field("prime_piid", ("prime_award_piid",), key),
        Field("agency", ("prime_award_awarding_agency_name",), agency, memo=True),
        Field("subagency", ("prime_award_awarding_sub_agency_name",), agency, memo=True),
        Field("prime_vendor", ("prime_awardee_name",), name, memo=True),
        Field("prime_uei", ("prime_awardee_uei",), uei, memo=True),
        Field("naics", ("prime_award_naics_code",), naics, memo=True),
        Field("sub_vendor", ("subawardee_name",), name, required=True, memo=True),
        Field("sub_uei", ("subawardee_uei",), uei, memo=True),
        Field("sub_parent", ("subawardee_parent_name",), name, memo=True),
        Field("description", ("subaward_description",), text),
    ),
    needs=(
        "prime_award_unique_key",
        "subaward_number",
        "subaward_sam_report_id",
        "subaward_amount",
        "subaward_action_date",
        "subawardee_name",
        "prime_awardee_name",
    ),
)

LOADER = CsvLoader(kind="subawards", tenancy=Tenancy.PUBLIC, layouts=(LAYOUT,), tables=("market.subaward",))
