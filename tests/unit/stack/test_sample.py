"""The sample data: the same for the same day, laid around whatever day it is, and true to the rules of real files."""

import csv
from datetime import date
from pathlib import Path

from consumer.planner.extract.codes import is_uei
from consumer.stack import sample
from consumer.store.load import KINDS


def contents(folder: Path, today: date) -> dict[str, bytes]:
    folder.mkdir()
    sample.write(folder, today)
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def rows(folder: Path, kind: str) -> list[dict[str, str]]:
    with (folder / f"{kind}.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_the_same_day_gives_the_same_bytes_and_another_day_others(tmp_path: Path) -> None:
    first = contents(tmp_path / "a", date(2026, 12, 1))
    assert first == contents(tmp_path / "b", date(2026, 12, 1))
    assert first != contents(tmp_path / "c", date(2028, 2, 29))


def test_something_ends_within_eighteen_months_whatever_the_day(tmp_path: Path) -> None:
    for name, today in (("a", date(2026, 12, 1)), ("b", date(2028, 2, 29)), ("c", date(2031, 1, 1))):
        contents(tmp_path / name, today)
        ends = [
            (date.fromisoformat(row["period_of_performance_potential_end_date"]) - today).days
            for row in rows(tmp_path / name, "awards")
            if row["naics_code"] == "541512" and row["awarding_sub_agency_name"] == sample.NAVY
        ]
        assert len([days for days in ends if 0 < days < 540]) >= 5
        assert all(row["action_date"] <= today.isoformat() for row in rows(tmp_path / name, "awards"))


def test_every_kind_that_can_be_loaded_has_a_file_and_every_vendor_a_valid_id(tmp_path: Path) -> None:
    made = sample.write(tmp_path, date(2026, 12, 1))
    assert {files.kind for files in made} == set(KINDS)
    assert [vendor.name for vendor in sample.VENDORS if not is_uei(vendor.uei)] == []
    primes = {row["award_id_piid"]: row["recipient_uei"] for row in rows(tmp_path, "awards")}
    for row in rows(tmp_path, "subawards"):
        assert primes[row["prime_award_piid"]] == row["prime_awardee_uei"] != row["subawardee_uei"]
