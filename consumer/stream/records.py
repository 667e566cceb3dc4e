"""What goes in and out of Kafka: received records, outgoing ones, their headers."""

import hashlib
import struct
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from uuid import NAMESPACE_URL, UUID, uuid5

from msgspec import Struct

from consumer.errors import DeadLetterReason, Permanent
from consumer.settings import Settings
from schemas import Answer, PlanAnswered
from schemas.audit import PLAN_ANSWERED
from schemas.codec import encode

Headers = tuple[tuple[str, bytes | None], ...]
"""A header's value may be null on the wire."""

SOURCE = "planner"
ANSWER_TYPE = "aedt.ai.answer"
RECORD_OVERHEAD_BYTES = 128
"""What a batch adds to a record: lengths, offsets, the batch's own header, with room to spare."""
REPLY_TOPIC = ("kafka_replyTopic", "reply_to")
REPLY_PARTITION = "kafka_replyPartition"
CORRELATION = ("kafka_correlationId", "correlation_id")
TRACE = ("traceparent", "tracestate")
DLT_PREFIXES = ("kafka_dlt-", "planner_dlt-")
REASON = "planner_dlt-reason"
WITHOUT_VALUE = "planner_dlt-without-value"
"""Stands in a dead letter whose value could not be kept: `null` where there was none or none could be read, or the
digest of what was too large."""


class Received(Struct, frozen=True):
    """One record as it was read. `timestamp_ms` is the broker's or the publisher's, milliseconds since 1970; `read_at`
    is when we read it, in seconds of the event loop's clock."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    read_at: float = 0.0

    def header(self, name: str) -> bytes | None:
        """The last header of that name, as Kafka's own `lastHeader`."""
        return next((value for key, value in reversed(self.headers) if key == name), None)

    @property
    def size_bytes(self) -> int:
        return len(self.key or b"") + len(self.value or b"") + sum(len(k) + len(v or b"") for k, v in self.headers)


class Outgoing(Struct, frozen=True):
    """One record to write in the transaction that settles its question."""

    topic: str
    key: bytes | None
    value: bytes | None
    headers: Headers
    partition: int | None = None

    @property
    def size_bytes(self) -> int:
        headers = sum(len(k) + len(v or b"") + 10 for k, v in self.headers)
        return len(self.key or b"") + len(self.value or b"") + headers + RECORD_OVERHEAD_BYTES


class Outcome(StrEnum):
    """How a question was settled; a metric label."""

    ANSWERED = "answered"
    REFUSED = "refused"
    FAILED = "failed"
    DEAD_LETTER = "dead_letter"


class Settlement(Struct, frozen=True):
    """All records that settle one question, written in one transaction."""

    outcome: Outcome
    records: tuple[Outgoing, ...]


Handler = Callable[[Received], Awaitable[Settlement]]
"""Answers one record. Raises Permanent where only a dead letter can."""


class Routes(Struct, frozen=True):
    """Where records go. `replies` are names or globs that a reply header may name."""

    answers: str
    audit: str
    replies: tuple[str, ...]
    max_bytes: int

    @classmethod
    def of(cls, settings: Settings) -> "Routes":
        replies = tuple(name for part in settings.reply_topics.split(",") if (name := part.strip()))
        return cls(
            answers=settings.topic_answers, audit=settings.topic_audit, replies=replies,
            max_bytes=settings.max_answer_bytes,
        )  # fmt: skip


def event_id(received: Received) -> UUID:
    """The id of what follows from this record: the same on every redelivery of it."""
    return _event_id(received.topic, received.partition, received.offset)


@lru_cache(maxsize=4_096)
def _event_id(topic: str, partition: int, offset: int) -> UUID:
    return uuid5(NAMESPACE_URL, f"planner:{topic}/{partition}/{offset}")


def answer_record(received: Received, answer: Answer, routes: Routes) -> Outgoing:
    """The answer on its reply topic, under the question's key. Raises Permanent when it may not go there or can't."""
    topic, partition = reply_address(received, routes)
    correlation = tuple((name, value) for name in CORRELATION if (value := received.header(name)) is not None)
    identity = uuid5(event_id(received), ANSWER_TYPE)
    headers = _cloudevent(identity, ANSWER_TYPE, answer.answered_at) + _trace(received) + correlation
    record = Outgoing(topic, received.key, encode(answer), headers, partition)
    if record.size_bytes > routes.max_bytes:
        raise Permanent(DeadLetterReason.ANSWER_TOO_LARGE)
    return record


