"""Adds a batch of audit records to the chain of their partition: one Postgres transaction, exactly once.

The transaction holds the rows, the end of the chain and the next offset to consume, so a crash leaves all of them
or none. The chain's row in `audit.head` stays locked meanwhile: a second writer waits, then finds its offsets
already taken and adds nothing. A record that can never be stored goes to `audit.rejected` in the same transaction.
"""

from collections.abc import Sequence
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Protocol
from uuid import UUID

import asyncpg
import msgspec
from msgspec import Struct

from consumer.audit.chain import Frontier, Link, row_hash
from schemas import PlanAnswered
from schemas.audit import MAX_AUDIT_BYTES

if TYPE_CHECKING:
    from asyncpg import Connection as Direct
    from asyncpg import Record
    from asyncpg.pool import PoolConnectionProxy

    Connection = Direct[Record] | PoolConnectionProxy[Record]
else:
    Connection = object

APPEND = """
WITH seen AS (
    INSERT INTO audit.event (event_id, chain_id, seq, body_hash)
    SELECT e, $1, s, h FROM unnest($3::uuid[], $2::bigint[], $6::bytea[]) AS t(e, s, h)
), rows AS (
    INSERT INTO audit.plan_answered (chain_id, seq, event_id, tenant_id, src_offset, body, prev_hash, row_hash)
    SELECT $1, * FROM unnest($2::bigint[], $3::uuid[], $4::uuid[], $5::bigint[], $7::bytea[], $8::bytea[], $9::bytea[])
), quarantined AS (
    INSERT INTO audit.rejected (source_topic, chain_id, src_offset, reason, body, body_hash)
    SELECT $10, $1, * FROM unnest($11::bigint[], $12::text[], $13::bytea[], $14::bytea[])
    ON CONFLICT DO NOTHING
)
UPDATE audit.head SET size = $15, head_hash = $16, next_offset = $17, frontier = $18 WHERE chain_id = $1
"""
OPEN = "INSERT INTO audit.head VALUES ($1, 0, $2, 0, $3) ON CONFLICT DO NOTHING"
LOCK = "SELECT size, head_hash, next_offset, frontier FROM audit.head WHERE chain_id = $1 FOR UPDATE"
KNOWN = "SELECT event_id, body_hash FROM audit.event WHERE event_id = ANY($1::uuid[])"


class Reason(StrEnum):
    """Why a record is in `audit.rejected` rather than in the chain."""

    UNDECODABLE = "undecodable"
    TOO_LARGE = "too_large"
    CONFLICT = "conflict"
    UNSTORABLE = "unstorable"


class Consumed(Protocol):
    """What the sink needs of a Kafka record."""

    @property
    def offset(self) -> int: ...
    @property
    def value(self) -> bytes | None: ...


class Entry(Struct, frozen=True):
    """One event that may enter the chain, with the exact bytes consumed."""

    offset: int
    event_id: UUID
    tenant_id: UUID
    body: bytes
    body_hash: bytes


class Rejected(Struct, frozen=True):
    offset: int
    reason: Reason
    body: bytes
    body_hash: bytes


class Batch(Struct, frozen=True):
    """What one transaction adds to a chain."""

    entries: tuple[Entry, ...]
    rejected: tuple[Rejected, ...]
    duplicates: int
    next_offset: int


class Stored(Struct, frozen=True):
    """What a batch came to: counts for metrics, and the chain's end after it."""

    rows: int
    duplicates: int
    rejected: tuple[Reason, ...]
    link: Link
    frontier: Frontier


_decode = msgspec.json.Decoder(PlanAnswered).decode


def read(record: Consumed) -> Entry | Rejected:
    """The record as an entry of the chain, or why it can be none."""
    body = record.value or b""
    digest = sha256(body).digest()
    if len(body) > MAX_AUDIT_BYTES:
        return Rejected(record.offset, Reason.TOO_LARGE, body[:MAX_AUDIT_BYTES], digest)
    try:
        event = _decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Rejected(record.offset, Reason.UNDECODABLE, body, digest)
    return Entry(record.offset, event.event_id, event.tenant_id, body, digest)


