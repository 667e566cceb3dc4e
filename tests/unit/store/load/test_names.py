"""One spelling for an agency and a code, whichever file they come from."""

import csv
from pathlib import Path

from consumer.store.load.names import agency, extent, set_aside, size

AGENCIES = [
    ("VETERANS AFFAIRS, DEPARTMENT OF", "Department of Veterans Affairs"),
    ("INTERIOR, DEPARTMENT OF THE", "Department of the Interior"),
    ("DEPT OF DEFENSE", "Department of Defense"),
    ("DEPT OF THE NAVY", "Department of the Navy"),
    ("Department Of Defense", "Department of Defense"),
    ("Department of the Navy", "Department of the Navy"),
    ("DEFENSE INFORMATION SYSTEMS AGENCY (DISA)", "Defense Information Systems Agency"),
    ("NATIONAL GEOSPATIAL-INTELLIGENCE AGENCY (NGA)", "National Geospatial-Intelligence Agency"),
    ("U. S. Coast Guard", "U.S. Coast Guard"),
    ("US COAST GUARD", "U.S. Coast Guard"),
    ("HOUSE OF REPRESENTATIVES, THE", "House of Representatives"),
    ("USTRANSCOM", "USTRANSCOM"),
    ("US TRANSPORTATION COMMAND (USTRANSCOM)", "USTRANSCOM"),
    ("Corps of Engineers - Civil Works", "Corps of Engineers - Civil Works"),
    ("", None),
]
CODES = [
    (set_aside, "SDVOSBC", "SDVOSB"),
    (set_aside, "SERVICE DISABLED VETERAN OWNED SMALL BUSINESS SET-ASIDE", "SDVOSB"),
    (set_aside, "SBA", "Total small business"),
    (set_aside, "SMALL BUSINESS SET ASIDE - TOTAL", "Total small business"),
    (set_aside, "Total Small Business Set-Aside (FAR 19.5)", "Total small business"),
    (set_aside, "NO SET ASIDE USED.", "No set aside"),
    (set_aside, "NONE", "No set aside"),
    (set_aside, "8(A) SOLE SOURCE", "8(a) sole source"),
    (set_aside, "8AN", "8(a) sole source"),
    (set_aside, "A program of tomorrow", "A program of tomorrow"),
    (set_aside, "", None),
    (extent, "C", "Not competed"),
    (extent, "NOT COMPETED UNDER SAP", "Not competed under simplified acquisition"),
    (extent, "NOT AVAILABLE FOR COMPETITION", "Not available for competition"),
    (size, "S", "small"),
    (size, "OTHER THAN SMALL BUSINESS", "other than small"),
]


def test_an_agency_has_one_spelling() -> None:
    for written, expected in AGENCIES:
        assert agency(written) == expected


def test_a_code_and_its_words_are_one_value() -> None:
    for clean, written, expected in CODES:
        assert clean(written) == expected


def test_an_official_name_stays_but_for_an_abbreviation_behind_it(shared: Path) -> None:
    with (shared / "data/agency_aliases.csv").open(encoding="utf-8-sig", newline="") as file:
        names = {" ".join(row["canonical_name"].split()) for row in csv.DictReader(file)} - {""}
    changed = {name for name in names if (agency(name) or "").upper() != name.upper()}
    assert {name for name in changed if not name.endswith(")")} == {"U. S. Coast Guard"}
