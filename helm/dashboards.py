# ruff: noqa: E501 a panel a line reads best
"""Writes the chart's dashboards: `python helm/dashboards.py`. The JSON is committed; a test holds it to this file.

Every panel has a title, a description, a unit and a job matcher; rates use `$__rate_interval`; the data source is a
variable, so one file serves any Grafana.
"""

from pathlib import Path
from typing import NamedTuple

from grafana_foundation_sdk.builders import common, dashboard, prometheus, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement
from grafana_foundation_sdk.models.dashboard import DataSourceRef, VariableRefresh

FOLDER = Path(__file__).parent / "planner" / "dashboards"
SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
JOB = 'job=~"$job"'


class Chart(NamedTuple):
    """One panel: what it is, its unit, and (legend, expression) of each line."""

    title: str
    description: str
    unit: str
    lines: tuple[tuple[str, str], ...]


def rate(metric: str, by: str = "", match: str = "") -> str:
    labels = f"{JOB},{match}" if match else JOB
    return f"sum {f'by ({by}) ' if by else ''}(rate({metric}{{{labels}}}[$__rate_interval]))"


def quantile(metric: str, q: float, by: str = "") -> str:
    labels = f"le,{by}" if by else "le"
    return f"histogram_quantile({q}, sum by ({labels}) (rate({metric}_bucket{{{JOB}}}[$__rate_interval])))"


def gauge(metric: str, how: str = "sum", by: str = "") -> str:
    return f"{how} {f'by ({by}) ' if by else ''}({metric}{{{JOB}}})"


def percentiles(metric: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"p{int(q * 100)}", quantile(metric, q)) for q in (0.5, 0.95, 0.99))


OVERVIEW = (
    Chart("Questions", "Questions settled a second, by outcome", "ops", (("{{outcome}}", rate("planner_questions_total", "outcome")),)),
    Chart("Time to answer", "From reading a question to its visible answer", "s", percentiles("planner_question_duration_seconds")),
    Chart("Waiting", "Questions not settled, to the last stable offset", "short", (("partition {{partition}}", gauge("planner_consumer_lag_messages", by="partition")),)),
    Chart("Oldest question", "Age of the oldest question that is not settled", "s", (("oldest", gauge("planner_oldest_unsettled_age_seconds", "max")),)),
    Chart("In flight", "Questions being answered now", "short", (("questions", gauge("planner_questions_in_flight")),)),
    Chart("Bytes in flight", "Bytes of questions held in memory", "bytes", (("bytes", gauge("planner_questions_in_flight_bytes")),)),
    Chart("Versions", "Processes by version and Registry", "short", (("{{version}} {{registry_digest}}", gauge("planner_build_info", by="version, registry_digest")),)),
    Chart("Dead letters", "Records that can never be answered, by reason", "ops", (("{{reason}}", rate("planner_dead_letters_total", "reason")),)),
)  # fmt: skip
PLANS = (
    Chart("Routes", "Answers by route and status", "ops", (("{{route}} {{status}}", rate("planner_routes_total", "route, status")),)),
    Chart("Refusals", "Questions refused, by code", "ops", (("{{code}}", rate("planner_refusals_total", "code")),)),
    Chart("Stage funnel", "Questions that left each stage, by how", "ops", (("{{stage}} {{result}}", rate("planner_stage_passes_total", "stage, result")),)),
    Chart("Stage time", "95th percentile of each stage", "s", (("{{stage}}", quantile("planner_stage_duration_seconds", 0.95, "stage")),)),
    Chart("Intents", "Intents run, by result", "ops", (("{{intent}} {{result}}", rate("planner_intent_runs_total", "intent, result")),)),
    Chart("Agreement", "How the samples of plans agreed", "ops", (("{{outcome}}", rate("planner_plan_outcomes_total", "outcome")),)),
    Chart("Plan cache", "Look ups of the plan cache", "ops", (("{{result}}", rate("planner_plan_cache_total", "result")),)),
    Chart("Withheld cells", "Counts of people withheld in answers", "ops", (("{{intent}}", rate("planner_suppressed_cells_total", "intent")),)),
    Chart("Gate", "Verdicts of the faithfulness gate", "ops", (("{{code}}", rate("planner_gate_verdicts_total", "code")),)),
    Chart("Who wrote", "Answers by who wrote their words", "ops", (("{{source}}", rate("planner_rationales_total", "source")),)),
)  # fmt: skip
STREAM = (
    Chart("Transactions", "Kafka transactions, by result", "ops", (("{{result}}", rate("planner_transactions_total", "result")),)),
    Chart("Transaction time", "Time of a Kafka transaction", "s", percentiles("planner_transaction_duration_seconds")),
    Chart("Questions a transaction", "Median of questions that one transaction settles", "short", (("median", quantile("planner_transaction_questions", 0.5)),)),
    Chart("Lanes", "Lanes by state", "short", (("{{state}}", gauge("planner_lanes", by="state")),)),
    Chart("Producers replaced", "Producers replaced after an error, by reason", "ops", (("{{reason}}", rate("planner_lane_replaced_total", "reason")),)),
    Chart("Rebalances", "Times the group gave workers partitions", "ops", (("rebalances", rate("planner_rebalances_total")),)),
    Chart("Partitions", "Partitions owned and paused", "short", (("owned", gauge("planner_assigned_partitions")), ("paused", gauge("planner_paused_partitions")))),
    Chart("Poll age", "Seconds since the last poll returned", "s", (("age", gauge("planner_poll_age_seconds", "max")),)),
    Chart("Open transactions upstream", "High watermark minus last stable offset", "short", (("partition {{partition}}", gauge("planner_consumer_open_tail_messages", by="partition")),)),
    Chart("Skipped", "Records skipped because the ledger has them settled", "ops", (("skipped", rate("planner_questions_skipped_total")),)),
)  # fmt: skip
STORES = (
    Chart("Pool", "Connections of the pool, by state", "short", (("{{state}}", gauge("planner_db_pool_connections", by="state")),)),
    Chart("Wait for a connection", "Wait for a connection of the pool", "s", percentiles("planner_db_pool_wait_seconds")),
    Chart("Statements tried again", "After a transient error, by reason", "ops", (("{{reason}}", rate("planner_db_retries_total", "reason")),)),
    Chart("Tenancy", "Findings of the last preflight: must be zero", "short", (("findings", gauge("planner_tenancy_violations", "max")),)),
    Chart("Model calls", "Calls of the model server, by purpose and result", "ops", (("{{purpose}} {{result}}", rate("planner_inference_requests_total", "purpose, result")),)),
    Chart("Model time", "Time of a model call", "s", percentiles("planner_inference_duration_seconds")),
    Chart("Unknown names", "Names a proposer gave that are not in the Registry", "ops", (("names", rate("planner_inference_unknown_names_total")),)),
    Chart("Audit events", "Stored, seen again and quarantined", "ops", (("stored", rate("planner_sink_rows_total")), ("seen again", rate("planner_sink_duplicates_total")), ("quarantined {{reason}}", rate("planner_sink_rejected_total", "reason")))),
    Chart("Sink batches", "Time of a sink transaction", "s", percentiles("planner_sink_batch_seconds")),
    Chart("Sink backlog", "Audit records not stored yet", "short", (("records", gauge("planner_sink_backlog_records", "max")),)),
    Chart("Sink outages", "Transactions tried again and checkpoints signed", "ops", (("tried again", rate("planner_sink_retries_total")), ("checkpoints", rate("planner_sink_checkpoints_total")))),
)  # fmt: skip
DASHBOARDS = {
    "overview": ("Planner: overview", OVERVIEW),
    "plans": ("Planner: from question to plan", PLANS),
    "stream": ("Planner: Kafka and transactions", STREAM),
    "stores": ("Planner: Postgres, model, audit", STORES),
}


