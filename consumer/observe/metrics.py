"""Every Prometheus metric of the service, in one place.

Names follow Prometheus (base units, `_total` for counters). Labels come from closed enums only: a tenant is never
one, both for cardinality and because a count of suppressed cells per tenant would itself disclose.
"""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REGISTRY = CollectorRegistry(auto_describe=True)

SINK_ROWS = Counter("planner_sink_rows", "Audit events stored", registry=REGISTRY)
SINK_DUPLICATES = Counter("planner_sink_duplicates", "Audit events seen again with the same body", registry=REGISTRY)
SINK_REJECTED = Counter("planner_sink_rejected", "Audit records quarantined", ["reason"], registry=REGISTRY)
SINK_BATCH_SECONDS = Histogram("planner_sink_batch_seconds", "Time of one sink transaction", registry=REGISTRY)
SINK_RETRIES = Counter("planner_sink_retries", "Sink transactions tried again after an outage", registry=REGISTRY)
SINK_BACKLOG = Gauge("planner_sink_backlog_records", "Audit records not stored yet", registry=REGISTRY)
SINK_CHECKPOINTS = Counter("planner_sink_checkpoints", "Signed checkpoints written", registry=REGISTRY)
