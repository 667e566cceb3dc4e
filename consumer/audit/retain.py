"""Retention: whole ranges of the trail are detached when they are old enough, and what is left still verifies.

A range goes only when every chain has grown past it and its rows prove right. What a verifier needs to start after it
(size, hash and tree of each chain) stays in `audit.retired`; the detached table is an ordinary one, to be kept
elsewhere and dropped. An empty range takes its place, for a chain that begins later.
"""

import re
from datetime import datetime

from msgspec import Struct

from consumer.audit.append import Connection
from consumer.audit.checkpoint import Checkpoint
from consumer.audit.verify import CHAINS, replay
from consumer.errors import PlannerError

RANGES = """
SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) AS bound
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
WHERE i.inhparent = 'audit.plan_answered'::regclass
"""
BOUND = re.compile(r"FROM \('?(\d+)'?\) TO \('?(\d+)'?\)")
PASSED = "SELECT count(*) > 0 AND bool_and(size >= $1) FROM audit.head"
NEWEST = "SELECT max(recorded_at) FROM audit.plan_answered WHERE seq >= $1 AND seq < $2"
RETIRE = "INSERT INTO audit.retired (chain_id, size, head_hash, frontier, note) VALUES ($1, $2, $3, $4, $5)"
DETACH = """
ALTER TABLE audit.plan_answered DETACH PARTITION audit.{name};
ALTER TABLE audit.{name} RENAME TO {kept};
CREATE TABLE audit.{name} PARTITION OF audit.plan_answered FOR VALUES FROM ({first}) TO ({end});
ALTER TABLE audit.{name} ENABLE ROW LEVEL SECURITY;
ALTER TABLE audit.{name} FORCE ROW LEVEL SECURITY;
ALTER TABLE audit.{name} ENABLE ALWAYS TRIGGER no_change;
CREATE TRIGGER no_truncate BEFORE TRUNCATE ON audit.{name} FOR EACH STATEMENT EXECUTE FUNCTION audit.refuse_change();
ALTER TABLE audit.{name} ENABLE ALWAYS TRIGGER no_truncate;
"""


class Range(Struct, frozen=True):
    """Rows `first` to before `end` of every chain are in table `name`."""

    name: str
    first: int
    end: int


class Retired(Struct, frozen=True):
    """A range that was detached, and the table that holds its rows now."""

    range: Range
    kept: str


async def retain(connection: Connection, cutoff: datetime) -> list[Retired]:
    """Detaches every range whose rows were all recorded before `cutoff`, oldest first.

    Raises PlannerError when a row of such a range does not verify; it and what follows stay where they are.
    """
    retired: list[Retired] = []
    for one in await _ranges(connection):
        async with connection.transaction():
            newest = await connection.fetchval(NEWEST, one.first, one.end)
            if newest is None:
                continue
            if newest >= cutoff or not await connection.fetchval(PASSED, one.end):
                break
            retired.append(Retired(one, await _detach(connection, one)))
    return retired


async def _ranges(connection: Connection) -> list[Range]:
    found = [(row["name"], BOUND.search(row["bound"])) for row in await connection.fetch(RANGES)]
    ranges = [Range(name, int(bound[1]), int(bound[2])) for name, bound in found if bound]
    return sorted(ranges, key=lambda one: one.first)


async def _detach(connection: Connection, one: Range) -> str:
    for row in await connection.fetch(CHAINS):
        chain = row["chain_id"]
        passed = await replay(connection, chain, one.end)
        if passed.broken:
            raise PlannerError(
                f"chain {chain} is broken at row {passed.broken.seq} ({passed.broken.fault.value}): nothing more is "
                "detached; see planner audit verify"
            )
        note = Checkpoint(chain, one.end, passed.frontier.root()).text()
        await connection.execute(RETIRE, chain, one.end, passed.link.head, passed.frontier.to_bytes(), note)
    kept = f"{one.name}_until_{one.end}"
    await connection.execute(DETACH.format(name=one.name, kept=kept, first=one.first, end=one.end))
    return kept