LEGEND = (
    common.VizLegendOptions()
    .display_mode(LegendDisplayMode.LIST)
    .placement(LegendPlacement.BOTTOM)
    .show_legend(True)
    .calcs([])
)


def panel(chart: Chart) -> timeseries.Panel:
    built = (
        timeseries.Panel()
        .title(chart.title)
        .description(chart.description)
        .unit(chart.unit)
        .datasource(SOURCE)
        .legend(LEGEND)
        .height(8)
        .span(12)
    )
    for place, (legend, expression) in enumerate(chart.lines):
        target = prometheus.Dataquery().expr(expression).legend_format(legend).ref_id(chr(ord("A") + place))
        built = built.with_target(target.datasource(SOURCE))
    return built


def build(uid: str) -> str:
    """The JSON of one dashboard."""
    title, charts = DASHBOARDS[uid]
    board = (
        dashboard.Dashboard(title)
        .uid(f"planner-{uid}")
        .tags(["planner"])
        .readonly()
        .refresh("30s")
        .time("now-6h", "now")
        .with_variable(dashboard.DatasourceVariable("datasource").label("Data source").type("prometheus"))
        .with_variable(
            dashboard.QueryVariable("job")
            .label("Job")
            .datasource(SOURCE)
            .query("label_values(planner_build_info, job)")
            .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
            .include_all(True)
            .multi(True)
        )
    )
    for chart in charts:
        board = board.with_panel(panel(chart))
    return JSONEncoder(sort_keys=True, indent=1).encode(board.build()) + "\n"


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for uid in DASHBOARDS:
        (FOLDER / f"{uid}.json").write_text(build(uid), encoding="utf-8")


if __name__ == "__main__":
    main()
