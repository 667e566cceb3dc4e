"""Passages: what is cut away, what is kept word for word, and under which heading it stands."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.documents.chunk import SENTENCE_CHARACTERS, chunks, decode, sentences

PAGED = "\n".join(
    f"--- Page {page} ---\nCOMPANY CONFIDENTIAL\n\n{body}\n\n{page}\nVolume I, page {page} of 3"
    for page, body in enumerate(
        (
            "1.0 Purpose - Section\nThe buyer wants forty quiet generators delivered to the depot before the\n"
            "thaw sets in.",
            "1.1 Acceptance – Subsection\nThe inspector signs for each generator that runs for six hours and stays\n"
            "below fifty decibels while",
            "it does. See Table 2.\n1.1.1 Late Delivery. Each late day costs the vendor 0.5 percent of the price.\n"
            "2.0 Records\nLogs cover:\n• fuel\n• noise\nKeep them.",
        ),
        1,
    )
)

# the document, then (section, sentences) of each passage
CASES = [
    (
        PAGED,
        [
            ("1.0 Purpose", ["The buyer wants forty quiet generators delivered to the depot before the thaw sets in."]),
            (
                "1.1 Acceptance",
                [
                    "The inspector signs for each generator that runs for six hours and stays below fifty decibels"
                    " while it does.",
                    "See Table 2.",
                ],
            ),
            ("1.1.1 Late Delivery", ["Each late day costs the vendor 0.5 percent of the price."]),
            ("2.0 Records", ["Logs cover:", "• fuel", "• noise", "Keep them."]),
        ],
    ),
    (
        "# Plan\nWe start in May.\n\n## Staffing\nTwo cooks. One baker.\n\n# Risks\nRain.",
        [("Plan", ["We start in May."]), ("Staffing", ["Two cooks.", "One baker."]), ("Risks", ["Rain."])],
    ),
    (
        "1.0 Scope\nAll of it.\n3.4 Of another plan\n2.9 Lamps\n7.0 Far away\n\nThe rest.",
        [("1.0 Scope", ["All of it."]), ("3.4 Of another plan", ["2.9 Lamps", "7.0 Far away", "The rest."])],
    ),
    ("Quality Level #1:\nNo more than two complaints.", [("Quality Level #1", ["No more than two complaints."])]),
    ("1.1 Scope .......... 4\n1.2 Price .......... 9\nHello there.", [("", ["Hello there."])]),
    ("", []),
    (" \n\n ", []),
]

SENTENCES = [
    ("One. Two! Three?", ["One.", "Two!", "Three?"]),
    ("Ask Dr. Low of U.S. Mint Co. today. He knows.", ["Ask Dr. Low of U.S. Mint Co. today.", "He knows."]),
    ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
    ("At 3.5 percent, see No. 4.", ["At 3.5 percent, see No. 4."]),
]

BYTES = [
    (b"\xef\xbb\xbfPlan", "Plan"),
    ("Plan – é".encode("cp1252"), "Plan – é"),
    ("Plan".encode("utf-16"), "Plan"),
    ("a\u202eb\u200bc\x07d\te".encode(), "abcd\te"),
]


@pytest.mark.parametrize(("text", "passages"), CASES)
def test_a_passage_keeps_its_words_and_its_section(text: str, passages: list[tuple[str, list[str]]]) -> None:
    assert [(chunk.section, list(chunk.sentences)) for chunk in chunks(text)] == passages


@pytest.mark.parametrize(("text", "found"), SENTENCES)
def test_an_abbreviation_ends_no_sentence(text: str, found: list[str]) -> None:
    assert sentences(text) == found


@pytest.mark.parametrize(("raw", "text"), BYTES)
def test_files_of_every_encoding_are_read_and_invisible_letters_dropped(raw: bytes, text: str) -> None:
    assert decode(raw) == text


def test_a_file_that_is_no_text_says_so() -> None:
    with pytest.raises(ValueError, match="no text file"):
        decode(b"PK\x03\x04\0\0")


def test_headings_of_all_levels_can_be_searched() -> None:
    late = next(chunk for chunk in chunks(PAGED) if "Late" in chunk.section)
    assert late.headings == "1.0 Purpose, 1.1 Acceptance, 1.1.1 Late Delivery"


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cf", "Cs", "Co", "Cn")) | st.just("\n")))
def test_no_text_is_invented_and_no_sentence_is_endless(text: str) -> None:
    words = set(text.split())
    for chunk in chunks(text):
        for sentence in chunk.sentences:
            assert 0 < len(sentence) <= SENTENCE_CHARACTERS
            assert set(re.split(r"\s+", sentence)) <= words or len(sentence) == SENTENCE_CHARACTERS or "-" in text


@pytest.mark.parametrize("text", ["1." * 50_000, "A. " * 30_000, "x" * 200_000, "- " * 50_000, "1.1 " * 30_000])
def test_hostile_text_takes_no_time(text: str) -> None:
    assert list(chunks(text)) is not None
