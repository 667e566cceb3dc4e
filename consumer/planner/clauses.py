"""Cuts a question into clauses and says of each what it speaks of: people, awards, or neither."""

from msgspec import Struct
from registry.lexicon import Lexicon

from consumer.planner.normalise import Words

_JOINS = frozenset(("and", "but", "also", "then", "plus", "while"))
_OPENERS = frozenset(
    "who whom which what when where how do does did is are can could our we list show tell give find count whether any "
    "have has please break split sort rank exclude include".split()
)
_REQUIRES = frozenset(
    "require requires required requirement requirements solicitation opportunity opportunities rfp clause clauses pws sow "
    "include includes mention mentions say says ask asks need needs section contract contracts".split()
)
_OF_TEAM = frozenset("our my the proposed oral on this project key each".split())
_CHOOSES = frozenset("our we my bench roster cleared clearance us hire hiring propose proposed field exclude avoid team".split())


class Clause(Struct, frozen=True):
    """Words `start` to `end` of a question. `people` means it could count or choose people, `market` that it speaks
    of awards or documents, `own` that it speaks of the asker's own side."""

    start: int
    end: int
    people: bool
    market: bool
    own: bool
    bench: bool
    person_words: frozenset[int]

    @property
    def selects_people(self) -> bool:
        """It asks about the asker's own people."""
        return self.people and (self.own or self.bench)

    @property
    def only_market(self) -> bool:
        """It speaks of awards and of no people, so it says nothing about whom to count."""
        return self.market and not self.people and not self.own


def clauses(words: Words, masked: bytearray, lexicon: Lexicon) -> list[Clause]:
    """The clauses in order; they cover every word."""
    texts = words.texts
    cuts = [0]
    for index in range(1, len(texts)):
        gap = words.gap(index)
        if gap == " " and texts[index] not in _JOINS:
            continue
        sentence = any(mark in gap for mark in "?!;") or (". " in gap and len(texts[index - 1]) > 2)
        joins = texts[index] in _JOINS and bool(_OPENERS.intersection(texts[index + 1 : index + 3]))
        opens = "," in gap and texts[index] in _OPENERS
        if sentence or joins or opens:
            cuts.append(index)
    cuts.append(len(texts))
    found: list[Clause] = []
    for start, end in zip(cuts, cuts[1:], strict=False):
        if start < end:
            previous = found[-1] if found else None
            found.append(_clause(texts, start, end, masked, lexicon, previous))
    return found


def _clause(
    texts: tuple[str, ...], start: int, end: int, masked: bytearray, lexicon: Lexicon, previous: Clause | None
) -> Clause:
    plain = [i for i in range(start, end) if not masked[i]]
    said = {texts[i] for i in plain}
    persons = frozenset(
        i for i in plain if texts[i] in lexicon.people or (texts[i] == "team" and i and texts[i - 1] in _OF_TEAM)
    )
    market = any(texts[i] in lexicon.market for i in range(start, end))
    own = not said.isdisjoint(lexicon.own)
    bench = not said.isdisjoint(lexicon.bench)
    pronouns = frozenset(i for i in plain if texts[i] in lexicon.pronouns)
    if pronouns and not persons and (previous.people if previous else not market):
        persons = pronouns
    required = not said.isdisjoint(_REQUIRES) and said.isdisjoint(_CHOOSES)
    people = (bool(persons) or bench) and not required
    return Clause(start, end, people, market, own, bench, persons if people else frozenset())
