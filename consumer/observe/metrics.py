"""Every Prometheus metric of the service, in one place.

Names follow Prometheus (base units, `_total` for counters, added by the client). Labels come from closed enums and
from the Registry only: a tenant is never one, for cardinality and because a count of withheld cells per tenant would
itself disclose. Stream, planner, inference, store and sink each have a part below, in that order.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info

REGISTRY = CollectorRegistry(auto_describe=True)

SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
STAGE_SECONDS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0)

BUILD = Info("planner_build", "Version of the service and digest of its Registry", registry=REGISTRY)

# the stream
QUESTIONS = Counter("planner_questions", "Questions settled", ["outcome"], registry=REGISTRY)
QUESTION_SECONDS = Histogram(
    "planner_question_duration_seconds",
    "From reading a question to its visible answer",
    buckets=SECONDS,
    registry=REGISTRY,
)
IN_FLIGHT = Gauge("planner_questions_in_flight", "Questions being answered now", registry=REGISTRY)
IN_FLIGHT_BYTES = Gauge("planner_questions_in_flight_bytes", "Bytes of questions held in memory", registry=REGISTRY)
OLDEST_UNSETTLED = Gauge(
    "planner_oldest_unsettled_age_seconds", "Age of the oldest question not settled", registry=REGISTRY
)
LAG = Gauge(
    "planner_consumer_lag_messages",
    "Questions not settled, to the last stable offset",
    ["partition"],
    registry=REGISTRY,
)
OPEN_TAIL = Gauge(
    "planner_consumer_open_tail_messages",
    "High watermark minus last stable offset: an open transaction upstream",
    ["partition"],
    registry=REGISTRY,
)
PARTITIONS = Gauge("planner_assigned_partitions", "Partitions owned now", registry=REGISTRY)
PAUSED = Gauge("planner_paused_partitions", "Partitions not fetched now, for back pressure", registry=REGISTRY)
POLL_AGE = Gauge("planner_poll_age_seconds", "Seconds since the last poll returned", registry=REGISTRY)
REBALANCES = Counter("planner_rebalances", "Times the group gave this worker partitions", registry=REGISTRY)
LANES = Gauge("planner_lanes", "Lanes by state", ["state"], registry=REGISTRY)
LANE_REPLACED = Counter("planner_lane_replaced", "Producers replaced after an error", ["reason"], registry=REGISTRY)
TRANSACTIONS = Counter("planner_transactions", "Kafka transactions", ["result"], registry=REGISTRY)
TRANSACTION_SECONDS = Histogram(
    "planner_transaction_duration_seconds", "Time of a Kafka transaction", buckets=SECONDS, registry=REGISTRY
)
TRANSACTION_RECORDS = Histogram(
    "planner_transaction_questions",
    "Questions settled by one transaction",
    buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500),
    registry=REGISTRY,
)
SKIPPED = Counter("planner_questions_skipped", "Records skipped because the ledger has them settled", registry=REGISTRY)
DEAD_LETTERS = Counter("planner_dead_letters", "Records sent to the dead letter topic", ["reason"], registry=REGISTRY)

# the planner
STAGE_SECONDS_HISTOGRAM = Histogram(
    "planner_stage_duration_seconds",
    "Time of one stage for one question",
    ["stage"],
    buckets=STAGE_SECONDS,
    registry=REGISTRY,
)
STAGES = Counter("planner_stage_passes", "Questions that left a stage, by how", ["stage", "result"], registry=REGISTRY)
ROUTES = Counter("planner_routes", "Answers by route and status", ["route", "status"], registry=REGISTRY)
REFUSALS = Counter("planner_refusals", "Questions refused", ["code"], registry=REGISTRY)
INTENT_RUNS = Counter("planner_intent_runs", "Intents run", ["intent", "result"], registry=REGISTRY)
AGREEMENT = Counter("planner_plan_outcomes", "How the samples of a plan agreed", ["outcome"], registry=REGISTRY)
PLAN_CACHE = Counter("planner_plan_cache", "Look ups of the plan cache", ["result"], registry=REGISTRY)
SUPPRESSED = Counter("planner_suppressed_cells", "Cells withheld in answers", ["intent"], registry=REGISTRY)
GATE = Counter("planner_gate_verdicts", "Verdicts of the faithfulness gate on narrations", ["code"], registry=REGISTRY)
NARRATIONS = Counter("planner_rationales", "Answers by who wrote their words", ["source"], registry=REGISTRY)

# inference
INFERENCE = Counter("planner_inference_requests", "Calls of the model server", ["purpose", "result"], registry=REGISTRY)
INFERENCE_SECONDS = Histogram(
    "planner_inference_duration_seconds", "Time of one model call", ["purpose"], buckets=SECONDS, registry=REGISTRY
)
UNKNOWN_NAMES = Counter(
    "planner_inference_unknown_names", "Names a proposer gave that are not in the Registry", registry=REGISTRY
)

# the store
POOL_SIZE = Gauge("planner_db_pool_connections", "Connections of the pool", ["state"], registry=REGISTRY)
POOL_WAIT = Histogram("planner_db_pool_wait_seconds", "Wait for a connection", buckets=SECONDS, registry=REGISTRY)
DB_RETRIES = Counter(
    "planner_db_retries", "Statements tried again after a transient error", ["reason"], registry=REGISTRY
)
TENANCY_VIOLATIONS = Gauge(
    "planner_tenancy_violations", "Findings of the last preflight of the database", registry=REGISTRY
)

# the sink
SINK_ROWS = Counter("planner_sink_rows", "Audit events stored", registry=REGISTRY)
SINK_DUPLICATES = Counter("planner_sink_duplicates", "Audit events seen again with the same body", registry=REGISTRY)
SINK_REJECTED = Counter("planner_sink_rejected", "Audit records quarantined", ["reason"], registry=REGISTRY)
SINK_BATCH_SECONDS = Histogram(
    "planner_sink_batch_seconds", "Time of one sink transaction", buckets=SECONDS, registry=REGISTRY
)
SINK_RETRIES = Counter("planner_sink_retries", "Sink transactions tried again after an outage", registry=REGISTRY)
SINK_BACKLOG = Gauge("planner_sink_backlog_records", "Audit records not stored yet", registry=REGISTRY)
SINK_CHECKPOINTS = Counter("planner_sink_checkpoints", "Signed checkpoints written", registry=REGISTRY)
