"""The tenant's transaction: the only way a question reads rows.

Read only, repeatable read, so that all nodes of a plan see one snapshot. Its first statement sets the tenant for this
transaction alone and checks it; it also takes the snapshot, after which the transaction can't be made writable.
Nothing here takes SQL text from outside the Registry, and its values go as parameters.
"""

import contextlib
from collections.abc import AsyncGenerator, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from consumer.deadline import Deadline
from consumer.errors import PlannerError
from consumer.store.pool import Connection, StatementTooLong, connection, is_transient

# What costs is round trips: two a question and one a node. So the tenant is set, and all that must hold is checked, in
# the text that begins; and the savepoint behind it serves every node, since going back to it undoes nothing but a
# failure: tenant and snapshot stay.
ENTER = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT 1 / (set_config('app.tenant_id', '{tenant}', true) = '{tenant}' AND current_user = '{role}'
            AND set_config('statement_timeout', '{timeout_ms:d}', true) IS NOT NULL)::int;
SAVEPOINT entered;
"""
AGAIN = "ROLLBACK TO SAVEPOINT entered"
LEAST_TIMEOUT_MS = 250
"""Of a question at its deadline: it ends by that, and what cleans up after it must not be cancelled too."""
# `transaction_timeout` would end a question whose nodes are each quick; the statement limit is what guards.


class TenantContextLost(PlannerError):
    """The transaction does not carry the tenant it was given: nothing is read and nothing is answered from it."""


class TenantTransaction:
    """What a node may do inside the transaction: run one prepared statement."""

    def __init__(self, held: Connection) -> None:
        self._held = held

    async def fetch(self, text: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
        """The rows of a Registry statement.

        After an error the transaction is as before, so that other nodes go on. Raises StatementTooLong, or what
        asyncpg raises.
        """
        try:
            return await self._held.fetch(text, *arguments)
        except asyncpg.QueryCanceledError:
            await self._held.execute(AGAIN)
            raise StatementTooLong("the statement took longer than PLANNER_STATEMENT_TIMEOUT_MS") from None
        except asyncpg.PostgresError as error:
            if not is_transient(error):
                await self._held.execute(AGAIN)
            raise


@contextlib.asynccontextmanager
async def tenant_transaction(
    pool: asyncpg.Pool, tenant_id: UUID, deadline: Deadline, statement_timeout_ms: int, role: str = "planner_worker"
) -> AsyncGenerator[TenantTransaction, None]:
    """A transaction of this tenant for the block, within the deadline.

    Raises TenantContextLost when the session is not what it must be, Transient when Postgres is away.
    """
    async with connection(pool, deadline) as held, deadline.scope():
        remaining_ms = max(LEAST_TIMEOUT_MS, int(deadline.remaining() * 1_000))
        timeout_ms = min(statement_timeout_ms, remaining_ms)
        tenant = UUID(int=tenant_id.int)  # hexadecimal digits whatever was given: it becomes part of the text
        try:
            await held.execute(ENTER.format(tenant=tenant, role=role, timeout_ms=timeout_ms))
        except asyncpg.DivisionByZeroError:
            raise TenantContextLost("the session is not the worker's role with the question's tenant") from None
        yield TenantTransaction(held)  # nothing is written: giving the connection back ends it
