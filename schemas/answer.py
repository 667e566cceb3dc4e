"""The answer event: exactly one for each question consumed."""

from datetime import datetime
from enum import StrEnum
from uuid import UUID

from msgspec import UNSET, Struct, UnsetType

from schemas.evidence import Evidence


class Status(StrEnum):
    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"


class Route(StrEnum):
    INTENT = "intent"
    PLAN = "plan"
    RAG = "rag"
    CLARIFY = "clarify"
    REFUSED = "refused"


class RationaleSource(StrEnum):
    MODEL = "model"
    DETERMINISTIC = "deterministic"
    GUARD = "guard"


class Faithfulness(StrEnum):
    PASSED = "passed"
    REPLACED = "replaced"
    NOT_APPLICABLE = "not_applicable"


class DropReason(StrEnum):
    UNBOUND = "unbound"
    FAILED = "failed"
    TIMEOUT = "timeout"
    UNAUTHORIZED = "unauthorized"


class Outcome(StrEnum):
    STABLE = "stable"
    PARTIAL = "partial"
    NONE = "none"


class Edge(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    """One scalar of one node that bound another node's parameter. On the wire the ends are `from` and `to`."""

    source: str
    column: str
    target: str
    param: str


class Dropped(Struct, frozen=True, kw_only=True):
    intent: str
    reason: DropReason


class SelfConsistency(Struct, frozen=True, kw_only=True):
    """`samples` proposals were taken; the outcome says whether they agreed."""

    samples: int
    outcome: Outcome


class Plan(Struct, frozen=True, kw_only=True):
    intents: tuple[str, ...]
    edges: tuple[Edge, ...]
    dropped: tuple[Dropped, ...]
    self_consistency: SelfConsistency


class Refusal(Struct, frozen=True, kw_only=True):
    """A stable `code` for programs and a `message` for the asker; neither repeats the question."""

    code: str
    message: str


class Answer(Struct, frozen=True, kw_only=True):
    """`plan` and `audit_event_id` stand only on route `plan`, `refusal` only when refused or failed."""

    question_id: UUID
    tenant_id: UUID
    status: Status
    route: Route
    answer: str
    rationale_source: RationaleSource
    evidence: tuple[Evidence, ...] = ()
    plan: Plan | UnsetType = UNSET
    faithfulness: Faithfulness
    refusal: Refusal | UnsetType = UNSET
    registry_digest: str
    audit_event_id: UUID | UnsetType = UNSET
    answered_at: datetime
    elapsed_ms: int
