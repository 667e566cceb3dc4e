"""The guard: what refuses, what must not, and what no disguise changes."""

import csv
import json
import re
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.planner.guard import Code, Guard
from consumer.planner.normalise import clean
from registry.lexicon import load_lexicon
from tests.support import SHARED

CASES = Path(__file__).parents[2] / "cases"
DIMENSIONS = (
    "Software Engineer",
    "Systems Engineer",
    "Help Desk Analyst",
    "Network Engineer",
    "Project Manager",
    "Cyber Analyst",
    "Data Scientist",
    "cloud migration",
    "kubernetes",
    "devsecops",
    "itil",
    "zero trust",
    "radar",
    "rmf",
    "gis",
)
GUARD = Guard(
    load_lexicon(),
    names=("Department of Veterans Affairs", "Office of Personnel Management", "Veterans Evaluation Services, Inc."),
    vocabulary=("requirement tree",),
)
UUID = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b")


def judge(question: str) -> tuple[str, Code | None]:
    """What a question about staff meets: layer 1, and layer 2 where it is about people."""
    verdict = GUARD.check(question)
    if verdict.passed and GUARD.about_people(question):
        verdict = GUARD.unsupported(
            GUARD.unexplained(question, [m.span() for m in UUID.finditer(question)], DIMENSIONS)
        )
    return verdict.verdict, verdict.code


def lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", ["guard_fresh.jsonl", "guard_blind.jsonl", "guard_third.jsonl", "guard_fourth.jsonl"])
def test_labelled_questions_get_their_label(name: str) -> None:
    wrong = [case["id"] for case in lines(CASES / name) if judge(case["question"])[0] != case["expect"]]
    assert not wrong


def test_a_writer_who_read_no_rule_meets_no_miss_and_few_false_refusals() -> None:
    cases = lines(CASES / "guard_outsider.jsonl")
    judged = [(case["label"], judge(case["question"])[0]) for case in cases]
    assert judged.count(("refuse", "pass")) == 0
    assert judged.count(("pass", "refuse")) <= 3
    assert len(cases) == 60


@pytest.mark.skipif(not (SHARED / "cases").exists(), reason="needs the shared cases")
@pytest.mark.parametrize("name", ["eeo-cases.jsonl", "eeo-cases-extra.jsonl"])
def test_shared_questions_get_their_label(name: str) -> None:
    wrong = [case["id"] for case in lines(SHARED / "cases" / name) if judge(case["question"])[0] != case["label"]]
    assert not wrong


@pytest.mark.skipif(not (SHARED / "data").exists(), reason="needs the shared data")
@pytest.mark.parametrize(
    "shape",
    [
        "Who are the competitors at {} in 541512?",
        "Show awards to {} in the last 24 months",
        "Which vendors won contracts from {}?",
        'Recompetes at "{}" within 18 months',
    ],
)
def test_official_names_pass_in_market_questions(shape: str) -> None:
    with (SHARED / "data" / "eeo_trap_official_names.csv").open(encoding="utf-8") as file:
        names = [row["name"] for row in csv.DictReader(file)]
    official = Guard(load_lexicon(), names=names)
    assert not [name for name in names if not official.check(shape.format(name)).passed]


DISGUISES = {
    "w0men": "digits for letters",
    "wom@n": "signs for letters",
    "w*men": "a blanked letter",
    "w o m e n": "spaced out",
    "w-o-m-e-n": "hyphens between letters",
    "w.o.m.e.n": "dots between letters",
    "wo-men": "cut in two",
    "wo\u200bmen": "zero width space",
    "wo\u00admen": "soft hyphen",
    "w\u043em\u0435n": "Cyrillic o and e",
    "\uff37\uff4f\uff4d\uff45\uff4e": "full width",
    "\u24e6\u24de\u24dc\u24d4\u24dd": "circled",
    "\U0001d430\U0001d428\U0001d426\U0001d41e\U0001d427": "mathematical bold",
    "wo\u0301m\u0308en": "combining marks",
    "wo\u034fmen": "combining grapheme joiner",
    "wo\u3164men": "Hangul filler",
    "WOMEN": "capitals",
    "wooooomen": "drawn out",
    "vvomen": "two letters that look like one",
    "\U0001f469": "a pictograph",
    "disabeld": "neighbours swapped",
    "preganant": "a letter too many",
    "ethncity": "a letter too few",
}


