"""Extraction as tables: what each kind of value is, what it is not, and what is said of a value that can't be used."""

import csv
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import registry
from consumer.planner.extract import Params, Status, accepts, extract
from consumer.planner.extract.codes import is_uei
from consumer.planner.normalise import clean

REFERENCE = registry.load().reference
OK, MISSING, AMBIGUOUS, INVALID = Status.OK, Status.MISSING, Status.AMBIGUOUS, Status.INVALID
NAVY, VA = "Department of the Navy", "Department of Veterans Affairs"
UUID = "5d1c7a90-2f4b-4e83-9b16-c0a7d2e8f431"
OTHER = "a90e6b12-7c35-4d48-8f21-1b6f0c9d7e54"
UEI, ANOTHER = "K7MDPQ4WX2R8", "ZT5LNB8HJC38"


def read(question: str) -> Params:
    return extract(clean(question), REFERENCE)


AGENCIES = (
    # what is written, status, value
    ('at "Department of the Navy"', OK, NAVY),
    ("at “Department of the Navy”", OK, NAVY),
    ("at «Department of the Navy»", OK, NAVY),
    ("at 'Department of the Navy'", OK, NAVY),
    ("at ‘Department of the Navy’", OK, NAVY),
    ('at “Department of the Navy"', OK, NAVY),
    ('at "department of the navy"', OK, NAVY),
    ('at "Navy, Department of the"', OK, NAVY),
    ('at "Dept of the Navy"', OK, NAVY),
    ('"Department of the Navy\'s" awards', OK, NAVY),
    ('"Department of the Navy\'s" incumbents and "Department of the Navy"', OK, NAVY),
    ("Department of the Navy awards", OK, NAVY),
    ("awards of the Navy", OK, NAVY),
    ("Navy recompetes", OK, NAVY),
    ("awards at the Secret Service", OK, "U.S. Secret Service"),
    ("awards at DISA", OK, "Defense Information Systems Agency"),
    ('at "DISA"', OK, "Defense Information Systems Agency"),
    ("awards at the VA", OK, VA),
    ("U.S. Department of Energy awards", OK, "Department of Energy"),
    ('at "Corps of Engineers - Civil Works"', OK, "Corps of Engineers - Civil Works"),
    ("at the department of labor", MISSING, None),
    ("Who works at the navy yard?", MISSING, None),
    ("Old Navy stores", OK, NAVY),  # the first word has a capital whatever it is
    ("the shops of Old Navy", MISSING, None),
    ("Navy Federal Credit Union", MISSING, None),
    ("staff in VA", MISSING, None),
    ("people cleared for SI", MISSING, None),
    ("an OS upgrade", MISSING, None),
    ('at "NGA"', AMBIGUOUS, None),
    ('at "Office of the Inspector General"', AMBIGUOUS, None),
    ('at "Department of the Navy" and at "Department of the Army"', AMBIGUOUS, None),
    ('at "Department of Widgets"', INVALID, None),
    ('at "Blue Dolphin"', INVALID, None),
    ('our "surge support" plan', MISSING, None),
    ('at "Department of the Navy', INVALID, None),
    ('at "Department of the Navy’ awards', INVALID, None),
    ('racks of 19" for the Navy', OK, NAVY),
    ("Competitors at XYZ in 541512", AMBIGUOUS, None),
    ("Competitors at the SI in 541512", AMBIGUOUS, None),
    ("awards at White Sands", AMBIGUOUS, None),
    ("people at Secret level", MISSING, None),
    ("at 541512", MISSING, None),
    ("at least two", MISSING, None),
    ("what is it at", MISSING, None),
    ('""', MISSING, None),
)


@pytest.mark.parametrize(("question", "status", "value"), AGENCIES)
def test_an_agency_is_an_official_name_and_never_a_guess(question: str, status: Status, value: str | None) -> None:
    found = read(question)["agency"]
    assert (found.status, found.value) == (status, value)
    assert found.note or status in (OK, MISSING)


