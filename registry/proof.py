"""What a declaration must keep beyond its types. Each function gives the faults in words; none means it holds."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from registry.intent import Column, ColumnType, Edge, Intent, Param, Plane
from registry.statement import compile

SUPPLIED = ("tenant_id", "as_of")
"""Parameters that the runner binds itself: who asks, and the day that counts as today."""
BINDS: Mapping[str, frozenset[ColumnType]] = {
    "uuid": frozenset({ColumnType.ID}),
    "uei": frozenset({ColumnType.ID}),
    "naics": frozenset({ColumnType.ID, ColumnType.ENUM}),
    "agency": frozenset({ColumnType.ENTITY}),
}
"""By kind of parameter: the types of columns that an edge may read for it. No other kind has edges."""
KINDS = frozenset({*BINDS, "clearance", "compartments", "window_months"})
"""The kinds that extraction knows in every registry; a pack's reference adds its own dimensions."""
MAX_ROWS = 1_000
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_PROTECTED = re.compile(r"eeo", re.IGNORECASE)


def plane_faults(planes: Sequence[Plane]) -> Iterator[str]:
    names = [plane.name for plane in planes]
    yield from (f"plane {name} is declared twice" for name in _twice(names))
    for plane in planes:
        if plane.scope != f"{plane.name}:read":
            yield f"the scope of plane {plane.name} is {plane.name}:read"
        for schema in plane.schemas:
            if _PROTECTED.match(schema):
                yield f"plane {plane.name} reads {schema}: protected data are in no plane"
            elif not _NAME.fullmatch(schema) or schema.startswith("pg_") or schema == "information_schema":
                yield f"plane {plane.name} reads {schema}: a schema of the pack, in small letters"


def intent_faults(intent: Intent, file: Path, plane: Plane, kinds: frozenset[str]) -> Iterator[str]:
    """`kinds` are those of the reference beside KINDS."""
    columns, params = [c.name for c in intent.columns], [p.name for p in intent.params]
    if intent.name != f"{file.parent.name}.{file.stem}" or intent.plane != file.parent.name:
        yield f"the intent is called {intent.name}; its path says {file.parent.name}.{file.stem}"
    for kind, names in (("column", columns), ("parameter", params)):
        yield from (f"{kind} {name} is declared twice" for name in _twice(names))
        yield from (
            f"{kind} {name} is no name: small letters, digits, _" for name in names if not _NAME.fullmatch(name)
        )
    if not columns or not 1 <= intent.row_cap <= MAX_ROWS:
        yield f"an intent has columns, and a row_cap of 1 to {MAX_ROWS}"
    if not all((intent.description.strip(), intent.heading.strip(), intent.noun)):
        yield "description, heading and noun are what a reader and a model go by: none may be empty"
    if intent.order_by and (intent.order_by[0] not in columns or intent.order_by[1] not in ("asc", "desc")):
        yield f"order_by names {intent.order_by[0]} {intent.order_by[1]}: a declared column, asc or desc"
    for param in intent.params:
        yield from _param_faults(param, KINDS | kinds)
    for name in intent.one_of:
        if not any(p.name == name and not p.required and p.default is None for p in intent.params):
            yield f"one_of names {name}: a declared parameter with required = false and no default"
    if plane.suppressed:
        yield from (f"column {c.name} of a suppressed plane can't be bindable" for c in intent.columns if c.bindable)
    yield from _use_faults(intent, set(params))


def _param_faults(param: Param, kinds: frozenset[str]) -> Iterator[str]:
    if param.name in SUPPLIED:
        yield f"parameter {param.name} is bound by the runner and not declared"
    if param.kind not in kinds:
        yield f"parameter {param.name} is of kind {param.kind}; known are {', '.join(sorted(kinds))}"
    low, high, default = param.minimum, param.maximum, param.default
    if low is not None and high is not None and low > high:
        yield f"parameter {param.name} has a minimum above its maximum"
    if isinstance(default, int) and not (low or default) <= default <= (high or default):
        yield f"the default of parameter {param.name} is outside its limits"


def _use_faults(intent: Intent, declared: set[str]) -> Iterator[str]:
    """The statement uses what is declared and nothing else."""
    used = set(compile(intent.sql).parameters)
    if "tenant_id" not in used:
        yield "the statement does not filter on :tenant_id"
    for name in sorted(used - declared - set(SUPPLIED)):
        yield f"the statement uses :{name}, which is not declared"
    for name in sorted(declared - used):
        yield f"parameter {name} is declared and not used"


def edge_faults(intent: Intent, by_name: Mapping[str, Intent], planes: Mapping[str, Plane]) -> Iterator[str]:
    """An edge binds a declared parameter from a bindable column of its kind, of a plane that counts no people."""
    for edge in intent.edges:
        source, param = by_name.get(edge.source), next((p for p in intent.params if p.name == edge.param), None)
        where = f"edge {edge.source}.{edge.column} to {intent.name}.{edge.param}"
        if source is None:
            yield f"{where}: there is no intent {edge.source}"
        elif planes[source.plane].suppressed:
            yield f"{where}: a count of people binds no parameter"
        elif param is None:
            yield f"{where}: {intent.name} has no such parameter"
        else:
            yield from (f"{where}: {fault}" for fault in _column_faults(edge, source.columns, param))


def _column_faults(edge: Edge, columns: Sequence[Column], param: Param) -> Iterator[str]:
    column = next((c for c in columns if c.name == edge.column), None)
    if column is None or not column.bindable:
        yield "the column must be declared and bindable"
    elif column.type not in BINDS.get(param.kind, ()):
        yield f"a column of type {column.type.value} binds no parameter of kind {param.kind}"


def circle(intents: Sequence[Intent]) -> list[str]:
    """The intents that edges lead round in a circle; empty when there is none."""
    sources = {intent.name: {edge.source for edge in intent.edges} for intent in intents}
    while sources:
        free = {name for name, needed in sources.items() if not needed & sources.keys()}
        if not free:
            break
        sources = {name: needed for name, needed in sources.items() if name not in free}
    return sorted(sources)


def _twice(names: Sequence[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})