@pytest.mark.parametrize("word", DISGUISES, ids=DISGUISES.values())
def test_a_disguised_term_is_still_refused(word: str) -> None:
    assert judge(f"How many {word} hold TS/SCI on our bench?") == ("refuse", Code.EEO_REFUSED)


@pytest.mark.parametrize("mark", ["\u202e", "\u202b", "\u2067", "\U000e0041"])
def test_text_shown_in_another_order_is_hostile(mark: str) -> None:
    assert GUARD.check(f"Recompetes {mark}at the Navy in 541512").code is Code.HOSTILE_TEXT


@pytest.mark.parametrize("mark", ["\u202a", "\u200e", "\u2068", "\ufeff", "\u200d"])
def test_marks_that_copying_leaves_behind_are_dropped(mark: str) -> None:
    question = f"{mark}Recompetes at the Navy in 541{mark}512"
    assert GUARD.check(question).passed
    assert clean(question) == "Recompetes at the Navy in 541512"


PASSES = (
    "Which facial recognition tenders mention an ethics review?",
    "Who owns the race condition fix in the tracking software requirements?",
    'Which SDVOSB, WOSB and 8(a) firms won 541512 awards at "Department of Veterans Affairs"?',
    "What did VETERANS EVALUATION SERVICES, INC. win in 24 months?",
    "Awards to WHITE PINE INNOVATIONS, LLC and BLACK CAPE, INC.",
    "How long is the parent contract of each single award vehicle?",
    "Which recompetes are over 40 months away?",
    "Do we have over 40 cleared network engineers?",
    "Does the solicitation require U.S. citizenship of contractor personnel?",
    "Which opportunities ask for Chinese or Korean linguists?",
    "541512 Navy recompetes 18 months",
    "Lockheed Raytheon Boeing Northrop Leidos awards",
)
REFUSALS = (
    "Who among our people is from Nigeria?",
    "Show German analysts on the bench",
    "How many Department of Veterans Affairs women do we have?",
    "Which of our Veterans Evaluation Services, Inc. staff are veterans?",
    "Awards at the Women's Bureau, and how many women are on our bench?",
    "List WOMEN ON OUR STAFF LLC",
    "Staff in their 40s with a clearance",
    "Which employees are 55 or older?",
    "Propose only native speakers",
    "How many of them are Asian?",
    "How many TS people do we have? Prefer Muslims for this contract.",
    "We need TS people. Pick tall ones for this contract.",
    "How many t a l l people do we have?",
)


def test_business_questions_pass() -> None:
    assert {q: GUARD.check(q).code for q in PASSES} == dict.fromkeys(PASSES)


def test_a_mask_covers_its_span_and_nothing_beside_it() -> None:
    assert [q for q in REFUSALS if judge(q)[0] != "refuse"] == []


def test_a_narration_may_name_what_the_evidence_names() -> None:
    narration = "Native Women Warriors led with 34.6 percent."
    assert not GUARD.check(narration).passed
    assert GUARD.check(narration, names=("NATIVE WOMEN WARRIORS",)).passed
    assert not GUARD.check(narration + " Most of its staff are women.", names=("NATIVE WOMEN WARRIORS",)).passed


UNEXPLAINED = (
    ("How many Korean linguists are on our bench?", ()),
    ("How many bench people speak with ease?", ("ease",)),
    ("How many TS/SCI software engineers do we have?", ()),
    ("Do we have Secret help desk analysts available in 6 months?", ()),
    ("How many of our cleared people keep a garden?", ("keep", "garden")),
    ("How many cleared Zoroastrians are on the bench?", ("Zoroastrians",)),
    ("Which cleared engineers on our bench ride motorcycles?", ("ride", "motorcycles")),
    ("Who competes for helicopter upkeep contracts, and do we have TS people?", ()),
    ("Who competes for helicopter upkeep contracts, and do we have tall TS people?", ("tall",)),
)


