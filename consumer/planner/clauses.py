"""Cuts a question into clauses and says of each what it speaks of: people, awards, or neither."""

import re
from itertools import pairwise

from msgspec import Struct

from consumer.planner.normalise import Words
from registry.lexicon import Lexicon

_STOPS = re.compile("[?!;]")


class Clause(Struct, frozen=True):
    """Words `start` to `end` of a question.

    `people` means it could count or choose people, `named` that a word for people stands in it, `asks` one that
    counts or chooses, `bench` a word of clearances or rosters, `own` one for the asker's own side, `market` one of
    awards or documents, `selects` one that narrows. `person_words` are the places that a weak term refuses beside.
    """

    start: int
    end: int
    people: bool
    named: bool
    asks: bool
    market: bool
    own: bool
    bench: bool
    selects: bool
    person_words: frozenset[int]

    @property
    def selects_people(self) -> bool:
        """It counts or chooses the asker's own people."""
        return self.people and self.named and self.asks and (self.own or self.bench)

    @property
    def only_market(self) -> bool:
        """It speaks of awards and of no people, and narrows nothing, so it says nothing about whom to count."""
        return self.market and not self.people and not self.own and not self.selects


def clauses(words: Words, masked: bytearray, lexicon: Lexicon) -> list[Clause]:
    """The clauses in order; they cover every word."""
    texts = words.texts
    cuts = [0]
    for index in range(1, len(texts)):
        gap = words.gap(index)
        if gap == " " and texts[index] not in lexicon.joins:
            continue
        sentence = _STOPS.search(gap) is not None or (". " in gap and len(texts[index - 1]) > 2)
        joins = texts[index] in lexicon.joins and bool(lexicon.openers.intersection(texts[index + 1 : index + 3]))
        opens = "," in gap and texts[index] in lexicon.openers
        if sentence or joins or opens:
            cuts.append(index)
    cuts.append(len(texts))
    found: list[Clause] = []
    for start, end in pairwise(cuts):
        if start < end:
            previous = found[-1] if found else None
            found.append(_clause(texts, start, end, masked, lexicon, previous))
    return found


def _clause(
    texts: tuple[str, ...], start: int, end: int, masked: bytearray, lexicon: Lexicon, previous: Clause | None
) -> Clause:
    plain = [i for i in range(start, end) if not masked[i]]
    said = {texts[i] for i in plain}
    persons = frozenset(i for i in plain if _is_person(texts, i, lexicon))
    market = any(texts[i] in lexicon.market for i in range(start, end))
    own = any(_is_own(texts, i, end, lexicon) for i in plain)
    bench = not said.isdisjoint(lexicon.bench)
    pronouns = frozenset(i for i in plain if texts[i] in lexicon.pronouns)
    if pronouns and not persons and (previous.people if previous else not market):
        persons = pronouns
    required = market and not own and not said.isdisjoint(lexicon.requires) and said.isdisjoint(lexicon.chooses)
    named = bool(persons) or "cleared" in said
    people = (named or bench) and not required
    if bench and not market:
        persons |= {i for i in plain if texts[i] in lexicon.bench}
    selects = not said.isdisjoint(lexicon.selectors)
    asks = not said.isdisjoint(lexicon.asks)
    return Clause(start, end, people, named, asks, market, own, bench, selects, persons if people else frozenset())


def _is_person(texts: tuple[str, ...], index: int, lexicon: Lexicon) -> bool:
    """A word for people; `team` only as a noun, `us` only as in `how many of us`."""
    before = texts[index - 1] if index else ""
    match texts[index]:
        case "team":
            return before in lexicon.of_team
        case "us":
            return before == "of"
        case "who":
            return texts[index + 1 : index + 2] in (("on",), ("among",)) and _is_ours(texts, index + 2, lexicon)
        case word:
            return word in lexicon.people


def _is_ours(texts: tuple[str, ...], index: int, lexicon: Lexicon) -> bool:
    return index < len(texts) and (texts[index] in lexicon.own or texts[index] == "us")


def _is_own(texts: tuple[str, ...], index: int, end: int, lexicon: Lexicon) -> bool:
    """`our people`, `our program managers`, `do we have`, `how many of us`, but not `our contracts` or `our PWS`."""
    if texts[index] not in lexicon.own:
        return texts[index] == "us" and index > 0 and texts[index - 1] == "of"
    if texts[index] not in ("our", "my"):
        return True
    for at in range(index + 1, min(end, index + 4)):
        if texts[at] in lexicon.people:
            return True
        if texts[at] in lexicon.market:
            return at + 1 < end and texts[at + 1] in lexicon.people
    return True
