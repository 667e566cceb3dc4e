"""Loads a registry folder and proves it, before anything runs.

A folder holds `planes.toml`, `intents/<plane>/<name>.sql` and `reference/`. Loading refuses the whole folder for one
fault and names the file, so that a service never starts with half a Registry.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from registry.intent import Intent, Plane
from registry.lint import lint
from registry.reference import Reference
from registry.reference import load as load_reference
from registry.statement import Statement, compile

BUILT_IN = Path(__file__).parent
OPENING, CLOSING = "/*---", "---*/"
SUPPLIED = ("tenant_id", "as_of")
"""Parameters that the runner binds itself: who asks, and the day that counts as today."""


class InvalidRegistry(Exception):
    """The folder is no registry. The message names the file and the rule."""


class _Planes(Struct, frozen=True, forbid_unknown_fields=True):
    planes: tuple[Plane, ...]


class Registry:
    """The closed set of intents, in Registry order: by plane, then by name. Never changes after loading."""

    def __init__(self, folder: Path, planes: Sequence[Plane], intents: Sequence[Intent]) -> None:
        order = {plane.name: place for place, plane in enumerate(planes)}
        self.folder = folder
        self.planes: tuple[Plane, ...] = tuple(planes)
        self.intents: tuple[Intent, ...] = tuple(sorted(intents, key=lambda i: (order[i.plane], i.name)))
        self.by_name: Mapping[str, Intent] = {intent.name: intent for intent in self.intents}
        self.statements: Mapping[str, Statement] = {i.name: _statement(i) for i in self.intents}
        self.kinds = frozenset(param.kind for intent in self.intents for param in intent.params)
        self.digest: str = _digest(self.planes, self.intents)

    def plane(self, name: str) -> Plane:
        """Raises KeyError when there is no such plane."""
        return next(p for p in self.planes if p.name == name)

    @cached_property
    def reference(self) -> Reference:
        """The code lists and names that extraction knows."""
        return load_reference(str(self.folder))


def _statement(intent: Intent) -> Statement:
    """The statement with its bound: one row more than the cap, to know whether the cap bit."""
    compiled = compile(intent.sql)
    return Statement(f"{compiled.text}\nLIMIT {intent.row_cap + 1}", compiled.parameters)


def load(folder: str = "") -> Registry:
    """The registry in `folder`, or the built in one. Raises InvalidRegistry, which names the file and what is wrong."""
    path = Path(folder) if folder else BUILT_IN
    planes = _planes(path / "planes.toml")
    intents = [_intent(file, planes) for file in sorted((path / "intents").glob("*/*.sql"))]
    if not intents:
        raise InvalidRegistry(f"{path / 'intents'} holds no intent: one .sql file each, in a folder named as its plane")
    by_name = {intent.name: intent for intent in intents}
    for intent in intents:
        _prove_edges(intent, by_name, planes)
    _prove_acyclic(intents)
    return Registry(path, tuple(planes.values()), intents)


def _planes(file: Path) -> dict[str, Plane]:
    try:
        planes = msgspec.convert(tomllib.loads(file.read_text(encoding="utf-8")), _Planes).planes
    except OSError as error:
        raise InvalidRegistry(f"{file} can't be read: {error.strerror}; a registry folder starts with it") from None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidRegistry(f"{file}: {error}") from None
    return {plane.name: plane for plane in planes}


def _intent(file: Path, planes: Mapping[str, Plane]) -> Intent:
    """The intent of one file, its declaration and statement proven."""
    text = file.read_text(encoding="utf-8")
    head, closing, sql = text.partition(CLOSING)
    if not head.startswith(OPENING) or not closing:
        raise InvalidRegistry(f"{file} must open with its declaration in TOML between {OPENING} and {CLOSING}")
    try:
        declared = tomllib.loads(head.removeprefix(OPENING))
        intent = msgspec.convert({**declared, "sql": sql.strip()}, Intent)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidRegistry(f"{file}: {error}") from None
    faults = [*_declaration_faults(intent, file, planes)]
    if not faults:
        faults = lint(intent.sql, planes[intent.plane].schemas)
    if faults:
        raise InvalidRegistry(f"{file}: {faults[0]}")
    return intent


def _declaration_faults(intent: Intent, file: Path, planes: Mapping[str, Plane]) -> Sequence[str]:
    faults: list[str] = []
    if intent.plane not in planes:
        return [f"plane {intent.plane} is not in planes.toml"]
    if intent.name != f"{file.parent.name}.{file.stem}" or intent.plane != file.parent.name:
        faults.append(f"the intent is called {intent.name}; its path says {file.parent.name}.{file.stem}")
    columns, params = [c.name for c in intent.columns], [p.name for p in intent.params]
    for kind, names in (("column", columns), ("parameter", params)):
        faults += [f"{kind} {name} is declared twice" for name in set(names) if names.count(name) > 1]
    used = set(compile(intent.sql).parameters)
    if "tenant_id" not in used:
        faults.append("the statement does not filter on :tenant_id")
    faults += [f"the statement uses :{name}, which is not declared" for name in sorted(used - {*params, *SUPPLIED})]
    faults += [f"parameter {name} is declared and not used" for name in sorted(set(params) - used)]
    if planes[intent.plane].suppressed:
        faults += [f"column {c.name} of a suppressed plane can't be bindable" for c in intent.columns if c.bindable]
    if intent.order_by and (intent.order_by[0] not in columns or intent.order_by[1] not in ("asc", "desc")):
        faults.append(f"order_by names {intent.order_by[0]} {intent.order_by[1]}: a declared column, asc or desc")
    return faults


def _prove_edges(intent: Intent, by_name: Mapping[str, Intent], planes: Mapping[str, Plane]) -> None:
    """An edge binds a declared parameter from a bindable column of a plane that is not suppressed."""
    for edge in intent.edges:
        where = f"edge {edge.source}.{edge.column} to {intent.name}.{edge.param}"
        source = by_name.get(edge.source)
        if source is None:
            raise InvalidRegistry(f"{where}: there is no intent {edge.source}")
        column = next((c for c in source.columns if c.name == edge.column), None)
        if column is None or not column.bindable:
            raise InvalidRegistry(f"{where}: the column must be declared and bindable")
        if planes[source.plane].suppressed:
            raise InvalidRegistry(f"{where}: a count of people binds no parameter")
        if edge.param not in {p.name for p in intent.params}:
            raise InvalidRegistry(f"{where}: {intent.name} has no such parameter")


def _prove_acyclic(intents: Sequence[Intent]) -> None:
    sources = {intent.name: {edge.source for edge in intent.edges} for intent in intents}
    while sources:
        free = {name for name, needed in sources.items() if not needed & sources.keys()}
        if not free:
            raise InvalidRegistry(f"edges form a circle through {', '.join(sorted(sources))}")
        sources = {name: needed for name, needed in sources.items() if name not in free}


def _digest(planes: Sequence[Plane], intents: Sequence[Intent]) -> str:
    """SHA-256 over the declarations and statements in Registry order; the layout of the files does not matter."""
    content = msgspec.json.encode((planes, intents), order="deterministic")
    return f"sha256:{sha256(content).hexdigest()}"