def sort_out(records: Sequence[Entry | Rejected], known: dict[UUID, bytes], next_offset: int) -> Batch:
    """Tells new events from duplicates (same id, same body) and conflicts (same id, another body).

    `known` are the body hashes of ids already stored. Records below `next_offset` were settled by an earlier
    transaction of this or another writer and count for nothing.
    """
    seen, duplicates = dict(known), 0
    entries: list[Entry] = []
    rejected: list[Rejected] = []
    for record in records:
        if record.offset < next_offset:
            continue
        if isinstance(record, Rejected):
            rejected.append(record)
        elif record.event_id not in seen:
            seen[record.event_id] = record.body_hash
            entries.append(record)
        elif seen[record.event_id] == record.body_hash:
            duplicates += 1
        else:
            rejected.append(Rejected(record.offset, Reason.CONFLICT, record.body, record.body_hash))
    end = max((r.offset + 1 for r in records), default=next_offset)
    return Batch(tuple(entries), tuple(rejected), duplicates, max(end, next_offset))


async def append(connection: Connection, topic: str, chain_id: int, records: Sequence[Entry | Rejected]) -> Stored:
    """Adds the records to the chain in one transaction. Raises what asyncpg raises, with nothing stored.

    Ids are unique but for a publisher's fault, so they are looked up only once one of them was refused.
    """
    try:
        async with connection.transaction():
            return await _add(connection, topic, chain_id, records, {})
    except asyncpg.UniqueViolationError:
        async with connection.transaction():
            ids = [record.event_id for record in records if isinstance(record, Entry)]
            known = {row["event_id"]: row["body_hash"] for row in await connection.fetch(KNOWN, ids)}
            return await _add(connection, topic, chain_id, records, known)


async def _add(
    connection: Connection, topic: str, chain_id: int, records: Sequence[Entry | Rejected], known: dict[UUID, bytes]
) -> Stored:
    row = await _locked(connection, chain_id)
    batch = sort_out(records, known, row["next_offset"])
    link = Link(row["size"], row["head_hash"])
    hashes = chained(link, chain_id, batch.entries)
    frontier = Frontier.from_bytes(row["frontier"]).extend(hashes)
    end = Link(link.size + len(hashes), hashes[-1] if hashes else link.head)
    await connection.execute(
        APPEND,
        chain_id,
        range(link.size, end.size),
        [e.event_id for e in batch.entries],
        [e.tenant_id for e in batch.entries],
        [e.offset for e in batch.entries],
        [e.body_hash for e in batch.entries],
        [e.body for e in batch.entries],
        [link.head, *hashes][: len(hashes)],
        hashes,
        topic,
        [r.offset for r in batch.rejected],
        [r.reason.value for r in batch.rejected],
        [r.body for r in batch.rejected],
        [r.body_hash for r in batch.rejected],
        end.size,
        end.head,
        batch.next_offset,
        frontier.to_bytes(),
    )
    return Stored(len(batch.entries), batch.duplicates, tuple(r.reason for r in batch.rejected), end, frontier)


async def _locked(connection: Connection, chain_id: int) -> "Record":
    """The end of the chain, locked until the transaction ends; that of an empty one where there is none yet."""
    row = await connection.fetchrow(LOCK, chain_id)
    if row is None:
        await connection.execute(OPEN, chain_id, Link().head, Frontier().to_bytes())
        row = await connection.fetchrow(LOCK, chain_id)
    assert row is not None, "the chain's row was just inserted"
    return row


def chained(link: Link, chain_id: int, entries: Sequence[Entry]) -> list[bytes]:
    """The row hashes of the entries, each over the one before it, from the chain's end on."""
    hashes: list[bytes] = []
    previous = link.head
    for seq, e in enumerate(entries, link.size):
        previous = row_hash(previous, chain_id, seq, e.event_id, e.tenant_id, e.offset, e.body_hash)
        hashes.append(previous)
    return hashes
