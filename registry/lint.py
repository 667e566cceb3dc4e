"""Proves a statement harmless: one read only SELECT over allowed schemas, functions and types, per tenant.

Everything is an allow list over the tree of a real SQL parser (sqlglot, PostgreSQL dialect), so a spelling that nobody
thought of is refused for being unknown. The database refuses the same things again by grants and a READ ONLY
transaction; this layer says so before a service starts.
"""

import logging
import re
from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from registry.statement import compile

# The parser warns about what it can't model; here that is refused, with words of our own.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

FUNCTIONS = frozenset(
    """
    abs array_agg array_length array_position avg bool_and bool_or btrim cardinality ceil coalesce concat count
    cume_dist date_part date_trunc dense_rank extract first_value floor greatest initcap lag last_value lead least left
    length lower ltrim make_date make_interval max min mod ntile nullif percentile_cont percentile_disc percent_rank
    power rank regexp_replace replace right round row_number rtrim split_part sqrt string_agg strpos substring sum
    to_char to_date trim trunc unnest upper width_bucket
    phraseto_tsquery plainto_tsquery to_tsquery to_tsvector ts_rank ts_rank_cd websearch_to_tsquery
    """.split()
)
"""What a statement may call. All are immutable or stable, read no table and reach nothing outside the row."""

BEFORE_PARENTHESIS = frozenset(
    """
    all and any array as between by case distinct else except exists filter from group having in intersect join lateral
    materialized not numeric on or over select some then union using when where with within decimal varchar interval
    """.split()
)
"""Words of the grammar, and types with a length, that an opening parenthesis may follow."""

TYPES = frozenset(
    "TEXT VARCHAR INT SMALLINT BIGINT DECIMAL DATE UUID TIMESTAMPTZ TIMESTAMP INTERVAL BOOLEAN ARRAY DOUBLE".split()
)
# fmt: off
FORBIDDEN = (
    exp.Insert, exp.Update, exp.Delete, exp.Create, exp.Command, exp.Into, exp.Lock, exp.Values, exp.Set,
    exp.Transaction, exp.Commit, exp.Rollback, exp.Drop, exp.Alter, exp.Describe, exp.Pragma, exp.Use, exp.Kill,
    exp.Copy, exp.Analyze, exp.TruncateTable, exp.Merge, exp.Grant, exp.Parameter, exp.SessionParameter, exp.National,
    exp.RawString, exp.HexString, exp.BitString, exp.ByteString, exp.UnicodeString, exp.JSONExtract, exp.XMLTable,
    exp.TableSample, exp.Operator, exp.Dot,
)
# fmt: on
MAX_CHARACTERS = 20_000
OPERATORS = frozenset("+ - * / % || && @> <@ = <> != < <= > >= :: : =>".split())
SYSTEM_COLUMNS = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid"})
WHO = frozenset({"user", "current_user", "session_user", "current_role", "system_user"})
"""Functions that are written without parentheses, like a column."""
ATTRIBUTE_CALLS = re.compile("pg_|record|json|to_json|row_|hash_|xml|lo_|array_|quote_|num_|format$|concat$")
"""`a.row_to_json` calls row_to_json(a) where the table has no such column (PostgreSQL, 4.2.4 and 38.5.3)."""
PUBLIC = "00000000-0000-0000-0000-000000000000"
"""The tenant of public rows, the one other that a statement may name."""
_ODD = re.compile(r"""[Uu]&['"]|\$[A-Za-z_]*\$|\x00|\bE'|%\s*\(|/\*(?:(?!\*/).)*/\*""", re.DOTALL)


def lint(sql: str, schemas: Sequence[str]) -> list[str]:
    """What is wrong with the statement, in words; empty when it may run. `schemas` are those its plane may read."""
    if len(sql) > MAX_CHARACTERS:
        return [f"a statement has at most {MAX_CHARACTERS} characters"]
    if _ODD.search(sql):
        return ["escaped, dollar quoted or unicode spelled text and nested comments are refused; write it plainly"]
    try:
        trees = [tree for tree in sqlglot.parse(sql, read="postgres") if tree is not None]
    except (SqlglotError, RecursionError) as error:
        return [f"it can't be parsed: {str(error).splitlines()[0]}"]
    if len(trees) != 1:
        return [f"one statement is allowed, not {len(trees)}"]
    tree = trees[0]
    if not isinstance(tree, exp.Select | exp.SetOperation):
        return [f"only SELECT is allowed, not {tree.key.upper()}"]
    names = _cte_names(tree)
    tokens = sqlglot.tokenize(sql, read="postgres")
    return [
        *_call_faults(tokens),
        *_token_faults(tokens),
        *_parameter_faults(sql, tree),
        *_bound_faults(tree),
        *_node_faults(tree),
        *_row_faults(tree),
        *_table_faults(tree, names, schemas),
        *_tenant_faults(tree),
    ]


