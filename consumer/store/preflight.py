"""Refuses a database that would let one tenant see another's rows, before the first question is answered.

The checks are one statement over the catalogs (preflight.sql). They run when a worker starts, in `planner doctor`, and
again while it runs, since a grant or a table may come later: the number found is the metric planner_tenancy_violations.
"""

import asyncio
import logging
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING

import asyncpg
from msgspec import Struct

from consumer.deadline import Deadline
from consumer.errors import Misconfigured, Transient, Unreachable
from consumer.observe import metrics
from consumer.store.pool import connection
from registry import Registry

if TYPE_CHECKING:
    from asyncpg.pool import PoolConnectionProxy

    Connection = PoolConnectionProxy[asyncpg.Record] | asyncpg.Connection[asyncpg.Record]
else:
    Connection = object

log = logging.getLogger(__name__)

WORKER, SINK = "planner_worker", "planner_sink"
OF_A_ROLE = frozenset(
    {"connected_role", "missing_role", "superuser", "bypass_row_security", "member_of", "owner", "audit_writes"}
)
SECONDS = 15.0
AGAIN_SECONDS = 3_600.0
OWN_SCHEMAS = frozenset({"bench", "docs", "graph", "market"})
"""What our migrations make and protect, whether or not the pack in use reads it; documents are read by no intent."""

UNSAFE = "the database is not safe to work on"
STATEMENT = (resources.files("consumer.store") / "preflight.sql").read_text(encoding="utf-8")


class Violation(Struct, frozen=True):
    """One fault: the check that found it, the object that has it, and the rule that it breaks."""

    check: str
    object: str
    rule: str

    def __str__(self) -> str:
        return f"{self.object}: {self.rule} ({self.check})"


def schemas_of(registry: Registry) -> tuple[str, ...]:
    """The schemas that the worker may read: those of all planes, and our own."""
    return tuple(sorted({schema for plane in registry.planes for schema in plane.schemas} | OWN_SCHEMAS))


async def preflight(connection: Connection, schemas: Sequence[str], role: str = WORKER) -> list[Violation]:
    """All violations, by check and object; empty when none is known. Raises what asyncpg raises."""
    rows = await connection.fetch(STATEMENT, role, list(schemas), timeout=SECONDS)
    return [Violation(*row) for row in rows]


class Inspection:
    """What the last look at a process's database found. `violations` is that; it is also the metric.

    A sink looks at its role alone: what is wrong with tables that it never reads must not stop the trail.
    """

    def __init__(self, pool: asyncpg.Pool, schemas: Sequence[str], role: str = WORKER) -> None:
        self._pool = pool
        self._schemas = tuple(schemas)
        self._role = role
        self._checks = OF_A_ROLE if role == SINK else None
        self.violations: Sequence[Violation] = ()

    async def look(self) -> None:
        """Raises Transient when Postgres is away, what asyncpg raises otherwise."""
        # In a transaction: behind pgbouncer a statement is prepared and run on one server only inside one.
        async with connection(self._pool, Deadline.after(SECONDS)) as held, held.transaction(readonly=True):
            found = await preflight(held, self._schemas, self._role)
        self.violations = [v for v in found if self._checks is None or v.check in self._checks]
        metrics.TENANCY_VIOLATIONS.set(len(self.violations))

    async def refuse(self) -> None:
        """Raises Misconfigured with the first violation and how many more there are, Unreachable when Postgres is
        away."""
        try:
            await self.look()
        except Transient as error:
            raise Unreachable(f"Postgres as {self._role}: {error}; is it up?") from None
        if self.violations:
            more = len(self.violations) - 1
            rest = f" and {more} more (`planner doctor` lists them)" if more else ""
            raise Misconfigured(f"{UNSAFE}: {self.violations[0]}{rest}")

    async def repeat(self, every_seconds: float = AGAIN_SECONDS) -> None:
        """Looks again and again until cancelled, and logs what it finds. Names of objects are no secret of a tenant."""
        while True:
            await asyncio.sleep(every_seconds)
            try:
                await self.look()
            except (Transient, asyncpg.PostgresError) as error:
                log.warning("the preflight could not run", extra={"error": type(error).__name__})
            for violation in self.violations:
                log.error(UNSAFE, extra={"violation": str(violation)})

    def problems(self) -> list[str]:
        """For readiness: a worker whose database was opened wide while it ran says so."""
        return [UNSAFE] if self.violations else []
