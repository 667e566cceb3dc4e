"""One hierarchy, by what the caller can do about it. Messages name the object, the rule and the remedy."""

from enum import StrEnum


class PlannerError(Exception):
    """Base of all errors that the service raises on purpose."""


class Transient(PlannerError):
    """A part is away (Kafka, Postgres, the model server): retry inside the deadline, never a dead letter."""


class DeadlineExceeded(Transient):
    """The question's own deadline ran out: it is answered `failed`, once."""


class DeadLetterReason(StrEnum):
    """Why a record can never be answered. A closed list: it is a header and a metric label."""

    TOMBSTONE = "tombstone"
    TOO_LARGE = "too_large"
    BAD_UTF8 = "bad_utf8"
    BAD_JSON = "bad_json"
    TOO_DEEP = "too_deep"
    DUPLICATE_KEY = "duplicate_key"
    NUL_BYTE = "nul_byte"
    WRONG_TYPE = "wrong_type"
    MISSING_FIELD = "missing_field"
    BAD_HEADER = "bad_header"
    BAD_REPLY_TOPIC = "bad_reply_topic"
    BAD_REPLY_PARTITION = "bad_reply_partition"
    UNAUTHENTICATED = "unauthenticated"
    IDENTITY_MISMATCH = "identity_mismatch"
    ANSWER_TOO_LARGE = "answer_too_large"
    INTERNAL = "internal"


class Permanent(PlannerError):
    """The record can never be answered: it goes to the dead letter topic with `reason`, the partition goes on."""

    def __init__(self, reason: DeadLetterReason) -> None:
        super().__init__(reason.value)
        self.reason = reason


class Misconfigured(PlannerError):
    """A setting, file or command line is wrong: exit 2 with one readable line."""


class Unreachable(PlannerError):
    """A command could not reach Kafka or Postgres: exit 5 with one readable line."""
