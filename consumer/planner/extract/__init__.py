"""Extraction: the values that a question unambiguously carries, each with the words it came from.

Deterministic and in linear time. A value that is ambiguous or invalid is never used; its note says what is wrong and
how to give it. Spans are offsets into the cleaned question (`consumer.planner.normalise.clean`).
"""

import re

from consumer.planner.extract.agency import agency
from consumer.planner.extract.codes import contract_number, is_uei, naics, uei, uuids
from consumer.planner.extract.people import clearance, compartments, dimension
from consumer.planner.extract.text import Text
from consumer.planner.extract.value import Extracted, Params, Status, Value, invalid
from consumer.planner.extract.window import fiscal_year, window
from registry.reference import Reference, fold

REACH = 32
"""Characters before a value that may say it is left out."""
_LEFT_OUT = re.compile(
    r"\b(?:not|no|without|except(?:\s+for)?|excluding|exclude|excludes|other\s+than|minus|besides|outside(?:\s+of)?)"
    r"(?:\s+(?:in|at|for|by|from|with|the|a|any|those|vendor|agency|naics|uei|code))*[\s\"“'‘(]*$",
    re.IGNORECASE,
)

__all__ = ["Extracted", "Params", "Status", "Value", "accepts", "extract"]


def extract(question: str, reference: Reference) -> Params:
    """Every known kind, `missing` where the question has none. `question` must be cleaned."""
    text = Text(question)
    level = clearance(text, reference)
    found: dict[str, Extracted] = {
        "agency": agency(text, reference, level.spans),
        "naics": naics(text, reference),
        "uuid": uuids(text),
        "uei": uei(text),
        "clearance": level,
        "compartments": compartments(text, reference, level),
        "window_months": window(text),
        "fiscal_year": fiscal_year(text),
        "contract_number": contract_number(text),
    }
    for kind, spellings in reference.dimensions.items():
        found[kind] = dimension(text, spellings)
    return {kind: _unless_left_out(kind, one, question) for kind, one in found.items()}


def _unless_left_out(kind: str, found: Extracted, question: str) -> Extracted:
    """A value behind `except` or `not at` is one that the asker does not mean: no query leaves a value out."""
    for start, _ in found.spans if found.usable else ():
        if _LEFT_OUT.search(question, max(0, start - REACH), start):
            name = kind.replace("_", " ").removesuffix(" months")
            return invalid(f"no query leaves one {name} out; ask without it", found.spans)
    return found


def accepts(kind: str, value: str, reference: Reference) -> Value | None:
    """The value as the extractor of `kind` would give it, or None where it would not: how a scalar that comes out of
    a row is held to the same check as one that comes out of a question."""
    match kind:
        case "uei":
            return value.upper() if is_uei(value.upper()) else None
        case "naics":
            return value if value in reference.naics else None
        case "agency":
            named = reference.agencies.entries.get(fold(value))
            return named.names[0] if named and len(named.names) == 1 else None
        case "uuid":
            found = uuids(Text(value))
            return found.value if found.span == (0, len(value)) else None
        case _:
            return None
