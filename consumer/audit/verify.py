"""Proves that the stored trail is what was stored: recomputes every hash, link and root.

From the table alone it finds an edited, removed or reordered row. What a table can't show of itself (a cut tail
whose head was cut too, a chain rebuilt from scratch, a restored backup) shows against an anchor: a signed
checkpoint kept elsewhere.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import Struct

from consumer.audit.append import Connection
from consumer.audit.chain import Frontier, Link, row_hash
from consumer.audit.checkpoint import Checkpoint

if TYPE_CHECKING:
    from asyncpg import Record
else:
    Record = object

PAGE_ROWS = 5_000
CHAINS = "SELECT chain_id, size, head_hash FROM audit.head ORDER BY chain_id"
STRAYS = """
SELECT DISTINCT chain_id FROM audit.plan_answered
WHERE chain_id NOT IN (SELECT chain_id FROM audit.head) ORDER BY chain_id
"""
RETIRED = "SELECT size, head_hash, frontier FROM audit.retired WHERE chain_id = $1 ORDER BY size DESC LIMIT 1"
ROWS = """
SELECT seq, event_id, tenant_id, src_offset, body, prev_hash, row_hash
FROM audit.plan_answered WHERE chain_id = $1 AND seq >= $2 ORDER BY seq LIMIT $3
"""
CHECKPOINTS = "SELECT size, root FROM audit.checkpoint WHERE chain_id = $1 ORDER BY size"


class Fault(StrEnum):
    """What is wrong at a broken link. A closed list; programs match on it."""

    EDITED = "row_edited"
    GAP = "row_missing"
    ORDER = "reordered"
    TRUNCATED = "truncated"
    EXTRA = "rows_beyond_head"
    ROOT = "root_mismatch"
    HEAD = "head_mismatch"


class Broken(Struct, frozen=True):
    """The first broken link of a chain: the row (or size) at which the trail stops being what it was."""

    chain_id: int
    seq: int
    fault: Fault


class Proof(Struct, frozen=True):
    """What was checked of one chain, and the first thing that did not hold."""

    chain_id: int
    rows: int
    root: bytes
    broken: Broken | None


async def verify(connection: Connection, anchors: Sequence[Checkpoint] = ()) -> list[Proof]:
    """A proof per chain, in order. `anchors` are checkpoints from outside the database, signatures checked."""
    heads = {r["chain_id"]: Link(r["size"], r["head_hash"]) for r in await connection.fetch(CHAINS)}
    for row in await connection.fetch(STRAYS):
        heads[row["chain_id"]] = Link()
    for anchor in anchors:
        heads.setdefault(anchor.chain_id, Link())
    return [await _verify_chain(connection, chain, heads[chain], anchors) for chain in sorted(heads)]


async def _verify_chain(connection: Connection, chain_id: int, head: Link, anchors: Sequence[Checkpoint]) -> Proof:
    stored = {r["size"]: r["root"] for r in await connection.fetch(CHECKPOINTS, chain_id)}
    expected = {**stored, **{a.size: a.root for a in anchors if a.chain_id == chain_id}}
    passed = await replay(connection, chain_id, None, expected)
    broken = passed.broken or _end_fault(chain_id, passed.link, head, expected)
    return Proof(chain_id, passed.rows, passed.frontier.root(), broken)


class Replayed(Struct, frozen=True):
    """A chain as its rows make it: its end and tree after `rows` rows that were read, or the first broken link."""

    rows: int
    link: Link
    frontier: Frontier
    broken: Broken | None = None


async def replay(
    connection: Connection, chain_id: int, end: int | None = None, expected: Mapping[int, bytes] | None = None
) -> Replayed:
    """Recomputes a chain from where retention left it to `end` (None is its last row). `expected` are roots by size."""
    start = await connection.fetchrow(RETIRED, chain_id)
    link = Link(start["size"], start["head_hash"]) if start else Link()
    frontier = Frontier.from_bytes(start["frontier"]) if start else Frontier()
    roots, first = expected or {}, link.size
    async for row in _rows(connection, chain_id, link.size):
        if link.size == end:
            break
        if fault := _fault(row, chain_id, link):
            return Replayed(link.size - first, link, frontier, Broken(chain_id, link.size, fault))
        link = Link(link.size + 1, row["row_hash"])
        frontier = frontier.append(link.head)
        if link.size in roots and roots[link.size] != frontier.root():
            return Replayed(link.size - first, link, frontier, Broken(chain_id, link.size - 1, Fault.ROOT))
    if end is not None and link.size < end:
        return Replayed(link.size - first, link, frontier, Broken(chain_id, link.size, Fault.TRUNCATED))
    return Replayed(link.size - first, link, frontier)


def _fault(row: Record, chain_id: int, link: Link) -> Fault | None:
    """What is wrong with the row that should follow `link`."""
    seq, body = row["seq"], row["body"]
    if seq != link.size:
        return Fault.GAP
    if row["prev_hash"] != link.head:
        return Fault.ORDER
    event_id, tenant_id, offset = row["event_id"], row["tenant_id"], row["src_offset"]
    recomputed = row_hash(link.head, chain_id, seq, event_id, tenant_id, offset, sha256(body).digest())
    return None if row["row_hash"] == recomputed else Fault.EDITED


def _end_fault(chain_id: int, link: Link, head: Link, expected: Mapping[int, bytes]) -> Broken | None:
    """What is wrong with where the chain ends."""
    furthest = max((head.size, *expected))
    if link.size < furthest:
        return Broken(chain_id, link.size, Fault.TRUNCATED)
    if link.size > head.size:
        return Broken(chain_id, head.size, Fault.EXTRA)
    if link.head != head.head:
        return Broken(chain_id, link.size - 1, Fault.HEAD)
    return None


async def _rows(connection: Connection, chain_id: int, seq: int) -> AsyncIterator[Record]:
    while page := await connection.fetch(ROWS, chain_id, seq, PAGE_ROWS):
        for row in page:
            yield row
        seq = page[-1]["seq"] + 1
