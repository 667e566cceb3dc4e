"""The tenant's transaction: the only way a question reads rows.

Read only, repeatable read, so that all nodes of a plan see one snapshot. Its first statement sets the tenant for this
transaction alone and reads it back; it also takes the snapshot, after which the transaction can't be made writable.
Nothing here takes SQL text from outside the Registry, and nothing runs without parameters.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

import asyncpg

from consumer.deadline import Deadline
from consumer.errors import PlannerError
from consumer.store.pool import Connection, StatementTooLong, connection

# `transaction_timeout` would end a question whose nodes are each quick; the statement limit is what guards.
PREAMBLE = """
SELECT set_config('app.tenant_id', $1, true) AS tenant, set_config('statement_timeout', $2, true) AS timeout,
       current_user::text AS role
"""


class TenantContextLost(PlannerError):
    """The transaction does not carry the tenant it was given: nothing is read and nothing is answered from it."""


class TenantTransaction:
    """What a node may do inside the transaction: run one prepared statement."""

    def __init__(self, held: Connection) -> None:
        self._held = held

    async def fetch(self, text: str, arguments: Sequence[Any]) -> list[asyncpg.Record]:
        """The rows of a Registry statement.

        An error rolls back to before the statement, so that other nodes go on. Raises StatementTooLong, or what
        asyncpg raises.
        """
        try:
            async with self._held.transaction():  # a savepoint
                return await self._held.fetch(text, *arguments)
        except asyncpg.QueryCanceledError:
            raise StatementTooLong("the statement took longer than PLANNER_STATEMENT_TIMEOUT_MS") from None


@asynccontextmanager
async def tenant_transaction(
    pool: asyncpg.Pool, tenant_id: UUID, deadline: Deadline, statement_timeout_ms: int, role: str = "planner_worker"
) -> AsyncGenerator[TenantTransaction, None]:
    """A transaction of this tenant for the block, within the deadline.

    Raises TenantContextLost when the session is not what it must be, Transient when Postgres is away.
    """
    async with (
        connection(pool, deadline) as held,
        deadline.scope(),
        held.transaction(isolation="repeatable_read", readonly=True),
    ):
        timeout = str(min(statement_timeout_ms, int(deadline.remaining() * 1_000) + 1))
        session = await held.fetchrow(PREAMBLE, str(tenant_id), timeout)
        if session is None or session["tenant"] != str(tenant_id) or session["role"] != role:
            raise TenantContextLost("the session is not the worker's role with the question's tenant")
        yield TenantTransaction(held)