CODES = (
    ("in 541512", OK, "541512"),
    ("in 541512, 541512 and (541512)", OK, "541512"),
    ("NAICS: 541512?", OK, "541512"),
    ("under 517110", OK, "517110"),  # retired, still in old awards
    ("in 541512 and 541519", AMBIGUOUS, ("541512", "541519")),
    ("NAICS codes 541512/541519", AMBIGUOUS, ("541512", "541519")),
    ("541512-541519", AMBIGUOUS, ("541512", "541519")),
    ("NAICS 5415 and 541512", INVALID, None),
    ("541512 and 541599", INVALID, None),
    ("541512 dollars", MISSING, None),
    ("in NAICS 541599", INVALID, None),
    ("in NAICS 5415", INVALID, None),
    ("in 202510", MISSING, None),
    ("$541512 spent", MISSING, None),
    ("about $ 541512", MISSING, None),
    ("ZIP 541512-0001", MISSING, None),
    ("call 541-512-1234", MISSING, None),
    ("contract 36C10G19D541512", MISSING, None),
    ("version 541512.7", MISSING, None),
    ("item 1541512", MISSING, None),
)


@pytest.mark.parametrize(("question", "status", "value"), CODES)
def test_a_naics_code_is_six_digits_of_their_own(question: str, status: Status, value: Any) -> None:
    found = read(question)["naics"]
    assert (found.status, found.value) == (status, value)
    assert found.note or status in (OK, MISSING)


def test_a_retired_code_is_used_and_said_to_be_retired() -> None:
    assert "retired" in (read("under 517110")["naics"].note or "")


UEIS = (
    (f"vendor {UEI}", OK, UEI),
    (f'vendor "{UEI.lower()}"', OK, UEI),
    (f"UEI: {UEI}, please", OK, UEI),
    (f"{UEI} and {ANOTHER}", AMBIGUOUS, None),
    (f"vendor {UEI[:-1]}1", INVALID, None),
    ('"K7MDPQ4WX2R9"', INVALID, None),
    ('vendor "SUPPLEMENTAL"', INVALID, None),
    ("UEI K7MDPQ4WX2R", INVALID, None),
    ("UEI: K7MDPQ4WX2R88", INVALID, None),
    ("the UEI and the 2 codes", MISSING, None),
    ("a supplemental agreement", MISSING, None),
    ("lot A1B2C3D4E5F6", MISSING, None),
)


@pytest.mark.parametrize(("question", "status", "value"), UEIS)
def test_a_uei_must_pass_its_check_digit(question: str, status: Status, value: str | None) -> None:
    found = read(question)["uei"]
    assert (found.status, found.value) == (status, value)


def test_every_uei_of_real_files_passes_and_no_swap_of_two_neighbours_does(shared: Any) -> None:
    real: set[str] = set()
    with (shared / "data" / "sba_certified_firms.csv").open(encoding="utf-8-sig", newline="") as lines:
        for row in csv.DictReader(lines):
            real |= {value for name, value in row.items() if name and "uei" in name.lower() and len(value or "") == 12}
    assert len(real) > 500
    assert all(is_uei(uei) for uei in real)
    swapped = {u[:i] + u[i + 1] + u[i] + u[i + 2 :] for u in sorted(real)[:100] for i in range(9) if u[i] != u[i + 1]}
    assert sum(is_uei(uei) for uei in swapped) < len(swapped) / 4


IDS = (
    (f"opportunity {UUID}", OK, UUID, "opportunity"),
    (f"notice {UUID.replace('-', '').upper()}", OK, UUID, "opportunity"),
    (f'requirement "{UUID}"', OK, UUID, "requirement"),
    (f"for {UUID}:", OK, UUID, None),
    (f"opportunity {UUID} and requirement {OTHER}", OK, (UUID, OTHER), None),
    (f"{UUID} and {OTHER}", AMBIGUOUS, None, None),
    (f'opportunity "{UUID}; DROP TABLE award"', INVALID, None, None),
    (f"opportunity {UUID}-", MISSING, None, None),
    (f"opportunity {UUID[:-1]}", INVALID, None, None),
    (f"opportunity {UUID[:-1]}x", INVALID, None, None),
)


@pytest.mark.parametrize(("question", "status", "value", "role"), IDS)
def test_a_uuid_is_whole_and_knows_what_it_is_of(question: str, status: Status, value: Any, role: str | None) -> None:
    found = read(question)["uuid"]
    assert (found.status, found.value, found.role) == (status, value, role)


