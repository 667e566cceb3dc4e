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
    exp.TableSample, exp.Operator,
)
# fmt: on
SYSTEM_COLUMNS = frozenset({"ctid", "xmin", "xmax", "cmin", "cmax", "tableoid", "oid"})
_ODD = re.compile(r"""[Uu]&['"]|\$[A-Za-z_]*\$|\x00|\bE'""")


def lint(sql: str, schemas: Sequence[str]) -> list[str]:
    """What is wrong with the statement, in words; empty when it may run. `schemas` are those its plane may read."""
    if _ODD.search(sql):
        return ["escaped, dollar quoted or unicode spelled text is refused; write it plainly"]
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
    return [
        *_call_faults(sql, names),
        *_node_faults(tree),
        *_row_faults(tree),
        *_table_faults(tree, names, schemas),
        *_tenant_faults(tree, names),
    ]


def _cte_names(tree: exp.Expr) -> frozenset[str]:
    return frozenset(cte.alias.lower() for cte in tree.find_all(exp.CTE))


def _call_faults(sql: str, names: frozenset[str]) -> Iterator[str]:
    """Calls are judged by the words as written: the parser renames functions, and what runs is what is written."""
    tokens = sqlglot.tokenize(sql, read="postgres")
    for before, token, after in zip([None, *tokens], tokens, tokens[1:], strict=False):
        word = token.text.lower()
        if after.text != "(" or not re.match(r"[a-z_]", word) or word in FUNCTIONS or word in BEFORE_PARENTHESIS:
            continue
        if word in names or (before is not None and before.text.lower() == "as"):
            continue  # the column list of a WITH name or an alias
        yield f"the function {word} is not on the allow list"


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


def _tenant_faults(tree: exp.Expr, names: frozenset[str]) -> Iterator[str]:
    """Every base table is filtered on :tenant_id in its own SELECT (defence in depth beside row level security)."""
    for select in tree.find_all(exp.Select):
        tables = [t for t in _sources(select) if t.db and t.name.lower() not in names]
        filtered = _filtered(select)
        for table in tables:
            alias = table.alias_or_name.lower()
            if alias not in filtered and not ("" in filtered and len(_sources(select)) == 1):
                yield f"{table.sql()} is not filtered on :tenant_id in its own SELECT"


def _sources(select: exp.Select) -> list[exp.Table]:
    """The tables in FROM and JOIN of this SELECT, not of those inside it."""
    found = [select.args.get("from_") or select.args.get("from"), *(select.args.get("joins") or [])]
    return [t for part in found if part is not None for t in [part.this] if isinstance(t, exp.Table)]


def _filtered(select: exp.Select) -> frozenset[str]:
    """Aliases whose tenant_id this SELECT compares with :tenant_id, or with one that it compares so."""
    conditions = [select.args.get("where"), *(j.args.get("on") for j in select.args.get("joins") or [])]
    direct: set[str] = set()
    joined: list[tuple[str, str]] = []
    for condition in conditions:
        for test in _conjuncts(condition):
            aliases = [c.table.lower() for c in test.find_all(exp.Column) if c.name.lower() == "tenant_id"]
            if not isinstance(test, exp.EQ | exp.In) or not aliases:
                continue
            if any(p.name == "tenant_id" for p in test.find_all(exp.Placeholder)):
                # one column against the parameter; a second column beside it would always match itself
                direct.update(aliases if len(aliases) == 1 else ())
            elif len(aliases) == 2:
                joined.append((aliases[0], aliases[1]))
    for _ in joined:
        direct |= {b for a, b in joined if a in direct} | {a for a, b in joined if b in direct}
    return frozenset(direct)


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
