"""The reference tables: what they hold, how names are looked up, and packs that lack them."""

import csv
from pathlib import Path

import pytest

import registry
from registry.reference import Form, Spellings, fold, load
from tests.support import ROOT

REFERENCE = registry.load().reference
AGENCIES = REFERENCE.agencies.entries


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Department of the Navy", "DEPARTMENT OF THE NAVY"),
        ("The Judicial Branch", "judicial branch"),
        ("Corps of Engineers - Civil Works", "Corps of Engineers Civil Works"),
        ("Health & Human Services", "Health and Human Services"),
        ("U.S. Coast Guard", "U. S. Coast Guard"),
        ("Women's Bureau", "Womens Bureau"),
    ],
)
def test_names_are_compared_without_case_and_punctuation(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        ("Department of the Navy", ("Department of the Navy",)),
        ("NAVY, DEPARTMENT OF THE", ("Department of the Navy",)),
        ("Energy Department", ("Department of Energy",)),
        ("Dept. of Energy", ("Department of Energy",)),
        ("U.S. Department of Energy", ("Department of Energy",)),
        ("DISA", ("Defense Information Systems Agency",)),
        ("NGA", ("National Gallery of Art", "National Geospatial-Intelligence Agency")),
        ("Department of War", ("Department of Defense",)),
        ("Marine Corps", ("U.S. Marine Corps",)),
    ],
)
def test_a_spelling_leads_to_official_names(written: str, names: tuple[str, ...]) -> None:
    assert tuple(sorted(AGENCIES[fold(written)].names)) == names


def test_the_official_name_of_one_agency_is_no_short_form_of_another() -> None:
    for spelling, agency in AGENCIES.items():
        if agency.form is Form.NAME and fold(agency.names[0]) == spelling:
            assert {fold(name) for name in agency.names} == {spelling}


def test_an_office_that_many_departments_have_says_which() -> None:
    shared = AGENCIES[fold("Office of the Inspector General")]
    assert len(shared.departments) > 5
    assert AGENCIES[fold("Department of the Navy")].departments == ()


def test_every_official_name_of_the_list_is_known(shared: Path) -> None:
    with (shared / "data" / "toptier_agencies.csv").open(encoding="utf-8", newline="") as lines:
        missing = [row["name"] for row in csv.DictReader(lines) if fold(row["name"]) not in AGENCIES]
    assert missing == []


def test_ambiguous_abbreviations_of_the_list_are_ambiguous_here(shared: Path) -> None:
    short = "official abbreviation"
    with (shared / "data" / "agency_aliases.csv").open(encoding="utf-8", newline="") as lines:
        rows = [row for row in csv.DictReader(lines) if row["alias_source"] == short]
    names: dict[str, set[str]] = {}
    for row in rows:
        names.setdefault(row["alias"], set()).add(fold(row["canonical_name"]))
    wrong = [
        alias
        for alias, found in names.items()
        if len(found) > 1 and fold(alias) in AGENCIES and len(AGENCIES[fold(alias)].names) == 1
        and not AGENCIES[fold(alias)].departments and fold(alias) not in {fold(n) for n in AGENCIES[fold(alias)].names}
    ]  # fmt: skip
    assert len(wrong) <= 5, wrong  # forms of one agency that moved from one department to another


def test_naics_codes_are_those_of_the_editions(shared: Path) -> None:
    def codes(name: str) -> set[str]:
        with (shared / "data" / name).open(encoding="utf-8", newline="") as lines:
            return {row["code"] for row in csv.DictReader(lines) if len(row["code"]) == 6}

    current, retired = codes("naics_2022.csv"), codes("naics_retired_6digit.csv")
    assert {code for code, old in REFERENCE.naics.items() if not old} == current
    assert {code for code, old in REFERENCE.naics.items() if old} == retired - current


def test_a_pack_without_tables_lacks_the_kinds(tmp_path: Path) -> None:
    bare = load(str(tmp_path))
    assert (bare.agencies.entries, bare.naics, bare.compartments, bare.dimensions) == ({}, {}, {}, {})


def test_a_pack_may_bring_a_dimension_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    (tmp_path / "reference" / "dimensions.csv").write_text("kind,code,phrases\ncity,BOS,boston;beantown\n")
    own = load(str(tmp_path))
    assert own.dimensions["city"].entries["beantown"] == "BOS"
    assert "boston" in own.words


def test_longer_spellings_are_tried_first() -> None:
    assert Spellings({"a b": 1, "a": 2, "a b c": 3}).lengths == {"a": (3, 2, 1)}


def test_tables_are_utf8_with_one_line_ending() -> None:
    for file in (ROOT / "registry" / "reference").glob("*.csv"):
        assert b"\r" not in file.read_bytes(), file.name
