"""From names to positions, and never inside text, names, comments or casts."""

import pytest

from registry.statement import compile

CASES = [
    ("SELECT :agency", "SELECT $1", ("agency",)),
    ("SELECT :b, :a, :b::text", "SELECT $1, $2, $1::text", ("b", "a")),
    ("SELECT ':a', \":a\", x::date", "SELECT ':a', \":a\", x::date", ()),
    ("SELECT 'it''s :a', :c", "SELECT 'it''s :a', $1", ("c",)),
    ("SELECT 1 -- :a\n, :b /* :c */", "SELECT 1 -- :a\n, $1 /* :c */", ("b",)),
    ("SELECT 1 -- :a\r, :b", "SELECT 1 -- :a\r, $1", ("b",)),
    ("SELECT a[1:2], :x", "SELECT a[1:2], $1", ("x",)),
]


@pytest.mark.parametrize(("sql", "text", "parameters"), CASES)
def test_names_become_positions(sql: str, text: str, parameters: tuple[str, ...]) -> None:
    statement = compile(sql)
    assert (statement.text, statement.parameters) == (text, parameters)
