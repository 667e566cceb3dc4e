"""A model that writes slots: it reads the prompt alone, as a model server would, and words what it read there."""

import random
import re
from typing import NamedTuple

EVIDENCE = re.compile(r"^(e\d+): (.+?)\. One row is one (.+?)\. (.*)$", re.MULTILINE)
COLUMN = re.compile(r'(?P<name>[a-z_]+)(?: "(?P<label>[^"]+)")? \((?P<kinds>[^)]*)\)')
ROWS = re.compile(r"Rows r0 to r(\d+)\.")
CELLS = re.compile(r"(?:Withheld|Unknown): ([^.]+(?:\.[^. ][^.]*)*)\.")
TOLD = 3
"""Rows of one evidence that a narration speaks of."""


class Seen(NamedTuple):
    """A column as the prompt tells of it."""

    name: str
    label: str
    kind: str
    key: bool
    additive: bool


class Part(NamedTuple):
    """One evidence as the prompt tells of it."""

    id: str
    heading: str
    noun: str
    columns: tuple[Seen, ...]
    rows: int
    complete: bool
    withheld: frozenset[str]
    unknown: frozenset[str]
    ordered: str

    def usable(self, row: int, column: Seen) -> bool:
        return not {f"r{row}.{column.name}"} & (self.withheld | self.unknown)

    def slot(self, row: int, column: Seen) -> str:
        return f"{{{self.id}.r{row}.{column.name}}}"

    def subject(self, row: int) -> str:
        """The names of a row: its keys, or the first name that it has."""
        keys = [c for c in self.columns if c.key and self.usable(row, c)]
        names = [c for c in self.columns if c.kind in ("entity", "id", "text", "enum") and self.usable(row, c)]
        return ", ".join(self.slot(row, c) for c in keys or names[:1])


def parts(prompt: str) -> list[Part]:
    return [_part(match) for match in EVIDENCE.finditer(prompt)]


def _part(match: re.Match[str]) -> Part:
    rest = match[4]
    columns: list[Seen] = []
    for found in COLUMN.finditer(rest.partition("Columns: ")[2].partition(". Rows r0")[0]):
        kinds = found["kinds"].split(", ")
        label = (found["label"] or found["name"].replace("_", " ")).lower()
        columns.append(Seen(found["name"], label, kinds[0], "names the row" in kinds, "sum" in kinds))
    rows, ordered = ROWS.search(rest), re.search(r"Ordered by ([a-z_]+), the largest", rest)
    return Part(
        match[1], match[2], match[3], tuple(columns), int(rows[1]) + 1 if rows else 0, "These are all." in rest,
        _listed(rest, "Withheld"), _listed(rest, "Unknown"), ordered[1] if ordered else "",
    )  # fmt: skip


def _listed(text: str, word: str) -> frozenset[str]:
    match = re.search(rf"{word}: ((?:r\d+\.[a-z_]+(?:, )?)+)\.", text)
    return frozenset(match[1].split(", ")) if match else frozenset()


def honest(prompt: str, rng: random.Random) -> str:
    """Two to six sentences, worded one way or another."""
    found = parts(prompt)
    said = [sentence for part in found for sentence in _sentences(part, rng, 2 if len(found) > 1 else TOLD)]
    return " ".join(said[:6])


def _sentences(part: Part, rng: random.Random, rows: int) -> list[str]:
    if not part.rows:
        return [rng.choice((f"No {part.noun} was found.", f"No {part.noun} was found under {part.heading}."))]
    said: list[str] = []
    if part.complete and rng.random() < 0.3:
        said.append(_whole(part, rng))
    for row in range(min(part.rows, rows)):
        said.append(_row(part, row, rng))
    return [sentence for sentence in said if sentence]


def _whole(part: Part, rng: random.Random) -> str:
    sums = [c for c in part.columns if c.additive and c.kind == "money" and "Withheld" not in part.withheld]
    if sums and rng.random() < 0.5 and part.rows > 1:
        return f"The total {sums[0].label} is {{sum:{part.id}.{sums[0].name}}}."
    return f"The evidence has {{count:{part.id}}} rows."


def _row(part: Part, row: int, rng: random.Random) -> str:
    subject = part.subject(row)
    if not subject:
        return ""
    values = [c for c in part.columns if not c.key and part.slot(row, c) not in subject and c.name != "snapshot"]
    withheld = [c for c in values if f"r{row}.{c.name}" in part.withheld]
    values = [c for c in values if part.usable(row, c)]
    if withheld and (not values or rng.random() < 0.5):
        return f"For {subject}, {withheld[0].label} is suppressed to protect privacy."
    if not values:
        return f"The {part.noun} {subject} is in the evidence."
    first, *others = rng.sample(values, min(len(values), rng.choice((1, 2, 2))))
    said = _worded(part, row, first, subject, rng)
    for other in (o for o in others if o.kind != "bool"):
        said += rng.choice((f", and its {other.label} is ", f" and {other.label} ")) + part.slot(row, other)
    return said + "."


def _worded(part: Part, row: int, column: Seen, subject: str, rng: random.Random) -> str:
    value, label = part.slot(row, column), column.label
    ways = [
        f"The {label} of {subject} is {value}",
        f"{subject} has {label} {value}",
        f"{subject} shows {label} of {value}",
    ]
    match column.kind:
        case "money" | "percent":
            ways += [f"{subject} stands at {value} in {label}", f"{subject} has a {label} of {value}"]
        case "count":
            ways += [f"{subject} has {value} {label}", f"{subject} counts {value} {label}"]
        case "rank":
            ways += [f"{subject} has {label} {value}"]
        case "date":
            ways = [f"The {label} of {subject} is {value}", f"{subject} has the {label} {value}"]
        case "bool":
            ways = [f"{subject} is {value}"]
        case _:
            ways = ways[:2]
    return rng.choice(ways)