def test_two_uuids_of_two_roles_serve_one_parameter_each() -> None:
    found = read(f"opportunity {UUID} and requirement {OTHER}")["uuid"]
    assert (found.value_for("opportunity"), found.value_for("requirement")) == (UUID, OTHER)
    assert found.value_for(None) is None


WINDOWS = (
    ("in the next 18 months", OK, 18, "ahead"),
    ("within eighteen months", OK, 18, "ahead"),
    ("in twenty-four months", OK, 24, "ahead"),
    ("over the past 3 years", OK, 36, "back"),
    ("over the last year", OK, 12, "back"),
    ("for the past two quarters", OK, 6, "back"),
    ("within the last 6 months", OK, 6, "back"),
    ("within a year and a half", OK, 18, "ahead"),
    ("within half a year", OK, 6, "ahead"),
    ("in 1.5 years", OK, 18, "ahead"),
    ("a couple of years ago", OK, 24, "back"),
    ("within 90 days", OK, 3, "ahead"),
    ("two years", OK, 24, None),
    ("36-month history", OK, 36, None),
    ("in the past 36 months and the next 12 months", OK, (36, 12), None),
    ("in an 18–month window", OK, 18, "ahead"),
    ("within twelve (12) months", OK, 12, "ahead"),
    ("in the next 6-12 months", AMBIGUOUS, None, None),
    ("between 6 and 12 months", AMBIGUOUS, None, None),
    ("within twelve to eighteen months", AMBIGUOUS, None, None),
    ("in the next few months", INVALID, None, None),
    ("by the end of 2027", INVALID, None, None),
    ("since 2022", INVALID, None, None),
    ("since 202510", MISSING, None, None),
    ("over the coming months", MISSING, None, None),
    ("in 12 months or 18 months", AMBIGUOUS, None, None),
    ("within 40 days", INVALID, None, None),
    ("within two weeks", INVALID, None, None),
    ("next year", INVALID, None, None),
    ("this quarter", INVALID, None, None),
    ("within 0 months", INVALID, None, None),
    ("within 9000 months", INVALID, None, None),
    ("10 years of experience", MISSING, None, None),
    ("a five year contract", MISSING, None, None),
    ("a 12 month option", MISSING, None, None),
    ("$18 months", MISSING, None, None),
    ("in FY26", MISSING, None, None),
)


@pytest.mark.parametrize(("question", "status", "value", "role"), WINDOWS)
def test_a_window_is_a_number_of_months_with_a_direction(
    question: str, status: Status, value: Any, role: str | None
) -> None:
    found = read(question)["window_months"]
    assert (found.status, found.value, found.role) == (status, value, role)


def test_a_fiscal_year_is_its_own_kind() -> None:
    years = {"FY26": 2026, "FY 2026": 2026, "FY'25": 2025, "fiscal year 2027": 2027, "fiscal 2024": 2024}
    assert {text: read(f"awards in {text}")["fiscal_year"].value for text in years} == years


PEOPLE = (
    # what is written, clearance, compartments
    ("Secret cleared people", "SECRET", None),
    ("people with Top Secret", "TS", None),
    ("TS/SCI holders", "TS_SCI", None),
    ("Top Secret/SCI holders", "TS_SCI", None),
    ("TS/SCI with SI and TK", "TS_SCI", ("SI", "TK")),
    ("TS//SI-G/TK//NOFORN engineers", "TS_SCI", ("SI", "SI-G", "TK")),
    ("(TS//HCS) people", "TS_SCI", ("HCS",)),
    ("TS/SCI read in to GAMMA", "TS_SCI", ("SI", "SI-G")),
    ("people without clearance", "NONE", None),
    ("public trust staff", "PUBLIC_TRUST", None),
    ("people with a DOE Q", "DOE_Q", None),
    ("people with a Q clearance", "DOE_Q", None),
    ("uncleared staff", "NONE", None),
    ("ts eliot", None, None),
    ("the trade secrets of a vendor", None, None),
)


