"""`planner registry`: read the closed list of prepared queries, and prove it."""

import json as json_text
from typing import Annotated

import asyncpg
import msgspec
from cyclopts import App
from rich.syntax import Syntax

from consumer.cli import FAILED, Configured, Flag, output
from consumer.errors import Misconfigured, PlannerError, Unreachable
from consumer.settings import Settings
from consumer.store.agree import Disagreement, disagreements
from registry import Intent, Registry, load
from registry.catalog import InvalidRegistry

CONNECT_SECONDS = 10.0
PREPARE_SECONDS = 60.0

app = App(name="registry", help="The closed list of prepared queries.")


@app.command(name="list")
def list_intents(*, json: Annotated[bool, Flag] = False, settings: Configured) -> None:
    """Every intent by plane: what it answers, what it needs.

    Parameters
    ----------
    json
        Print one JSON document.
    """
    loaded = _loaded(settings)
    if json:
        print(json_text.dumps({"digest": loaded.digest, "intents": [_short(intent) for intent in loaded.intents]}))
        return
    rows = [(intent.name, _needs(intent), intent.description) for intent in loaded.intents]
    output.table(("intent", "needs", "answers"), rows)
    planes = ", ".join(plane.name for plane in loaded.planes)
    output.console().print(f"{len(rows)} intents in {planes}; `planner registry show NAME` tells more", style="dim")


@app.command
def show(name: str, /, *, json: Annotated[bool, Flag] = False, settings: Configured) -> None:
    """One intent: its parameters, columns, edges, definition and statement.

    Parameters
    ----------
    name
        As `planner registry list` prints it, such as market.competitors.
    json
        Print one JSON document.
    """
    loaded = _loaded(settings)
    intent = loaded.by_name.get(name)
    if intent is None:
        raise Misconfigured(f"there is no intent {name}; `planner registry list` prints all")
    if json:
        print(json_text.dumps(msgspec.to_builtins(intent)))
        return
    _print(intent, loaded)


@app.command
async def check(*, json: Annotated[bool, Flag] = False, settings: Configured) -> int:
    """Parses and proves every intent; with PLANNER_DATABASE_URL set, prepares each statement there as the worker's role
    and compares parameters, column names and types. Exit 1 when anything is wrong.

    Parameters
    ----------
    json
        Print one JSON document.
    """
    try:
        loaded = load(settings.registry)
    except InvalidRegistry as error:  # what this command is there to find, not a slip in calling it
        raise PlannerError(str(error)) from None
    found = await _differences(loaded, settings) if settings.database_url else []
    prepared = len(loaded.intents) if settings.database_url else 0
    if json:
        content = {"digest": loaded.digest, "intents": len(loaded.intents), "prepared": prepared}
        print(json_text.dumps({**content, "faults": msgspec.to_builtins(found)}))
    elif found:
        output.table(("intent", "fault"), [(one.intent, one.what) for one in found])
    else:
        rest = "all prepared against the database" if prepared else "set PLANNER_DATABASE_URL to prepare them as well"
        output.console().print(f"{len(loaded.intents)} intents are proven, {loaded.digest[:19]}; {rest}")
    return FAILED if found else 0


@app.command
def digest(*, json: Annotated[bool, Flag] = False, settings: Configured) -> None:
    """The SHA-256 of the Registry's content, as every answer and audit event carries it.

    Parameters
    ----------
    json
        Print one JSON document.
    """
    value = _loaded(settings).digest
    print(json_text.dumps({"digest": value}) if json else value)


def _loaded(settings: Settings) -> Registry:
    try:
        return load(settings.registry)
    except InvalidRegistry as error:
        raise Misconfigured(str(error)) from None


async def _differences(loaded: Registry, settings: Settings) -> list[Disagreement]:
    try:
        connection = await asyncpg.connect(
            settings.database_url, timeout=CONNECT_SECONDS, command_timeout=PREPARE_SECONDS
        )
    except (OSError, TimeoutError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Unreachable(
            f"Postgres of PLANNER_DATABASE_URL: {type(error).__name__}; is it up, is the URL right?"
        ) from None
    try:
        return await disagreements(connection, loaded)
    finally:
        await connection.close(timeout=CONNECT_SECONDS)


def _short(intent: Intent) -> dict[str, object]:
    """What the list says of an intent."""
    return {
        "name": intent.name,
        "plane": intent.plane,
        "description": intent.description,
        "params": [{"name": p.name, "kind": p.kind, "required": p in intent.required} for p in intent.params],
        "one_of": list(intent.one_of),
    }


def _needs(intent: Intent) -> str:
    required = [param.name for param in intent.required]
    if intent.one_of:
        required.append(" or ".join(intent.one_of))
    return ", ".join(required)


def _print(intent: Intent, loaded: Registry) -> None:
    out = output.console()
    out.print(f"[bold]{intent.name}[/]  {intent.description}\n")
    facts = {
        "plane": f"{intent.plane} (scope {loaded.plane(intent.plane).scope})",
        "rows": f"at most {intent.row_cap}",
        "definition": " ".join(intent.definition.split()),
        "asked as": "; ".join(intent.phrases),
    }
    output.pairs({name: value for name, value in facts.items() if value})
    if intent.params:
        out.print()
        output.table(("parameter", "kind", "when missing"), [_param(intent, p.name) for p in intent.params])
    out.print()
    output.table(
        ("column", "type", "notes"),
        [(c.name, c.type.value, _notes(c.key, c.sensitive, c.bindable)) for c in intent.columns],
    )
    for edge in intent.edges:
        out.print(f"{edge.param} may come from {edge.source} {edge.column}", style="dim")
    out.print()
    if out.is_terminal:
        out.print(Syntax(intent.sql, "sql", background_color="default", word_wrap=True))
    else:
        print(intent.sql)


def _param(intent: Intent, name: str) -> tuple[str, str, str]:
    param = next(p for p in intent.params if p.name == name)
    kind = f"{param.kind} of a {param.role}" if param.role and param.kind == "uuid" else param.kind
    if param.default is not None:
        return name, kind, f"{param.default}"
    if name in intent.one_of:
        return name, kind, f"one of {' or '.join(intent.one_of)} is needed"
    return name, kind, "not asked" if param.required else "any"


def _notes(key: bool, sensitive: bool, bindable: bool) -> str:
    words = (("tells rows apart", key), ("counts people", sensitive), ("may bind a parameter", bindable))
    return ", ".join(word for word, holds in words if holds)