def audit_record(received: Received, event: PlanAnswered, routes: Routes) -> Outgoing:
    headers = _cloudevent(event.event_id, PLAN_ANSWERED, event.occurred_at) + _trace(received)
    return Outgoing(routes.audit, str(event.tenant_id).encode(), encode(event), headers)


def dead_letter(received: Received, reason: DeadLetterReason, topic: str, max_bytes: int) -> Outgoing:
    """The record byte for byte, on the same partition number, with Spring's headers and our reason.

    No message and no stack trace: they could carry what the record says. What an earlier pass added is replaced, so
    a record that comes back again and again does not grow (spring-kafka#1994). One that with these headers would be
    larger than the topic takes leaves its own headers behind, then its value for that value's digest.
    """
    own = tuple((k, v) for k, v in received.headers if not k.startswith(DLT_PREFIXES))
    added: Headers = (
        ("kafka_dlt-original-topic", received.topic.encode()),
        ("kafka_dlt-original-partition", struct.pack(">i", received.partition)),
        ("kafka_dlt-original-offset", struct.pack(">q", received.offset)),
        ("kafka_dlt-original-timestamp", struct.pack(">q", received.timestamp_ms)),
        ("kafka_dlt-exception-fqcn", b"consumer.errors.Permanent"),
        (REASON, reason.value.encode()),
    )
    value = received.value
    if received.key is None and value is None:
        # aiokafka writes no record without key and value; what it was stands in a header
        value, added = b"", (*added, (WITHOUT_VALUE, b"null"))
    letter = Outgoing(topic, received.key, value, own + added, received.partition)
    if letter.size_bytes <= max_bytes:
        return letter
    letter = Outgoing(topic, received.key, value, added, received.partition)
    if letter.size_bytes <= max_bytes:
        return letter
    digest = hashlib.sha256(value or b"").hexdigest().encode()
    return Outgoing(topic, received.key, b"", (*added, (WITHOUT_VALUE, b"sha256:" + digest)), received.partition)


def reply_address(received: Received, routes: Routes) -> tuple[str, int | None]:
    """Topic and partition of the answer. Raises Permanent for a topic that is not allowed or a partition that is none.

    Spring's headers come first, FastStream's second. The partition is obeyed when it is there: the asker listens to
    that one alone.
    """
    named = next((value for name in REPLY_TOPIC if (value := received.header(name)) is not None), None)
    try:
        topic = routes.answers if named is None else named.decode("utf-8")
    except UnicodeDecodeError:
        raise Permanent(DeadLetterReason.BAD_REPLY_TOPIC) from None
    if topic != routes.answers and not any(fnmatchcase(topic, allowed) for allowed in routes.replies):
        raise Permanent(DeadLetterReason.BAD_REPLY_TOPIC)
    partition = received.header(REPLY_PARTITION)
    if partition is None:
        return topic, None
    if len(partition) != 4 or partition[0] & 0x80:
        raise Permanent(DeadLetterReason.BAD_REPLY_PARTITION)
    return topic, int.from_bytes(partition, "big")


def _cloudevent(identity: UUID, kind: str, at: datetime) -> Headers:
    """CloudEvents 1.0, binary mode (Kafka protocol binding 3.2)."""
    return (
        ("ce_specversion", b"1.0"),
        ("ce_id", str(identity).encode()),
        ("ce_source", SOURCE.encode()),
        ("ce_type", kind.encode()),
        ("ce_time", at.astimezone(UTC).isoformat().replace("+00:00", "Z").encode()),
        ("content-type", b"application/json"),
    )


def _trace(received: Received) -> Headers:
    """The trace context as it came; one that is malformed is left out in silence (W3C Trace Context 3.2.2)."""
    parent = received.header("traceparent")
    if parent is None or len(parent) > 256 or not _is_traceparent(parent):
        return ()
    state = received.header("tracestate")
    return (("traceparent", parent), ("tracestate", state)) if state is not None else (("traceparent", parent),)


def _is_traceparent(value: bytes) -> bool:
    parts = value.split(b"-")
    sizes = (2, 32, 16, 2)
    if len(parts) < 4 or any(len(p) != size for p, size in zip(parts, sizes, strict=False)):
        return False
    return all(byte in b"0123456789abcdef" for part in parts[:4] for byte in part) and parts[0] != b"ff"
