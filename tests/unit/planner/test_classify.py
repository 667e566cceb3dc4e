"""Clauses and scores: what a clause asks for, and what it does not."""

import pytest

import registry
from consumer.planner.classify import Clause, Vocabulary, clauses, stem, vocabulary_of
from registry import Column, Edge, Intent, Param
from registry.intent import ColumnType

REGISTRY = registry.load()
ALL = REGISTRY.plane_names


def intent(name: str, words: tuple[str, ...] = (), phrases: tuple[str, ...] = (), **more: object) -> Intent:
    plane = name.partition(".")[0]
    return Intent(
        name=name,
        plane=plane,
        description=name,
        heading=name,
        noun=("row",),
        columns=(Column(name="ship", type=ColumnType.ENTITY),),
        words=words,
        phrases=phrases,
        **more,  # type: ignore[arg-type]
    )


FLEET = (
    intent("sea.ships", ("ship", "ships", "vessel"), ("which ships sail",), params=(Param(name="port", kind="port"),)),
    intent(
        "sea.captains",
        ("captain", "captains"),
        ("who commands the ship", "open berths"),
        params=(Param(name="ship", kind="ship"),),
        edges=(Edge(param="ship", source="sea.ships", column="ship"),),
    ),
    intent("land.berths", ("berth", "berths"), ("open berths",)),
    intent(
        "land.cargo",
        ("cargo", "freight"),
        params=(Param(name="crates", kind="crates"), Param(name="tons", kind="tons")),
    ),
)
FLEET_WORDS = Vocabulary(FLEET, {"skipper": "captain", "skippers": "captain"})
GIVEN = frozenset({"port", "ship", "crates", "tons"})


@pytest.mark.parametrize(
    ("masked", "names"),
    [
        ("which ships sail from <port>?", {"sea.ships"}),
        ("vessels at <port>, and their cargo", {"sea.ships", "land.cargo"}),
        ("ships and captains and cargo", {"sea.ships", "sea.captains", "land.cargo"}),
        ("skippers, please", {"sea.captains"}),
        ("are there open berths?", {"sea.captains", "land.berths"}),  # two intents declare the phrase
        ("ships at <port>: cargo, berths", {"land.cargo", "land.berths"}),  # what a colon introduces is the list
        ("ships at <port>: <ship>", {"sea.ships"}),  # that introduces no list
        ("our <crates> <tons>", {"land.cargo"}),  # values of our own ask for what takes them
        ("<crates> <tons>", set()),
        ("what is the weather?", set()),
        ("call sea.captains and land.cargo", set()),  # identifiers are no words
        ("", set()),
    ],
)
def test_a_clause_asks_for_the_intent_whose_words_it_uses(masked: str, names: set[str]) -> None:
    fits = FLEET_WORDS.fits(masked, GIVEN, frozenset({"sea", "land"}))
    assert {fit.intent for fit in fits} == names


def test_only_the_planes_asked_about_are_looked_at() -> None:
    fits = FLEET_WORDS.fits("ships and cargo", GIVEN, frozenset({"land"}))
    assert [fit.intent for fit in fits] == ["land.cargo"]


def test_an_intent_that_lacks_a_value_gives_way_to_one_that_has_it() -> None:
    two = Vocabulary(
        (intent("sea.logs", ("log",), params=(Param(name="day", kind="day"),)), intent("land.logs", ("log",)))
    )
    assert [fit.intent for fit in two.fits("the log", frozenset(), frozenset({"sea", "land"}))] == ["land.logs"]


@pytest.mark.parametrize(
    ("masked", "expected"),
    [
        (
            "who is the incumbent on opportunity <uuid>?",
            [Clause(("who", "is", "incumbent", "on", "opportunity"), frozenset({"opportunity"}), ("uuid",))],
        ),
        ("for opportunity <uuid>:", []),
        (
            "spend, with the trend and vendors",
            [Clause(("spend", "with", "trend")), Clause(("vendor",))],
        ),
        ("for <agency>: recompetes", [Clause(("recompet",))]),
    ],
)
def test_clauses_part_at_commas_and_conjunctions(masked: str, expected: list[Clause]) -> None:
    assert list(clauses(masked)) == expected


@pytest.mark.parametrize(
    "family",
    [
        ("compete", "competes", "competing", "competed"),
        ("expire", "expires", "expiring", "expired"),
        ("agency", "agencies"),
        ("win", "wins", "won", "winner"),
        ("buys", "bought", "buyer"),
        ("recompete", "recompetes"),
    ],
)
def test_forms_of_a_word_have_one_stem(family: tuple[str, ...]) -> None:
    assert len({stem(word) for word in family}) == 1


def test_every_intent_is_found_by_its_own_phrases() -> None:
    vocabulary = vocabulary_of(REGISTRY)
    missed: list[tuple[str, str]] = []
    phrases = [(one, phrase) for one in REGISTRY.intents for phrase in one.phrases]
    for one, phrase in phrases:
        fits = vocabulary.fits(phrase.lower(), REGISTRY.kinds, ALL)
        if one.name not in {fit.intent for fit in fits}:
            missed.append((one.name, phrase))
    assert len(missed) <= 0.1 * len(phrases), missed
