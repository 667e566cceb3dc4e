"""What an intent is: one prepared statement with its declaration, one file each.

A file is SQL that opens with a comment holding TOML between `/*---` and `---*/`; the TOML is an `Intent`
without `sql`. The statement names its parameters `:agency`, `:naics`, ... and always `:tenant_id` (uuid)
and, where it needs today, `:as_of` (date); `Catalog` turns those into positions.
"""

from enum import StrEnum

from msgspec import Struct

Scalar = str | int


class ColumnType(StrEnum):
    MONEY = "money"  # Decimal, US dollars
    COUNT = "count"
    PERCENT = "percent"  # Decimal, 34.6 means 34.6 percent
    RANK = "rank"
    DATE = "date"
    DURATION = "duration"  # a number of `unit`
    BOOL = "bool"
    ENUM = "enum"
    ENTITY = "entity"  # a proper name
    ID = "id"
    TEXT = "text"  # free text of the data: shown verbatim or not at all


class Param(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A parameter of a statement. `kind` names the extractor that may bind it; `name` is how the SQL spells it.

    `role` tells uuids apart (`requirement`, `opportunity`). A window without a value takes `default` and is
    clamped to `minimum` and `maximum`; any other parameter with `required = false` binds NULL when missing.
    """

    name: str
    kind: str
    role: str | None = None
    required: bool = True
    default: Scalar | None = None
    minimum: int | None = None
    maximum: int | None = None


class Column(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A column of the result: its type decides how it is rendered and what a sentence may claim of it.

    `words` are how prose may call it, `aliases` how prose may call a value, `additive` allows a sum,
    `sensitive` marks bench counts, `key` the columns that tell rows apart, `untrusted` free text of the data.
    `bindable` lets an edge read it.
    """

    name: str
    type: ColumnType
    unit: str | None = None
    label: str | None = None
    words: tuple[str, ...] = ()
    aliases: dict[str, tuple[str, ...]] = {}
    additive: bool = False
    sensitive: bool = False
    key: bool = False
    plural: bool = False
    untrusted: bool = False
    bindable: bool = False


class Edge(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Parameter `param` of this intent may take one scalar out of column `column` of intent `source`."""

    param: str
    source: str
    column: str


class Intent(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One prepared query. `description` is the one line a model chooses by; `definition` what a reader needs to
    know of the market definition behind it; `words` and `phrases` are how people ask for it.

    `heading` opens its part of a rendered answer; `noun` (singular) is what one row is. `order_by` is the column
    and direction of the rows. `row_cap` bounds the result: the statement must not have a LIMIT of its own beyond
    it, the runner fetches one row more to know whether the cap bit. `scope` is what the asker must hold, always
    `{plane}:read`. `suppressed` marks statements that look up published bench cells.

    `one_of` names optional parameters of which at least one must be bound: a market is an agency, a NAICS code or
    both, and never the whole government for want of a word. A parameter that the question gives but gets wrong
    (ambiguous, invalid) is never one of the missing ones: it leaves the intent unbound.
    """

    name: str
    plane: str
    description: str
    heading: str
    noun: tuple[str, ...]
    params: tuple[Param, ...] = ()
    one_of: tuple[str, ...] = ()
    columns: tuple[Column, ...]
    edges: tuple[Edge, ...] = ()
    row_cap: int = 50
    order_by: tuple[str, str] | None = None
    definition: str = ""
    words: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()
    sql: str = ""

    @property
    def required(self) -> tuple[Param, ...]:
        return tuple(p for p in self.params if p.required and p.default is None)


class Plane(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A family of intents over some database schemas, in Registry order. `suppressed` planes hold counts of
    people: the guard's default deny layer applies to them and their columns never bind a parameter.
    `words` are how people name the plane in a question.
    """

    name: str
    scope: str
    schemas: tuple[str, ...]
    suppressed: bool = False
    words: tuple[str, ...] = ()