def _cte_names(tree: exp.Expr) -> frozenset[str]:
    return frozenset(cte.alias.lower() for cte in tree.find_all(exp.CTE))


def _call_faults(tokens: Sequence[Token]) -> Iterator[str]:
    """Calls are judged by the words as written: the parser renames functions, and what runs is what is written."""
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        word = token.text.lower()
        if after.text != "(" or not re.search(r"\w", word):
            continue
        if before is not None and before.text == ".":
            yield f"the function {word} must not name a schema"
        elif before is not None and before.text.lower() == "as":
            continue  # the column list of an alias
        elif word not in FUNCTIONS and word not in BEFORE_PARENTHESIS:
            yield f"the function {word} is not on the allow list"


def _token_faults(tokens: Sequence[Token]) -> Iterator[str]:
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER):
            continue
        if token.text == ";":
            yield "a statement does not end with a semicolon: the row cap is added to it"
        elif re.fullmatch(r"[-+*/<>=~!@#%^&|?:`]+", token.text) and token.text not in OPERATORS:
            yield f"the operator {token.text} is not on the allow list"
        elif token.text.lower() in WHO and (before is None or before.text != "."):
            yield f"{token.text.lower()} is not allowed: who asks is a parameter"


def _parameter_faults(sql: str, tree: exp.Expr) -> Iterator[str]:
    """What becomes a position must be what the parser takes for a parameter: two readers, one meaning."""
    parsed = {str(found.name) for found in tree.find_all(exp.Placeholder)}
    if odd := sorted(parsed ^ set(compile(sql).parameters)):
        yield f"it is not plain whether {odd[0]} is a parameter"


def _bound_faults(tree: exp.Expr) -> Iterator[str]:
    """The result is bound by row_cap alone, and a recursion by a depth that it counts."""
    if tree.args.get("limit") is not None:
        yield "the statement must not have a LIMIT of its own: row_cap is it"
    for cte in tree.find_all(exp.CTE):
        inner = {table.name.lower() for table in cte.this.find_all(exp.Table) if not table.db}
        if cte.alias.lower() in inner and not any(
            isinstance(side, exp.Literal)
            for test in cte.this.find_all(exp.LT, exp.LTE)
            for side in (test.left, test.right)
        ):
            yield f"the recursion {cte.alias} must compare a depth with < or <= and a number"


def _node_faults(tree: exp.Expr) -> Iterator[str]:
    for node in tree.walk():
        if isinstance(node, FORBIDDEN):
            yield f"{node.key} is not allowed"
        elif isinstance(node, exp.Func) and re.match("current|session|localtime|user", node.key):
            yield f"{node.key} is not allowed: who asks and which day it is are parameters"
        elif isinstance(node, exp.DataType) and getattr(node.this, "name", "") not in TYPES:
            yield f"the type {node.sql(dialect='postgres').lower()} is not on the allow list"
        elif isinstance(node, exp.Column) and node.name.lower() in SYSTEM_COLUMNS:
            yield f"the system column {node.name.lower()} is not allowed"
        elif isinstance(node, exp.Column) and node.table and ATTRIBUTE_CALLS.match(node.name.lower()):
            yield f"{node.table}.{node.name} is how a function is called on a row; name the column another way"
        elif isinstance(node, exp.Star) and not isinstance(node.parent, exp.Count):
            yield "name the columns; a star is allowed in count(*) alone"
        elif isinstance(node, exp.CTE) and node.alias.lower().startswith("pg_"):
            yield f"a WITH name can't start with pg_: {node.alias.lower()}"


def _table_faults(tree: exp.Expr, names: frozenset[str], schemas: Sequence[str]) -> Iterator[str]:
    for table in tree.find_all(exp.Table):
        if isinstance(table.this, exp.Func):
            continue  # judged as a function
        if table.catalog:
            yield f"the table {table.sql()} must not name a database"
        elif not table.db:
            if table.name.lower() not in names:
                yield f"the table {table.name} must name its schema"
        elif table.db not in schemas:
            yield f"the schema {table.db} is not one that this plane may read ({', '.join(schemas)})"


def _row_faults(tree: exp.Expr) -> Iterator[str]:
    """A bare alias as a value is the whole row, columns and all."""
    for select in tree.find_all(exp.Select):
        aliases = {t.alias_or_name.lower() for t in _sources(select)}
        for column in select.find_all(exp.Column):
            if not column.table and column.name.lower() in aliases:
                yield f"{column.name.lower()} is a whole row; name its columns"