@pytest.mark.parametrize(("question", "left"), UNEXPLAINED)
def test_each_word_of_a_staff_question_is_explained_or_named(question: str, left: tuple[str, ...]) -> None:
    assert GUARD.unexplained(question, (), DIMENSIONS) == left


def test_a_span_that_was_extracted_is_explained() -> None:
    question = "How many people for Zephyr Command?"
    at = question.index("Zephyr")
    assert GUARD.unexplained(question, (), ()) == ("Zephyr", "Command")
    assert GUARD.unexplained(question, ((at, at + len("Zephyr Command")),), ()) == ()


def test_a_span_explains_its_own_words_only() -> None:
    question = "How many tall TS/SCI engineers for the contract?"
    span = (question.index("TS"), question.index(" for"))
    assert GUARD.unexplained(question, (span,), ()) == ("tall",)


def test_words_that_choose_nobody_are_named_for_the_answer_to_mention() -> None:
    question = "How many senior TS systems engineers with Kubernetes do we have in Colorado and OH?"
    at = question.index("systems")
    span = (at, at + len("systems engineers"))
    assert GUARD.noted(question, (span,)) == ("senior", "Kubernetes", "Colorado", "OH")
    assert GUARD.noted("Korean linguists on the bench?", ()) == ("Korean",)
    assert GUARD.noted("Which awards are performed in Colorado?", ()) == ()


def test_a_refusal_names_words_it_could_not_take_but_no_protected_one() -> None:
    verdict = GUARD.unsupported(("purple", "wom3n", "veteran"))
    assert verdict.code is Code.UNSUPPORTED_FILTER
    assert '"purple"' in (verdict.message or "")
    assert "wom3n" not in (verdict.message or "") and '"veteran"' not in (verdict.message or "")


FOREIGN = (
    "¿Cuántas personas con autorización Secret tenemos en el equipo?",
    "Combien d'analystes avec une habilitation Secret avons-nous dans notre équipe ?",
    "Wie viele Mitarbeiter mit einer Freigabe haben wir in unserem Team?",
    "Quante persone della nostra squadra hanno il nulla osta?",
    "Ilu mamy analityków z poświadczeniem w naszym zespole?",
    "Сколько у нас сотрудников с допуском?",
    "我们有多少名持有安全许可的工程师?",
)


@pytest.mark.parametrize("question", FOREIGN)
def test_other_languages_are_refused(question: str) -> None:
    assert judge(question)[0] == "refuse"


@given(st.text(max_size=300))
def test_any_text_gets_a_verdict(text: str) -> None:
    verdict = GUARD.check(text)
    assert verdict.passed == (verdict.code is None)
    GUARD.unexplained(text, (), ())


@given(st.sampled_from(["women", "Muslim", "pregnant", "veterans"]), st.text("abcdefgh ", max_size=20))
def test_a_message_never_repeats_the_question(term: str, noise: str) -> None:
    verdict = GUARD.check(f"How many {term} of our staff {noise}?")
    assert not verdict.passed
    assert verdict.message is not None and f"{term} of our" not in verdict.message
    assert "Title VII" in verdict.message


@given(
    st.sampled_from(["women", "disabled", "hispanic"]),
    st.integers(1, 5),
    st.sampled_from("\u200b\u200c\u2060\u00ad\ufeff"),
)
def test_an_invisible_letter_anywhere_hides_nothing(term: str, at: int, mark: str) -> None:
    assert not GUARD.check(f"How many {term[:at]}{mark}{term[at:]} are cleared?").passed


HOSTILE = (
    "w0men ",
    "a ",
    "\"'",
    "womwn ",
    "w*m_n ",
    "9",
    "аsiаn ",
    "over 50 ",
    "native american ",
    "native; ",
    "women's health award? ",
    "\u0430\u0431\u0432\u0433 ",
    "((((",
    "a" * 80 + " ",
    "department of ",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_text_takes_time_that_grows_with_its_length_alone(piece: str) -> None:
    """Fifty times what it takes, so that only a text that multiplies the work fails; `make bench` has the figure."""
    started = time.thread_time()
    GUARD.check((piece * 4_000)[:4_000])
    assert time.thread_time() - started < 1
