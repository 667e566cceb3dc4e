"""From `:name` parameters to the positions that Postgres takes."""

import re

from msgspec import Struct

# What may hold a colon that is no parameter: quoted text, quoted names, comments, casts.
_TOKENS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|--[^\r\n]*|/\*.*?\*/|::|:(?P<name>[a-z][a-z0-9_]*)""", re.DOTALL)


class Statement(Struct, frozen=True):
    """SQL with `$1`, `$2`, ... and the parameter name of each position, in order of first use."""

    text: str
    parameters: tuple[str, ...]


def compile(sql: str) -> Statement:
    """Each distinct `:name` becomes one position, however often it stands in the statement."""
    names: list[str] = []

    def position(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None:
            return match[0]
        if name not in names:
            names.append(name)
        return f"${names.index(name) + 1}"

    return Statement(_TOKENS.sub(position, sql).strip(), tuple(names))
