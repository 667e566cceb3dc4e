"""From names to a plan: binding, validation, edges. Names come from a proposer, values from extraction alone.

A parameter is bound by one fixed rule from its declared kind to the extractor of that kind; nothing is guessed. A
value that the question gives ambiguously or wrongly leaves the intent unbound, even where the parameter is optional:
answering without it would answer another question.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from msgspec import Struct

from consumer.planner.extract import Extracted, Params, Status
from consumer.planner.extract.value import Span
from registry import Edge, Intent, Param, Registry
from schemas.answer import Dropped, DropReason

MAX_NODES = 6
"""Most nodes of a plan: with no recursion, the bound of its work."""

Argument = str | int | UUID | list[str] | None

HOW_TO_GIVE: Mapping[str, str] = {
    "agency": 'name the agency, in quotes as in "Department of the Navy"',
    "naics": "give a six digit NAICS code, such as 541512",
    "uuid": "give the UUID of the opportunity or requirement",
    "uei": "give the vendor's UEI, twelve characters as in SAM.gov",
    "clearance": "name a clearance, such as Secret or TS/SCI",
    "compartments": "name the compartments, such as SI and TK, beside TS/SCI",
    "window_months": "give the time in months, such as 18 months",
}
FISCAL_YEAR_NOTE = (
    "a fiscal year is a range of dates and no number of months; say the time in months, such as 12 months"
)


class Need(Struct, frozen=True):
    """A parameter that keeps an intent from being bound: its kind, and what to do about it."""

    kind: str
    note: str


class Bound(Struct, frozen=True):
    """The arguments of an intent by parameter name; what stands in `edges` is filled in when its source has run."""

    arguments: dict[str, Argument]
    edges: tuple[Edge, ...] = ()


class Node(Struct, frozen=True):
    """One intent of a plan with its arguments."""

    intent: Intent
    arguments: dict[str, Argument]
    edges: tuple[Edge, ...] = ()


class Plan(Struct, frozen=True):
    """Nodes in Registry order, then by name; at most MAX_NODES. `dropped` names what was asked for and can't run."""

    nodes: tuple[Node, ...]
    dropped: tuple[Dropped, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(node.intent.name for node in self.nodes)

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of parameters that bound, sorted: what the audit event may say of values."""
        filled = {
            param.kind
            for node in self.nodes
            for param in node.intent.params
            if node.arguments[param.name] is not None or param.name in {edge.param for edge in node.edges}
        }
        return tuple(sorted(filled))


def bind(intent: Intent, params: Params) -> Bound | tuple[Need, ...]:
    """The intent's arguments out of the question, or what is missing. Edges are not looked at."""
    arguments: dict[str, Argument] = {}
    needs: list[Need] = []
    for param in intent.params:
        value, need = _bind_one(param, params)
        arguments[param.name] = value
        if need is not None:
            needs.append(need)
    if intent.one_of and not needs and all(arguments[name] is None for name in intent.one_of):
        kinds = dict.fromkeys(p.kind for p in intent.params if p.name in intent.one_of)
        needs += [Need(kind, HOW_TO_GIVE.get(kind, f"give the {kind}")) for kind in kinds]
    return tuple(needs) if needs else Bound(arguments)


def _bind_one(param: Param, params: Params) -> tuple[Argument, Need | None]:
    found = params.get(param.kind)
    if _is_missing(param, params) or found is None:
        if param.kind == "window_months" and _is_fiscal(params):
            return None, Need(param.kind, FISCAL_YEAR_NOTE)
        if param.default is None and param.required:
            return None, Need(param.kind, HOW_TO_GIVE.get(param.kind, f"give the {param.kind}"))
        return param.default, None
    if found.status is not Status.OK or found.value is None:
        return None, Need(param.kind, found.note or HOW_TO_GIVE.get(param.kind, f"give the {param.kind}"))
    return convert(param, found), None


def _is_fiscal(params: Params) -> bool:
    found = params.get("fiscal_year")
    return found is not None and found.status is not Status.MISSING


def convert(param: Param, found: Extracted) -> Argument:
    """The value as the statement takes it; a number is clamped to the parameter's limits."""
    value = found.value_for(param.role)
    if isinstance(value, int):
        low = value if param.minimum is None else max(value, param.minimum)
        return low if param.maximum is None else min(low, param.maximum)
    if isinstance(value, tuple):
        return [str(item) for item in value]
    return UUID(value) if param.kind == "uuid" and value is not None else value


def bind_with_edges(
    intent: Intent, params: Params, registry: Registry, scopes: frozenset[str]
) -> Bound | tuple[Need, ...]:
    """As `bind`; a parameter that the question does not give may come from a declared source that binds directly."""
    direct = bind(intent, params)
    if isinstance(direct, Bound) or not intent.edges:
        return direct
    return _bind_by_edges(intent, params, direct, _sources(intent, params, registry, scopes))


def _bind_by_edges(
    intent: Intent, params: Params, needs: tuple[Need, ...], sources: frozenset[str]
) -> Bound | tuple[Need, ...]:
    wanting = {need.kind for need in needs}
    missing = {p.name for p in intent.params if p.kind in wanting and _is_missing(p, params)}
    if any(p.kind in wanting and p.name not in missing for p in intent.params):
        return needs  # a value was given and is wrong: no edge may take its place
    edges = tuple(edge for edge in intent.edges if edge.param in missing and edge.source in sources)
    covered = {edge.param for edge in edges}
    if not edges or not {p.name for p in intent.required} & missing <= covered:
        return needs
    arguments: dict[str, Argument] = {}
    for param in intent.params:
        arguments[param.name] = None if param.name in covered else _bind_one(param, params)[0]
    return Bound(arguments, edges)


def _is_missing(param: Param, params: Params) -> bool:
    """Whether the question has no value for this parameter, right or wrong. A uuid that it calls an opportunity is no
    requirement, and a window that looks ahead says nothing of the past."""
    found = params.get(param.kind)
    if found is None or found.status is Status.MISSING:
        return True
    return found.status is Status.OK and found.value_for(param.role) is None


def _sources(intent: Intent, params: Params, registry: Registry, scopes: frozenset[str]) -> frozenset[str]:
    """The sources of the intent's edges that this asker may run and this question binds."""
    return frozenset(
        name
        for name in {edge.source for edge in intent.edges}
        if registry.plane(registry.by_name[name].plane).scope in scopes
        and isinstance(bind(registry.by_name[name], params), Bound)
    )


def bindable(registry: Registry, params: Params, scopes: frozenset[str]) -> tuple[Intent, ...]:
    """What this asker may run and this question can bind, directly or by an edge: all that a proposer is offered."""
    planes = registry.planes_for(scopes)
    allowed = [intent for intent in registry.intents if intent.plane in planes]
    direct = frozenset(intent.name for intent in allowed if _binds(intent, params))

    def by_edges(intent: Intent) -> bool:
        if direct.isdisjoint(edge.source for edge in intent.edges):
            return False
        needs = bind(intent, params)
        return isinstance(needs, Bound) or isinstance(_bind_by_edges(intent, params, needs, direct), Bound)

    return tuple(intent for intent in allowed if intent.name in direct or by_edges(intent))


def _binds(intent: Intent, params: Params) -> bool:
    """Whether `bind` binds: the same rules with nothing built."""
    given = not intent.one_of
    for param in intent.params:
        if _is_missing(param, params):
            if param.required and param.default is None:
                return False
            if param.kind == "window_months" and _is_fiscal(params):
                return False
        elif params[param.kind].status is not Status.OK:
            return False
        else:
            given = given or param.name in intent.one_of
    return given


def spans_taken(params: Params, registry: Registry) -> dict[str, tuple[Span, ...]]:
    """Where the values stand whose kinds some intent takes, by kind and role (`window_months_ahead`).

    What none takes (a set aside) is part of the wording."""
    return {
        kind if found.role is None else f"{kind}_{found.role}": found.spans
        for kind, found in params.items()
        if kind in registry.kinds
    }


def validate(names: Iterable[str], registry: Registry, params: Params, scopes: frozenset[str]) -> Plan:
    """The plan of these names: unknown ones are left out, those that can't run are dropped with their reason."""
    dropped: list[Dropped] = []
    bound: dict[str, Bound] = {}
    for name in sorted(set(names) & registry.by_name.keys(), key=lambda n: _place(registry, n)):
        intent = registry.by_name[name]
        if registry.plane(intent.plane).scope not in scopes:
            dropped.append(Dropped(intent=name, reason=DropReason.UNAUTHORIZED))
            continue
        binding = bind_with_edges(intent, params, registry, scopes)
        if not isinstance(binding, Bound):
            dropped.append(Dropped(intent=name, reason=DropReason.UNBOUND))
            continue
        sources = {e.source for e in binding.edges}
        if len(bound.keys() | sources | {name}) > MAX_NODES:
            dropped.append(Dropped(intent=name, reason=DropReason.UNBOUND))
            continue
        bound[name] = binding
        for source in sources - bound.keys():
            found = bind(registry.by_name[source], params)
            assert isinstance(found, Bound), "an edge's source was checked to bind"
            bound[source] = found
    ordered = sorted(bound, key=lambda n: _place(registry, n))
    return Plan(tuple(Node(registry.by_name[n], bound[n].arguments, bound[n].edges) for n in ordered), tuple(dropped))


def _place(registry: Registry, name: str) -> int:
    return registry.intents.index(registry.by_name[name])


def run_order(nodes: Sequence[Node]) -> list[Node]:
    """Sources before what they bind, else as planned. Edges form no circle: the Registry proved it."""
    waiting, done, ordered = list(nodes), set[str](), list[Node]()
    names = {node.intent.name for node in nodes}
    while waiting:
        ready = next(n for n in waiting if all(e.source in done or e.source not in names for e in n.edges))
        waiting.remove(ready)
        done.add(ready.intent.name)
        ordered.append(ready)
    return ordered
