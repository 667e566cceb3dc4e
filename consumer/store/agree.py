"""Holds the Registry against a real database: every statement prepares, and its columns are those it declares.

Preparing resolves names and types. Rights on tables are looked at only when a statement starts, so each is started
for no rows, with every parameter null. It is done as the worker's role: what the worker may not read is found here and
not by the first question.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import asyncpg
from msgspec import Struct

from registry import Intent, Registry
from registry.intent import ColumnType
from registry.proof import SUPPLIED
from registry.statement import Statement

if TYPE_CHECKING:
    from asyncpg.prepared_stmt import PreparedStatement

    Connection = asyncpg.Connection[asyncpg.Record]
    Prepared = PreparedStatement[asyncpg.Record]
else:
    Connection = Prepared = object

START = "SELECT * FROM ({}\n) AS started LIMIT 0"
WORDS = frozenset({"text", "varchar", "bpchar"})
WHOLE = frozenset({"int2", "int4", "int8"})
EXACT = frozenset({"numeric"})
COLUMN_TYPES: Mapping[ColumnType, frozenset[str]] = {
    ColumnType.MONEY: EXACT,  # binary floating point would invent digits
    ColumnType.COUNT: WHOLE,
    ColumnType.PERCENT: EXACT,
    ColumnType.RANK: WHOLE,
    ColumnType.DATE: frozenset({"date"}),
    ColumnType.DURATION: WHOLE | EXACT,
    ColumnType.BOOL: frozenset({"bool"}),
    ColumnType.ENUM: WORDS,
    ColumnType.ENTITY: WORDS,
    ColumnType.ID: WORDS | {"uuid"},
    ColumnType.TEXT: WORDS,
}
PARAMETER_TYPES: Mapping[str, frozenset[str]] = {
    "tenant_id": frozenset({"uuid"}),
    "as_of": frozenset({"date"}),
    "uuid": frozenset({"uuid"}),
    "window_months": WHOLE,
    "compartments": frozenset({"text[]", "varchar[]"}),
}
"""By kind, and by name for what the runner supplies. Any other kind is words."""


class Disagreement(Struct, frozen=True):
    """One way in which an intent and the database differ."""

    intent: str
    what: str


async def disagreements(connection: Connection, registry: Registry) -> list[Disagreement]:
    """What differs, in Registry order; empty when every intent can run. Raises what asyncpg raises when it is away."""
    found: list[Disagreement] = []
    for intent in registry.intents:
        statement = registry.statements[intent.name]
        try:
            prepared = await connection.prepare(statement.text)
            await connection.fetch(START.format(statement.text), *[None] * len(statement.parameters))
        except asyncpg.PostgresError as error:
            if isinstance(error, asyncpg.PostgresConnectionError):
                raise
            found.append(Disagreement(intent.name, f"Postgres refuses it: {error.args[0]}"))
            continue
        found += [Disagreement(intent.name, what) for what in _differences(intent, statement, prepared)]
    return found


def _differences(intent: Intent, statement: Statement, prepared: Prepared) -> Iterator[str]:
    kinds = {param.name: param.kind for param in intent.params} | {name: name for name in SUPPLIED}
    for name, taken in zip(statement.parameters, prepared.get_parameters(), strict=True):
        allowed = PARAMETER_TYPES.get(kinds[name], WORDS)
        if taken.name not in allowed:
            yield f"parameter {name} ({kinds[name]}) is {taken.name}; it must be {_either(allowed)}"
    given = [(attribute.name, attribute.type.name) for attribute in prepared.get_attributes()]
    names = [name for name, _ in given]
    declared = [column.name for column in intent.columns]
    if names != declared:
        yield f"the columns are {', '.join(names)}; declared are {', '.join(declared)}"
        return
    for column, (name, kind) in zip(intent.columns, given, strict=True):
        allowed = COLUMN_TYPES[column.type]
        if column.plural:
            allowed = frozenset(f"{one}[]" for one in allowed)
        if kind not in allowed:
            yield f"column {name} is {kind}; {column.type.value} must be {_either(allowed)}"


def _either(names: Sequence[str] | frozenset[str]) -> str:
    return " or ".join(sorted(names))
