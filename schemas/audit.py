"""The audit event: names, kinds and counts of how an answer came about, never a value of it."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from msgspec import Meta, Struct

from schemas.answer import Faithfulness, SelfConsistency

PLAN_ANSWERED = "aedt.ai.plan_answered"
MAX_AUDIT_BYTES = 4_096


class PlanAnswered(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One per planned answer, in the same Kafka transaction as the answer and the consumed offset.

    `event_id` is the uuid5 of the question record's topic, partition and offset, so a redelivered record has
    the same id. `param_kinds` are kinds of parameters, never their values. There is no count from the data:
    `suppressed_cells` and `node_count` count cells withheld and nodes run.
    """

    event: Literal["aedt.ai.plan_answered"] = PLAN_ANSWERED
    event_id: UUID
    tenant_id: UUID
    occurred_at: Annotated[datetime, Meta(tz=True)]
    intents: tuple[str, ...]
    param_kinds: tuple[str, ...]
    node_count: int
    suppressed_cells: int
    faithfulness: Faithfulness
    self_consistency: SelfConsistency
    registry_digest: str
    service_version: str
