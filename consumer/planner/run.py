"""Runs a plan's nodes in one tenant transaction: one snapshot, typed evidence out, failures dropped and named."""

import logging
from collections.abc import Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any, Protocol
from uuid import UUID

from msgspec import Struct
from msgspec.structs import replace

from consumer.errors import Transient
from consumer.observe import metrics
from consumer.planner.evidence import SUPPRESSED, Cell, Evidence
from consumer.planner.extract import Extracted, Status, accepts
from consumer.planner.plan import Argument, Node, convert, run_order
from consumer.store.pool import StatementTooLong, is_transient
from registry import Column, Intent, Registry
from schemas.answer import Dropped, DropReason, Edge

log = logging.getLogger(__name__)


class Session(Protocol):
    """What a node may do: fetch the rows of one prepared statement (`consumer.store.tenant.TenantTransaction`)."""

    async def fetch(self, text: str, arguments: Sequence[Any]) -> Sequence[Any]: ...


class Asking(Struct, frozen=True):
    """For whom and as of which day the nodes run. `k` is the smallest count of people that may be shown."""

    tenant_id: UUID
    as_of: date
    k: int


class Ran(Struct, frozen=True):
    """What came of a plan: evidence in plan order, the edges that bound, and the nodes that were dropped."""

    evidence: tuple[Evidence, ...]
    edges: tuple[Edge, ...] = ()
    dropped: tuple[Dropped, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(evidence.intent for evidence in self.evidence)


async def run(nodes: Sequence[Node], registry: Registry, session: Session, asking: Asking) -> Ran:
    """Runs the nodes, sources of edges first. Raises Transient when the database is away; a node that fails in
    itself is dropped and the others go on."""
    found: dict[str, Evidence] = {}
    edges: list[Edge] = []
    dropped: list[Dropped] = []
    for node in run_order(nodes):
        name = node.intent.name
        filled = _fill(node, found, registry)
        if filled is None:
            dropped.append(Dropped(intent=name, reason=DropReason.UNBOUND))
            continue
        arguments, bound = filled
        try:
            rows = await _fetch(node.intent, arguments, registry, session, asking)
        except StatementTooLong:
            dropped.append(Dropped(intent=name, reason=DropReason.TIMEOUT))
        except Transient:
            raise
        except Exception as error:
            if is_transient(error):
                raise
            log.warning("an intent failed", extra={"intent": name, "error": type(error).__name__})
            dropped.append(Dropped(intent=name, reason=DropReason.FAILED))
        else:
            edges += bound
            found[name] = _evidence(node.intent, arguments, rows, registry, asking)
        metrics.INTENT_RUNS.labels(name, "ok" if name in found else "dropped").inc()
    ordered = [found[node.intent.name] for node in nodes if node.intent.name in found]
    return Ran(tuple(replace(e, id=f"e{place}") for place, e in enumerate(ordered, 1)), tuple(edges), tuple(dropped))


async def _fetch(
    intent: Intent, arguments: Mapping[str, Argument], registry: Registry, session: Session, asking: Asking
) -> Sequence[Any]:
    statement = registry.statements[intent.name]
    supplied: dict[str, Any] = {"tenant_id": asking.tenant_id, "as_of": asking.as_of, **arguments}
    return await session.fetch(statement.text, [supplied[name] for name in statement.parameters])


def _fill(
    node: Node, found: Mapping[str, Evidence], registry: Registry
) -> tuple[dict[str, Argument], list[Edge]] | None:
    """The node's arguments with what its edges bring, and the edges that brought something.

    An edge takes one scalar: exactly one distinct value in the column, held to the extractor's own check. None when
    that leaves a required parameter, or all of those of which one is needed, without a value.
    """
    arguments = dict(node.arguments)
    edges: list[Edge] = []
    params = {param.name: param for param in node.intent.params}
    for edge in node.edges:
        source = found.get(edge.source)
        value = None if source is None else _scalar(source, edge.column)
        checked = None if value is None else accepts(params[edge.param].kind, value, registry.reference)
        if checked is not None:
            arguments[edge.param] = convert(params[edge.param], Extracted(Status.OK, checked))
            edges.append(Edge(source=edge.source, column=edge.column, target=node.intent.name, param=edge.param))
    lacking = any(arguments[param.name] is None for param in node.intent.required)
    one_of = node.intent.one_of
    if lacking or (one_of and all(arguments[name] is None for name in one_of)):
        return None
    return arguments, edges


def _scalar(evidence: Evidence, column: str) -> str | None:
    place = next(i for i, c in enumerate(evidence.columns) if c.name == column)
    values = {row[place] for row in evidence.rows if row[place] is not None and row[place] is not SUPPRESSED}
    return str(next(iter(values))) if len(values) == 1 and evidence.complete else None


def _evidence(
    intent: Intent,
    arguments: Mapping[str, Argument],
    rows: Sequence[Any],
    registry: Registry,
    asking: Asking,
) -> Evidence:
    complete = len(rows) <= intent.row_cap
    kept = rows[: intent.row_cap]
    plane = registry.plane(intent.plane)
    cells = tuple(tuple(_cell(row[column.name], column, plane.suppressed) for column in intent.columns) for row in kept)
    snapshot = next((row["snapshot"] for row in kept if "snapshot" in row), None) if plane.suppressed else None
    return Evidence(
        id="e0",
        intent=intent.name,
        plane=intent.plane,
        heading=intent.heading,
        noun=intent.noun,
        columns=intent.columns,
        rows=cells,
        complete=complete,
        total_rows=len(kept) if complete else None,
        order_by=intent.order_by,
        scope={name: _scope(value) for name, value in arguments.items() if value is not None},
        as_of=asking.as_of,
        k=asking.k if plane.suppressed else None,
        snapshot=snapshot,
        ahead=next(
            (p.role == "ahead" for p in intent.params if p.kind == "window_months" and arguments.get(p.name)), None
        ),
    )


def _cell(value: Any, column: Column, suppressed: bool) -> Cell:
    """A value of the database as evidence holds it. On a plane that counts people NULL in a count means withheld."""
    if value is None:
        return SUPPRESSED if suppressed and column.sensitive else None
    if isinstance(value, list | tuple):
        return tuple(str(item) for item in value)
    if isinstance(value, str | bool | int | Decimal | date):
        return value
    return str(value)


def _scope(value: Argument) -> Cell:
    if isinstance(value, list):
        return tuple(value)
    return str(value) if isinstance(value, UUID) else value
