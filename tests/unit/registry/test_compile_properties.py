"""Positions stand for names and nothing else changes, whatever stands around them."""

import re

from hypothesis import given
from hypothesis import strategies as st

from registry.statement import compile

NAMES = st.sampled_from(("tenant_id", "agency", "naics", "as_of"))
QUIET = st.sampled_from(("'it''s :no'", '":no"', "-- :no\n", "/* :no */", "x::text", "a[1:2]", "''", ":: date"))
PIECES = st.lists(st.one_of(NAMES.map(lambda name: f":{name}"), QUIET, st.sampled_from(("SELECT", ",", "1", "("))))


@given(PIECES)
def test_names_become_positions_and_all_else_stays(pieces: list[str]) -> None:
    statement = compile(" ".join(pieces))
    named = [piece[1:] for piece in pieces if re.fullmatch(r":[a-z_]+", piece)]
    assert statement.parameters == tuple(dict.fromkeys(named))
    back = statement.text
    for place in range(len(statement.parameters), 0, -1):
        back = back.replace(f"${place}", f":{statement.parameters[place - 1]}")
    assert back == " ".join(pieces).strip()
