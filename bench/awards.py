"""Awards to measure on: invented vendors in real offices and codes, as many as asked for, the same for one seed.

Offices, codes and vendors each follow Zipf's law, as the public record does: few large ones, a long tail. More rows
bring more vendors; the largest markets grow with the rows and a market of the tail stays small.
"""

import csv
import random
from collections import Counter
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

REFERENCE = Path(__file__).resolve().parent.parent / "registry" / "reference"
TODAY = date(2026, 12, 1)
ROWS_A_VENDOR = 12
ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ123456789"
COLUMNS = (
    "contract_award_unique_key award_id_piid parent_award_id_piid total_obligated_amount"
    " potential_total_value_of_award award_base_action_date award_latest_action_date period_of_performance_start_date"
    " period_of_performance_current_end_date period_of_performance_potential_end_date awarding_agency_name"
    " awarding_sub_agency_name recipient_uei recipient_name award_type naics_code product_or_service_code"
    " extent_competed_code type_of_set_aside_code number_of_offers_received a_column_of_tomorrow"
).split()
EXTENTS = (("A", 38), ("D", 35), ("C", 11), ("B", 8), ("G", 5), ("F", 3))
SET_ASIDES = (("", 62), ("SBA", 15), ("NONE", 12), ("8AN", 7), ("8A", 2), ("SDVOSBC", 1), ("WOSB", 1))
TYPES = (("DELIVERY ORDER", 77), ("DEFINITIVE CONTRACT", 12), ("BPA CALL", 6), ("PURCHASE ORDER", 5))


class Market(NamedTuple):
    """An office and a code, to ask about."""

    agency: str
    naics: str


class Shape:
    """What is drawn from: places in `offices`, `codes` and `vendors` by rank, most frequent first."""

    def __init__(self, rows: int, seed: int = 1) -> None:
        self.random = random.Random(seed)
        agencies = list(_reference("agencies.csv"))
        names = Counter(r["agency"] for r in agencies)  # a question by a name that two departments use asks back
        self.offices = [(r["agency"], r["department"]) for r in agencies if r["department"] and names[r["agency"]] == 1]
        self.codes = [r["code"] for r in _reference("naics.csv") if len(r["code"]) == 6]
        self.random.shuffle(self.offices)
        self.random.shuffle(self.codes)
        self.vendors = max(200, rows // ROWS_A_VENDOR)
        self._weights = {n: list(accumulate(1 / (rank + 1) for rank in range(n))) for n in self._sizes()}

    def _sizes(self) -> tuple[int, ...]:
        return len(self.offices), len(self.codes), self.vendors

    def rank(self, size: int) -> int:
        return self.random.choices(range(size), cum_weights=self._weights[size])[0]

    @property
    def largest(self) -> Market:
        return Market(self.offices[0][0], self.codes[0])

    @property
    def small(self) -> Market:
        return Market(self.offices[40][0], self.codes[25])


def write(path: Path, rows: int, seed: int = 1) -> Shape:
    """Writes a file as USAspending's award summaries; returns what it was drawn from."""
    shape = Shape(rows, seed)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(_award(number, shape) for number in range(rows))
    return shape


def _award(number: int, shape: Shape) -> list[object]:
    draw = shape.random
    office, department = shape.offices[shape.rank(len(shape.offices))]
    vendor = shape.rank(shape.vendors)
    start = TODAY - timedelta(days=draw.randrange(-60, 3_000))
    latest = min(TODAY, start + timedelta(days=draw.randrange(0, 900)))
    current = start + timedelta(days=draw.choice((182, 364, 364, 364, 729, 1_825)))
    potential = current + timedelta(days=draw.choice((0, 0, 0, 365, 1_460)))
    amount = draw.lognormvariate(12, 2)
    return [
        f"CONT_AWD_B{number:010d}_9700_-NONE-_-NONE-", f"B{number:010d}", f"V{draw.randrange(2_000):06d}",
        f"{amount:.2f}", f"{amount * 1.5:.2f}", start, latest, start, current, f"{potential} 00:00:00", department,
        office, uei(vendor), f"VENDOR {vendor:07d} LLC", _one(draw, TYPES), shape.codes[shape.rank(len(shape.codes))],
        "D399", _one(draw, EXTENTS), _one(draw, SET_ASIDES), draw.choice(("", "1", "1", "2", "3", "5")), "n/a",
    ]  # fmt: skip


def uei(number: int) -> str:
    """Twelve characters that look like one; no check digit, which loading does not ask for."""
    text = ""
    for _ in range(11):
        number, place = divmod(number, len(ALPHABET))
        text = ALPHABET[place] + text
    return f"Z{text[-10:]}9"


def _one(draw: random.Random, choices: tuple[tuple[str, int], ...]) -> str:
    return draw.choices([c for c, _ in choices], [w for _, w in choices])[0]


def _reference(name: str) -> Iterator[dict[str, str]]:
    with (REFERENCE / name).open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)
