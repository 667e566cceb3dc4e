"""The tenant's transaction: the only way a question reads rows.

Read only, repeatable read, so that all nodes of a plan see one snapshot. Its first statement sets the tenant for this
transaction alone and reads it back; it also takes the snapshot, after which the transaction can't be made writable.
Nothing here takes SQL text from outside the Registry, and nothing runs without parameters.
"""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from consumer.deadline import Deadline
from consumer.errors import PlannerError
from consumer.store.pool import BROKEN, Connection, StatementTooLong, connection, is_transient

# What costs is round trips: four a question and one a node. So the one savepoint is set with BEGIN; a node needs none
# of its own, since going back to it undoes nothing but a failure and, in repeatable read, keeps the snapshot.
BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SAVEPOINT begun"
AGAIN = "ROLLBACK TO SAVEPOINT begun"
LEAST_TIMEOUT_MS = 250
"""Of a question at its deadline: it ends by that, and what cleans up after it must not be cancelled too."""
# `transaction_timeout` would end a question whose nodes are each quick; the statement limit is what guards.
PREAMBLE = """
SELECT set_config('app.tenant_id', $1, true) AS tenant, set_config('statement_timeout', $2, true) AS timeout,
       current_user::text AS role
"""


class TenantContextLost(PlannerError):
    """The transaction does not carry the tenant it was given: nothing is read and nothing is answered from it."""


class TenantTransaction:
    """What a node may do inside the transaction: run one prepared statement."""

    def __init__(self, held: Connection, tenant_id: UUID, timeout_ms: int, role: str) -> None:
        self._held = held
        self._tenant, self._timeout, self._role = str(tenant_id), str(timeout_ms), role

    async def enter(self) -> None:
        """Sets the tenant and reads it back. Raises TenantContextLost when the session is not what it must be."""
        session = await self._held.fetchrow(PREAMBLE, self._tenant, self._timeout)
        if session is None or session["tenant"] != self._tenant or session["role"] != self._role:
            raise TenantContextLost("the session is not the worker's role with the question's tenant")

    async def fetch(self, text: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
        """The rows of a Registry statement.

        After an error the transaction is as before, so that other nodes go on. Raises StatementTooLong, or what
        asyncpg raises.
        """
        try:
            return await self._held.fetch(text, *arguments)
        except asyncpg.QueryCanceledError:
            await self._back()
            raise StatementTooLong("the statement took longer than PLANNER_STATEMENT_TIMEOUT_MS") from None
        except asyncpg.PostgresError as error:
            if not is_transient(error):
                await self._back()
            raise

    async def _back(self) -> None:
        await self._held.execute(AGAIN)
        await self.enter()


@contextlib.asynccontextmanager
async def tenant_transaction(
    pool: asyncpg.Pool, tenant_id: UUID, deadline: Deadline, statement_timeout_ms: int, role: str = "planner_worker"
) -> AsyncGenerator[TenantTransaction, None]:
    """A transaction of this tenant for the block, within the deadline.

    Raises TenantContextLost when the session is not what it must be, Transient when Postgres is away.
    """
    async with connection(pool, deadline) as held, deadline.scope():
        remaining_ms = max(LEAST_TIMEOUT_MS, int(deadline.remaining() * 1_000))
        transaction = TenantTransaction(held, tenant_id, min(statement_timeout_ms, remaining_ms), role)
        try:
            await held.execute(BEGIN)
            await transaction.enter()
            yield transaction
        finally:
            with contextlib.suppress(*BROKEN):  # what ended the block says more than what its end meets
                await held.execute("ROLLBACK")  # nothing was written