@pytest.mark.parametrize(("question", "clearance", "compartments"), PEOPLE)
def test_a_clearance_is_the_longest_that_is_named(question: str, clearance: str | None, compartments: Any) -> None:
    found = read(question)
    assert (found["clearance"].value, found["compartments"].value) == (clearance, compartments)
    assert found["agency"].status is MISSING


@pytest.mark.parametrize(
    ("question", "kind", "status"),
    [
        ("Secret people read in to GAMMA", "compartments", INVALID),
        ("people read in to SI", "compartments", AMBIGUOUS),
        ("Secret and TS/SCI people", "clearance", AMBIGUOUS),
        ("a Q, an L or public trust", "clearance", AMBIGUOUS),
    ],
)
def test_what_goes_with_no_clearance_is_said_and_not_counted(question: str, kind: str, status: Status) -> None:
    found = read(question)[kind]
    assert found.status is status
    assert found.note


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("TS/SCI people with SI and no TK", "compartments"),
        ('Who competes outside of the "Department of the Navy"?', "agency"),
        ("Competitors in any code except 541512", "naics"),
        ("people without a Secret clearance", "clearance"),
        (f"awards of all but not vendor {UEI}", "uei"),
    ],
)
def test_a_value_that_the_asker_leaves_out_is_not_used(question: str, kind: str) -> None:
    found = read(question)[kind]
    assert (found.status, found.value) == (INVALID, None)


def test_a_contract_number_is_known_for_what_it_is() -> None:
    found = read("What did contract N00024-19-D-4123 buy?")
    assert found["contract_number"].value == "N0002419D4123"
    assert all(found[kind].status is MISSING for kind in ("naics", "uei", "uuid"))


def test_every_kind_is_there_and_every_span_is_the_text_it_came_from() -> None:
    text = 'Who competes for 541512 at "Department of the Navy" in the next 18 months?'
    found = read(text)
    assert {"agency", "naics", "uuid", "uei", "clearance", "compartments", "window_months"} <= found.keys()
    cut = {kind: text[slice(*one.span)] for kind, one in found.items() if one.span}
    assert cut["agency"] == NAVY
    assert cut["naics"] == "541512"
    assert cut["window_months"].endswith("18 months")


def test_invisible_characters_split_no_code() -> None:
    assert read("in 54\u200b1512")["naics"].value == "541512"


def test_a_scalar_out_of_a_row_is_held_to_the_same_check() -> None:
    accepted = {
        ("uei", UEI): UEI,
        ("uei", UEI[:-1] + "1"): None,
        ("naics", "541512"): "541512",
        ("naics", "541599"): None,
        ("agency", "DEPARTMENT OF THE NAVY"): NAVY,
        ("agency", "Acme"): None,
        ("uuid", UUID): UUID,
        ("uuid", f"x{UUID}"): None,
        ("clearance", "TS"): None,
    }
    assert {pair: accepts(*pair, REFERENCE) for pair in accepted} == accepted


HOSTILE = st.lists(
    st.sampled_from(
        "\" ' “ ’ ‘ « ( 541512 1 a A - / // . , FY TS//SI SI-G year months half twenty the last Department of at NAICS "
        "deadbeef- K7MDPQ4WX2R8 Q, or".split(" ")
    ),
    min_size=1,
    max_size=8,
)


@given(HOSTILE)
@settings(max_examples=150, deadline=None)
def test_four_thousand_hostile_characters_take_bounded_time(pieces: list[str]) -> None:
    for joint in ("", " "):
        question = (joint.join(pieces) + joint) * (4_000 // max(1, len(joint.join(pieces) + joint)))
        times: list[float] = []
        for _ in range(3):
            start = time.thread_time()
            extract(clean(question), REFERENCE)
            times.append(time.thread_time() - start)
        assert min(times) < 0.03  # of this thread alone: the machine of the tests is shared


@given(st.text(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_and_what_is_not_ok_binds_nothing(text: str) -> None:
    cleaned = clean(text)
    for found in extract(cleaned, REFERENCE).values():
        assert found.usable == (found.status is OK)
        assert found.usable <= (found.value is not None)
        assert all(0 <= start <= end <= len(cleaned) for start, end in found.spans)