def _tenant_faults(tree: exp.Expr) -> Iterator[str]:
    """Every base table is filtered on :tenant_id in its own SELECT (defence in depth beside row level security)."""
    seen: set[int] = set()
    for select in tree.find_all(exp.Select):
        sources = _sources(select)
        filtered = _filtered(select)
        for table in sources:
            seen.add(id(table))
            if not table.db:
                continue
            alias = table.alias_or_name.lower()
            if table.alias_column_names:
                yield f"{table.sql()} must not rename its columns"
            elif alias not in filtered and not ("" in filtered and len(sources) == 1):
                yield f"{table.sql()} is not filtered on :tenant_id in its own SELECT"
        for join in select.args.get("joins") or []:
            if join.side in ("RIGHT", "FULL") or join.method:
                yield f"{join.side or join.method} JOIN is refused: whom its condition filters is hard to see"
    for table in tree.find_all(exp.Table):
        if table.db and id(table) not in seen:
            yield f"{table.sql()} must stand in FROM or JOIN without parentheses"


def _sources(select: exp.Select) -> list[exp.Table]:
    """The tables in FROM and JOIN of this SELECT, not of those inside it."""
    found = [select.args.get("from_"), *(select.args.get("joins") or [])]
    return [t for part in found if part is not None for t in [part.this] if isinstance(t, exp.Table)]


def _filtered(select: exp.Select) -> frozenset[str]:
    """Aliases whose tenant_id this SELECT compares with :tenant_id, or with one that it compares so.

    The condition of a LEFT JOIN filters the table that it joins and no other.
    """
    direct: set[str] = set()
    passes: list[tuple[str, str]] = []
    for condition, only in _conditions(select):
        for test in _conjuncts(condition):
            match _tenant_test(test):
                case (alias,) if only in (None, alias):
                    direct.add(alias)
                case (one, other):
                    passes += [(a, b) for a, b in ((one, other), (other, one)) if only in (None, b)]
                case _:
                    continue
    for _ in passes:
        direct |= {b for a, b in passes if a in direct}
    return frozenset(direct)


def _conditions(select: exp.Select) -> Iterator[tuple[exp.Expr | None, str | None]]:
    """Each condition, with the one alias that it filters where it does not filter all."""
    yield select.args.get("where"), None
    for join in select.args.get("joins") or []:
        yield join.args.get("on"), join.this.alias_or_name.lower() if join.side else None


def _tenant_test(test: exp.Expr) -> tuple[str, ...]:
    """The aliases that a test ties to the tenant (one) or to each other (two); none for any other test."""
    if isinstance(test, exp.In):
        values = test.expressions if not test.args.get("query") else []
        return _alias(test.this) if _are_tenant(values) else ()
    if not isinstance(test, exp.EQ):
        return ()
    sides = test.left, test.right
    for column, value in (sides, sides[::-1]):
        if _alias(column) and _are_tenant(_listed(value)):
            return _alias(column)
    one, other = map(_alias, sides)
    return one + other if one and other else ()


def _alias(column: exp.Expr) -> tuple[str, ...]:
    named = isinstance(column, exp.Column) and column.name.lower() == "tenant_id"
    return (str(column.text("table")).lower(),) if named else ()


def _listed(value: exp.Expr) -> Sequence[exp.Expr]:
    """The elements of `ANY (ARRAY[...])`, or the value itself."""
    inner = _bare(value.this) if isinstance(value, exp.Any) else value
    return inner.expressions if isinstance(inner, exp.Array) else [value]


def _are_tenant(values: Sequence[exp.Expr]) -> bool:
    """Whether these are :tenant_id, alone or beside the tenant of public rows."""
    bare = [_bare(value) for value in values]
    asked = [v for v in bare if isinstance(v, exp.Placeholder) and v.name == "tenant_id"]
    public = [v for v in bare if isinstance(v, exp.Literal) and v.this == PUBLIC]
    return bool(asked) and len(asked) + len(public) == len(bare)


def _bare(value: exp.Expr) -> exp.Expr:
    while isinstance(value, exp.Cast | exp.Paren):
        value = value.this
    return value


def _conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """The tests that must all hold: an OR around a tenant test would not protect."""
    if condition is None:
        return
    inner = condition.this if isinstance(condition, exp.Where | exp.Paren) else condition
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.left)
        yield from _conjuncts(inner.right)
    elif isinstance(inner, exp.Paren):
        yield from _conjuncts(inner)
    else:
        yield inner
