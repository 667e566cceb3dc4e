"""Loads a registry folder and proves it, before anything runs.

A folder holds `planes.toml`, `intents/<plane>/<name>.sql` and `reference/`. Loading refuses the whole folder for one
fault and names the file, so that a service never starts with half a Registry.
"""

import tomllib
from collections.abc import Iterable, Mapping, Sequence, Set
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct

from registry.intent import Intent, Plane
from registry.lint import lint
from registry.proof import circle, edge_faults, intent_faults, plane_faults
from registry.reference import Reference
from registry.reference import load as load_reference
from registry.statement import Statement, compile

BUILT_IN = Path(__file__).parent
OPENING, CLOSING = "/*---", "---*/"


class InvalidRegistry(Exception):
    """The folder is no registry. The message names the file and the rule."""


class _Planes(Struct, frozen=True, forbid_unknown_fields=True):
    planes: tuple[Plane, ...]


class Registry:
    """The closed set of intents, in Registry order: by plane, then by name. Never changes after loading."""

    def __init__(self, folder: Path, planes: Sequence[Plane], intents: Sequence[Intent], reference: Reference) -> None:
        order = {plane.name: place for place, plane in enumerate(planes)}
        self.folder = folder
        self.planes: tuple[Plane, ...] = tuple(planes)
        self._plane_by_name: Mapping[str, Plane] = {plane.name: plane for plane in planes}
        self.plane_names = frozenset(self._plane_by_name)
        self.intents: tuple[Intent, ...] = tuple(sorted(intents, key=lambda i: (order[i.plane], i.name)))
        self.by_name: Mapping[str, Intent] = {intent.name: intent for intent in self.intents}
        self.statements: Mapping[str, Statement] = {i.name: _statement(i) for i in self.intents}
        self.kinds = frozenset(param.kind for intent in self.intents for param in intent.params)
        self.reference = reference
        self.digest: str = _digest(self.planes, self.intents)

    def plane(self, name: str) -> Plane:
        """Raises KeyError when there is no such plane."""
        return self._plane_by_name[name]

    def planes_for(self, scopes: Set[str]) -> frozenset[str]:
        """Names of the planes that these scopes may read."""
        return frozenset(plane.name for plane in self.planes if plane.scope in scopes)


def _statement(intent: Intent) -> Statement:
    """The statement with its bound: one row more than the cap, to know whether the cap bit."""
    compiled = compile(intent.sql)
    return Statement(f"{compiled.text}\nLIMIT {intent.row_cap + 1}", compiled.parameters)


def load(folder: str = "") -> Registry:
    """The registry in `folder`, or the built in one. Raises InvalidRegistry, which names the file and what is wrong."""
    path = Path(folder) if folder else BUILT_IN
    planes = _planes(path / "planes.toml")
    reference = _reference(path)
    kinds = frozenset(reference.dimensions)
    read = {file: _intent(file, planes, kinds) for file in sorted((path / "intents").glob("*/*.sql"))}
    if not read:
        raise InvalidRegistry(f"{path / 'intents'} holds no intent: one .sql file each, in a folder named as its plane")
    by_name = {intent.name: intent for intent in read.values()}
    for file, intent in read.items():
        _refuse(file, edge_faults(intent, by_name, planes))
    if round_trip := circle(list(read.values())):
        raise InvalidRegistry(f"{path / 'intents'}: edges form a circle through {', '.join(round_trip)}")
    return Registry(path, tuple(planes.values()), list(read.values()), reference)


def _refuse(file: Path, faults: Iterable[str]) -> None:
    """Raises InvalidRegistry for the first fault, if there is any."""
    for fault in faults:
        raise InvalidRegistry(f"{file}: {fault}")


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidRegistry(f"{file} can't be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidRegistry(f"{file} is not UTF-8 text") from None


def _planes(file: Path) -> dict[str, Plane]:
    try:
        planes = msgspec.convert(tomllib.loads(_text(file)), _Planes).planes
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidRegistry(f"{file}: {error}") from None
    _refuse(file, plane_faults(planes))
    return {plane.name: plane for plane in planes}


def _reference(folder: Path) -> Reference:
    try:
        return load_reference(str(folder))
    except (OSError, LookupError, ValueError) as error:
        raise InvalidRegistry(f"{folder / 'reference'}: a table has another layout ({error})") from None


def _intent(file: Path, planes: Mapping[str, Plane], kinds: frozenset[str]) -> Intent:
    """The intent of one file, its declaration and statement proven."""
    head, closing, sql = _text(file).partition(CLOSING)
    if not head.startswith(OPENING) or not closing:
        raise InvalidRegistry(f"{file} must open with its declaration in TOML between {OPENING} and {CLOSING}")
    try:
        declared = tomllib.loads(head.removeprefix(OPENING))
        intent = msgspec.convert({**declared, "sql": sql.strip()}, Intent)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InvalidRegistry(f"{file}: {error}") from None
    plane = planes.get(intent.plane)
    if plane is None:
        raise InvalidRegistry(f"{file}: plane {intent.plane} is not in planes.toml")
    _refuse(file, intent_faults(intent, file, plane, kinds))
    _refuse(file, lint(intent.sql, plane.schemas))
    return intent


def _digest(planes: Sequence[Plane], intents: Sequence[Intent]) -> str:
    """SHA-256 over the declarations and statements in Registry order; the layout of the files does not matter."""
    content = msgspec.json.encode((planes, intents), order="deterministic")
    return f"sha256:{sha256(content).hexdigest()}"
