"""KIND `awards`: USAspending prime award downloads, as actions (PrimeTransactions) or summaries (PrimeAwardSummaries).

What each means for sums is told at the head of migrations/0002_market.sql.
"""

from consumer.store.load.csvkind import CsvLoader
from consumer.store.load.kind import Tenancy
from consumer.store.load.layout import Field, Layout, Table
from consumer.store.load.names import agency, extent, set_aside, size
from consumer.store.load.values import count, day, key, money, naics, name, text, uei

SHARED = (
    Field("award_key", ("contract_award_unique_key",), key, required=True),
    Field("piid", ("award_id_piid",), key),
    Field("parent_piid", ("parent_award_id_piid",), key, memo=True),
    Field("award_type", ("award_type", "idv_type"), name, memo=True),
    Field("agency", ("awarding_agency_name",), agency, memo=True),
    Field("subagency", ("awarding_sub_agency_name",), agency, memo=True),
    Field("office", ("awarding_office_name",), name, memo=True),
    Field("vendor", ("recipient_name", "recipient_name_raw"), name, memo=True),
    Field("uei", ("recipient_uei",), uei, memo=True),
    Field("parent_uei", ("recipient_parent_uei",), uei, memo=True),
    Field("parent_vendor", ("recipient_parent_name", "recipient_parent_name_raw"), name, memo=True),
    Field("naics", ("naics_code",), naics, memo=True),
    Field("psc", ("product_or_service_code",), key, memo=True),
    Field("pricing", ("type_of_contract_pricing",), name, memo=True),
    Field("set_aside", ("type_of_set_aside_code", "type_of_set_aside"), set_aside, memo=True),
    Field("extent_competed", ("extent_competed_code", "extent_competed"), extent, memo=True),
    Field("offers", ("number_of_offers_received",), count, memo=True),
    Field(
        "business_size",
        (
            "contracting_officers_determination_of_business_size_code",
            "contracting_officers_determination_of_business_size",
        ),
        size,
        memo=True,
    ),
    Field(
        "state",
        ("primary_place_of_performance_state_code", "primary_place_of_performance_state_name"),
        name,
        memo=True,
    ),
    Field("solicitation", ("solicitation_identifier",), key, memo=True),
    Field("potential_value", ("potential_total_value_of_award",), money),
    Field("start_date", ("period_of_performance_start_date",), day, memo=True),
    # A vehicle has no period of performance of its own; what ends is its ordering period.
    Field("current_end", ("period_of_performance_current_end_date", "ordering_period_end_date"), day, memo=True),
    Field("potential_end", ("period_of_performance_potential_end_date",), day, memo=True),
)

ACTIONS = Layout(
    name="award transactions",
    table=Table(name="market.action", key=("transaction_key",), version="modified_date", sparse=True),
    fields=(
        Field("transaction_key", ("contract_transaction_unique_key",), key, required=True),
        *SHARED,
        Field("modification", ("modification_number",), key, memo=True),
        Field("transaction_number", ("transaction_number",), key, memo=True),
        Field("action_date", ("action_date",), day, required=True, memo=True),
        Field("action_type", ("action_type",), name, memo=True),
        Field("obligated", ("federal_action_obligation",), money, required=True),
        Field("total_obligated", ("total_dollars_obligated",), money),
        Field("description", ("transaction_description",), text),
        Field("modified_date", ("last_modified_date",), day, memo=True),
    ),
    needs=(
        "contract_transaction_unique_key",
        "contract_award_unique_key",
        "action_date",
        "federal_action_obligation",
        "awarding_agency_name",
        "recipient_name",
        "naics_code",
    ),
    after=("roll_up",),
)

SUMMARIES = Layout(
    name="award summaries",
    table=Table(name="market.award", key=("award_key",), version="summary_date", sparse=True),
    fields=(
        *SHARED,
        Field("obligated", ("total_obligated_amount",), money, required=True),
        Field("base_date", ("award_base_action_date",), day, memo=True),
        Field("summary_date", ("award_latest_action_date",), day, required=True, memo=True),
        Field("description", ("prime_award_base_transaction_description",), text),
    ),
    needs=(
        "contract_award_unique_key",
        "total_obligated_amount",
        "award_latest_action_date",
        "awarding_agency_name",
        "recipient_name",
        "naics_code",
    ),
    after=("explain",),
)

LOADER = CsvLoader(
    kind="awards",
    tenancy=Tenancy.EITHER,
    layouts=(ACTIONS, SUMMARIES),
    tables=("market.award", "market.action", "market.month"),
)
