"""What is quoted of passages that search found, and when it is said that nothing answers."""

from datetime import date

import pytest

from consumer.documents.search import NOTHING, Passage, Sentence, answer_from

AS_OF = date(2026, 12, 1)


def passage(*sentences: tuple[str, str], heading: str = "", section: str = "2.1 Lamps", **weights: float) -> Passage:
    """Sentences with the words of the question that each holds, as stems."""
    return Passage(
        document="lamps.txt",
        section=section,
        sentences=tuple(Sentence(text, frozenset(words.split())) for text, words in sentences),
        heading=frozenset(heading.split()),
        weights=weights,
        score=1.0,
    )


# question, passages, what is quoted
CASES = [
    (
        "Who trims the lamps?",
        [passage(("The keeper trims the lamps at dusk.", "trim lamp"), ("Oil is free.", ""), trim=4, lamp=2)],
        ["The keeper trims the lamps at dusk."],
    ),
    ("Who trims the lamps?", [], []),
    ("Who trims the lamps?", [passage(("Lamps are brass.", "lamp"), trim=4, lamp=2)], []),
    (  # a word of the frame counts nothing, wherever it stands
        "How often must lamps be trimmed?",
        [passage(("Trim lamps daily.", "trim lamp"), trim=4, lamp=2, often=9, must=3)],
        ["Trim lamps daily."],
    ),
    (  # the heading says what it is about
        "How long do lamps of the tower burn?",
        [passage(("They burn nine hours.", "burn"), heading="lamp tower", burn=3, lamp=2, tower=2)],
        ["They burn nine hours."],
    ),
    (  # two sentences in a row hold what neither does
        "When are lamps trimmed in storms?",
        [
            passage(
                ("In storms call the keeper.", "storm"),
                ("Lamps are trimmed by two.", "lamp trim"),
                storm=3,
                lamp=3,
                trim=3,
            )
        ],
        ["In storms call the keeper. Lamps are trimmed by two."],
    ),
    (  # what points back belongs to the sentence before it
        "What is on a lamp tag?",
        [passage(("Each lamp has a tag.", "lamp tag"), ("It names the maker of the lamp.", "lamp"), lamp=2, tag=4)],
        ["Each lamp has a tag. It names the maker of the lamp."],
    ),
    (  # a list comes with the sentence that opens it
        "Which lamps are listed?",
        [
            passage(
                ("Listed lamps are:", "list lamp"),
                ("• tower", ""),
                ("• gate", ""),
                ("The rest is dark.", ""),
                list=3,
                lamp=2,
            )
        ],
        ["Listed lamps are: • tower • gate"],
    ),
    (  # somebody the documents don't know
        "Does Zed trim the tower lamps?",
        [passage(("The keeper trims the tower lamps.", "trim tower lamp"), trim=3, tower=2, lamp=2, zed=4)],
        [],
    ),
    (
        "Who trims the lamps?",
        [
            passage(("The keeper trims the lamps.", "trim lamp"), trim=4, lamp=2),
            passage(("The keeper trims the lamps.", "trim lamp"), trim=4, lamp=2, section="9 Annex"),
            passage(("Lamps of the gate are trimmed by the guard.", "trim lamp"), trim=4, lamp=2, section="3 Gate"),
            passage(("Lamps and trims.", "trim lamp"), trim=4, lamp=2, section="4 Shop"),
        ],
        ["The keeper trims the lamps.", "Lamps of the gate are trimmed by the guard."],
    ),
]


@pytest.mark.parametrize(("question", "passages", "quotes"), CASES)
def test_the_answer_quotes_what_holds_the_question(question: str, passages: list[Passage], quotes: list[str]) -> None:
    text, evidence = answer_from(passages, question, AS_OF)
    assert [row[2] for row in evidence.rows] == quotes
    if quotes:
        assert all(f'"{quote}"' in text for quote in quotes)
        assert text.startswith("lamps.txt, 2.1 Lamps: ")
    else:
        assert text == NOTHING
        assert "not in your documents" in text


def test_a_quote_that_holds_quotes_is_told_apart_from_them() -> None:
    found = passage(('The tag says "lit" at dusk.', "tag say dusk"), tag=3, dusk=3)
    assert answer_from([found], "What does the tag say at dusk?", AS_OF)[0].endswith('“The tag says "lit" at dusk.”')
