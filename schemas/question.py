"""The question event, as upstream services publish it."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

MAX_QUESTION_CHARACTERS = 4_000
DEFAULT_DEADLINE_MS = 30_000
MAX_DEADLINE_MS = 600_000


class Principal(Struct, frozen=True, kw_only=True):
    """Who asks: `subject` names the caller, `scopes` the planes it may read, such as `market:read`."""

    subject: Annotated[str, Meta(min_length=1, max_length=256)]
    scopes: tuple[Annotated[str, Meta(max_length=64)], ...] = ()


class Question(Struct, frozen=True, kw_only=True):
    """One question of one tenant. Unknown fields are ignored, so that publishers may add their own.

    `intent` names a Registry intent and takes the named fast path. `deadline_ms` counts from the moment the
    record was read. Without `principal` only the default scopes apply.
    """

    question_id: UUID
    tenant_id: UUID
    question: Annotated[str, Meta(min_length=1, max_length=MAX_QUESTION_CHARACTERS)]
    principal: Principal | None = None
    intent: Annotated[str, Meta(max_length=128)] | None = None
    deadline_ms: Annotated[int, Meta(ge=1, le=MAX_DEADLINE_MS)] = DEFAULT_DEADLINE_MS
    asked_at: Annotated[datetime, Meta(tz=True)] | None = None
