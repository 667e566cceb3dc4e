"""How well each intent fits what a question says: deterministic scores from the words that intents declare.

Shared by the route (is this one intent or several?) and by the embedded proposer. Both read the question with its
values masked by their kinds (`consumer.planner.propose.masked`), clause by clause: a clause asks for one thing, and
what it asks for is the intent whose own words it uses most. Rare words weigh more (inverse frequency over the
Registry's intents); a value in the clause speaks for the intents that take its kind.
"""

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence, Set
from functools import lru_cache

from msgspec import Struct

from registry import Intent, Plane, Registry

NAME_WEIGHT, WORD_WEIGHT, PART_WEIGHT, PHRASE_WEIGHT = 1.0, 1.0, 0.7, 0.4
"""Of a word that stands in an intent's name, alone among its words, as part of one of those, or in a phrase."""
AGAIN = 0.1
"""What each further declaration of a word adds."""
WORD_BONUS, STOP_BONUS = 1.0, 0.4
"""What each word of a phrase is worth beside its own weight, where a clause holds the whole phrase in order."""
KIND_WEIGHT = 0.7
"""Of a value in the clause, for the intents that take its kind, times the rarity of the kind."""
UNBOUND = 2.0
"""What is taken off where the question lacks a value that the intent needs."""
FOLLOWS = 1.5
"""What is added where a clause says `they` or `it` and the intent is that of the clause before, or may take a value
out of it."""
WEAK = 0.5
"""Of a word that only says what kind of value follows: `opportunity` before a uuid."""
FLOOR = 1.6
"""Below this a clause asks for no intent; half of it must be the words'."""

_TOKEN = re.compile(r"<[a-z_]+>|[a-z0-9]+(?:[._][a-z0-9]+)*|[,;:?!.]|['’]")
_LISTS = frozenset({"with", "including", "by"})
_JOINS = frozenset({"and", "plus", "versus", "vs"})
_OWN = frozenset({"we", "us", "our", "ours"})
_BACK = frozenset({"they", "them", "their", "it", "its", "that", "there"})
_BETWEEN = frozenset({"id", "number", "with", "code", "uei"})
_NOUNS = frozenset({"opportunity", "notice", "solicitation", "requirement", "vendor", "uei", "naics", "code", "agency"})
"""Words that say what kind of value follows."""
_SILENT = ("agency", "naics", "uuid", "uei", "clearance", "compartments", "window_months")
"""Kinds whose values say nothing of what is asked; any other value, such as SDVOSB, speaks of its kind as well."""
_ARTICLES = frozenset({"a", "an", "the"})
_STOP = frozenset(
    """
    a an the of for to in at on by with from into over under and or is are was were be been do does did have has had we
    us our ours you your i me my it its they them their this that these those there what which who whom whose when how
    where why will would can could should may any all each every some please show list give tell find get see let next
    last past within during up one ones also then so than more less about as if not no only just s
    """.split()
)
_IRREGULAR = {
    **dict.fromkeys(("won", "wins", "winning", "winner", "winners"), "win"),
    **dict.fromkeys(("bought", "buyer", "buyers", "buying"), "buy"),
    **dict.fromkeys(("spent", "spends", "spending"), "spend"),
    **dict.fromkeys(("held", "holder", "holders"), "hold"),
    **dict.fromkeys(("took", "taken", "taking"), "take"),
    **dict.fromkeys(("lost", "losing", "loses"), "lose"),
    **dict.fromkeys(("sold", "seller"), "sell"),
    **dict.fromkeys(("grew", "grown", "growth"), "grow"),
    **dict.fromkeys(("longest", "longer"), "long"),
    **dict.fromkeys(("subs", "subcontracts", "subcontractors", "subcontracting"), "subcontractor"),
}


_NONE: Mapping[int, float] = {}


class Fit(Struct, frozen=True):
    """An intent that some clause asks for, with the score of the best such clause."""

    intent: str
    score: float
    clause: int


class Clause(Struct, frozen=True):
    """The stems of one clause in order, those of words that only say what kind of value follows, the kinds of the
    values in it, and whether it only introduces the next."""

    stems: tuple[str, ...]
    weak: frozenset[str] = frozenset()
    kinds: tuple[str, ...] = ()
    introduces: bool = False


class _Phrase(Struct, frozen=True):
    """`asks` marks a declared phrase: a clause that holds one which two intents declare asks for both."""

    intent: int
    stems: tuple[str, ...]
    words: frozenset[str]
    worth: float
    asks: bool


@lru_cache(maxsize=8_192)
def stem(word: str) -> str:
    """A word without its commonest endings; only ever compared with other stems."""
    if word in _STOP:
        return word
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    for ending, shortest in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= shortest and not word.endswith("ss"):
            word = word[: -len(ending)] + ("y" if ending == "ies" else "")
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def stems(text: str) -> tuple[str, ...]:
    """The stems of a declared text, articles left out as they are in clauses."""
    return tuple(stem(word) for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in _ARTICLES)


class Vocabulary:
    """The words of the Registry's intents, weighed once."""

    def __init__(
        self, intents: Sequence[Intent], synonyms: Mapping[str, str] | None = None, planes: Sequence[Plane] = ()
    ) -> None:
        self._intents = tuple(intents)
        self._same = {stem(word): stem(as_) for word, as_ in (synonyms or {}).items()}
        self._place = {intent.name: place for place, intent in enumerate(intents)}
        own = [self._merged(_weights(intent)) for intent in intents]
        spread: dict[str, float] = {}
        for weights in own:
            for word, weight in weights.items():
                spread[word] = spread.get(word, 0.0) + weight
        self._words: dict[str, list[tuple[int, float]]] = {}
        for place, weights in enumerate(own):
            for word, weight in weights.items():
                rarity = math.log(1 + len(intents) / max(1.0, spread[word]))
                self._words.setdefault(word, []).append((place, weight * rarity))
        self._phrases: dict[str, list[_Phrase]] = {}
        for place, intent in enumerate(intents):
            for declared, asks in _phrases(intent).items():
                phrase = self._plain(declared)
                self._phrases.setdefault(phrase[0], []).append(
                    _Phrase(place, phrase, frozenset(phrase), _worth(phrase), asks)
                )
        self._kinds = _kind_weights(intents)
        counting = {plane.name for plane in planes if plane.suppressed}
        self._counts = tuple(intent.plane in counting for intent in intents)
        self._of_people = frozenset(
            word for plane in planes if plane.suppressed for text in plane.words for word in self._plain(stems(text))
        ) - (_STOP | _OWN)
        elsewhere = {param.kind for intent in intents if intent.plane not in counting for param in intent.params}
        self._kinds_of_people = {
            param.kind for intent in intents if intent.plane in counting for param in intent.params
        } - elsewhere
        self._needs = tuple(
            (
                frozenset(param.kind for param in intent.required),
                frozenset(param.kind for param in intent.params if param.name in intent.one_of),
            )
            for intent in intents
        )

    def fits(self, masked: str, kinds: Set[str], planes: Set[str]) -> tuple[Fit, ...]:
        """The intents of `planes` that a masked question asks for: the best of each clause.

        `kinds` are those whose values the question gives. What stands before a colon only introduces the list that
        follows, where one does.
        """
        found: list[tuple[bool, tuple[Fit, ...]]] = []
        before: tuple[Fit, ...] = ()
        for number, clause in enumerate(clauses(masked)):
            before = self._best(clause, number, {fit.intent for fit in before}, kinds, planes)
            found.append((clause.introduces, before))
        listed = any(fits and not introduces for introduces, fits in found)
        best: dict[str, Fit] = {}
        for introduces, fits in found:
            for fit in () if introduces and listed else fits:
                if fit.intent not in best or best[fit.intent].score < fit.score:
                    best[fit.intent] = fit
        return tuple(best.values())

    def _best(
        self,
        clause: Clause,
        number: int,
        before: Container[str],
        kinds: Set[str],
        planes: Set[str],
    ) -> tuple[Fit, ...]:
        """The intent that the clause asks for, with others that declare the same phrase; none below the floor."""
        worth, whole = self._said(clause)
        owned = not _OWN.isdisjoint(clause.stems)
        pointed = not _BACK.isdisjoint(clause.stems)
        people = owned or self._is_of_people(clause)
        scored: list[tuple[float, tuple[int, int], int]] = []
        candidates = set(worth).union(*(self._kinds.get(kind, ()) for kind in clause.kinds)) if owned else worth.keys()
        for place in candidates:
            said, intent = worth.get(place, 0.0), self._intents[place]
            if intent.plane not in planes or (said < 0.5 * FLOOR and not owned):
                continue
            if self._counts[place] and not people and place not in whole:
                continue
            score = said + sum(self._kinds.get(kind, _NONE).get(place, 0.0) for kind in clause.kinds)
            if pointed and (intent.name in before or any(edge.source in before for edge in intent.edges)):
                score += FOLLOWS
            if score >= FLOOR:
                scored.append((score - UNBOUND * self._lacks(place, kinds), self._use(place, kinds), place))
        if not scored:
            return ()
        score, _, chosen = max(scored, key=lambda one: (round(one[0], 6), one[1], -one[2]))
        phrase = whole.get(chosen)
        asked = [chosen]
        if phrase is not None and phrase.asks:
            asked += [p for p, other in whole.items() if p != chosen and other.asks and other.stems == phrase.stems]
        named = (self._intents[place] for place in asked if self._intents[place].plane in planes)
        return tuple(Fit(intent.name, worth.get(self._place[intent.name], score), number) for intent in named)

    def _is_of_people(self, clause: Clause) -> bool:
        """Whether a clause speaks of people, as it must to have them counted: by a word of a plane that counts them, or
        by a value that only such planes take."""
        return not (
            self._of_people.isdisjoint(self._plain(clause.stems)) and self._kinds_of_people.isdisjoint(clause.kinds)
        )

    def _plain(self, words: Iterable[str]) -> tuple[str, ...]:
        return tuple(self._same.get(word, word) for word in words)

    def _merged(self, weights: Mapping[str, float]) -> dict[str, float]:
        merged: dict[str, float] = {}
        for word, weight in weights.items():
            same = self._same.get(word, word)
            merged[same] = max(weight, merged.get(same, 0.0))
        return merged

    def _lacks(self, place: int, kinds: Set[str]) -> bool:
        """Whether the question lacks a value that the intent needs; an edge may still bring it."""
        needed, one_of = self._needs[place]
        return not needed <= kinds or (bool(one_of) and one_of.isdisjoint(kinds))

    def _use(self, place: int, kinds: Set[str]) -> tuple[int, int]:
        """How many of the kinds that the question gives an intent uses, then how general it is."""
        params = self._intents[place].params
        return sum(param.kind in kinds for param in params), len(params)

    def _said(self, clause: Clause) -> tuple[dict[int, float], dict[int, _Phrase]]:
        """What the words of a clause are worth to each intent that declares one of them, and the phrases that it holds
        whole."""
        words = self._plain(clause.stems)
        weak = {*self._plain(clause.weak), *self._plain(_spoken(clause.kinds))}
        worth: dict[int, float] = {}
        for word in dict.fromkeys((*words, *weak)):
            factor = WEAK if word in weak else 1.0
            for place, weight in self._words.get(word, ()):
                worth[place] = worth.get(place, 0.0) + factor * weight
        whole: dict[int, _Phrase] = {}
        said = frozenset(words)
        for start, word in enumerate(words):
            for phrase in self._phrases.get(word, ()):
                if not phrase.words <= said:
                    continue
                best = whole.get(phrase.intent)
                if (best is None or phrase.worth > best.worth) and _within(phrase.stems, words, start):
                    whole[phrase.intent] = phrase
        for place, phrase in whole.items():
            worth[place] = worth.get(place, 0.0) + phrase.worth
        return worth, whole


def vocabulary_of(registry: Registry) -> Vocabulary:
    """The vocabulary of a registry, its synonyms and planes taken in."""
    return Vocabulary(registry.intents, registry.reference.synonyms, registry.planes)


def clauses(masked: str) -> tuple[Clause, ...]:
    """The clauses of a masked question. One that holds but the word for a value, such as `for opportunity`, is none."""
    found: list[Clause] = []
    words: list[str] = []
    weak: set[str] = set()
    kinds: list[str] = []

    def close(introduces: bool = False) -> None:
        owned = bool(kinds) and not _OWN.isdisjoint(words)
        if owned or not all(word in _STOP or word in weak for word in words):
            found.append(Clause(tuple(words), frozenset(weak), tuple(dict.fromkeys(kinds)), introduces))
        words.clear()
        weak.clear()
        kinds.clear()

    tokens = _TOKEN.findall(masked.replace(" as well as ", " and "))
    for at, token in enumerate(tokens):
        if token[0] == "<":
            kinds.append(token[1:-1])
        elif token in _JOINS or token in ",;:?!.":
            follows = tokens[at + 1] if at + 1 < len(tokens) else ""
            if follows not in _LISTS or token in ";?!.":
                close(introduces=token == ":")
        elif "." not in token and "_" not in token and token not in _ARTICLES:
            # a dotted name is somebody's identifier and no word
            words.append(stem(token))
            if token in _NOUNS and _precedes_value(tokens, at):
                weak.add(words[-1])
    close()
    return tuple(found)


def _spoken(kinds: Iterable[str]) -> tuple[str, ...]:
    return tuple(w for kind in kinds if not kind.startswith(_SILENT) for w in stems(kind.replace("_", " ")))


def _precedes_value(tokens: Sequence[str], at: int) -> bool:
    follows = at + 1
    while follows < len(tokens) and follows < at + 3 and tokens[follows] in _BETWEEN:
        follows += 1
    return follows < len(tokens) and tokens[follows][0] == "<"


def _kind_weights(intents: Sequence[Intent]) -> Mapping[str, Mapping[int, float]]:
    """By kind, and by kind with a role (`window_months_ahead`), what a value of it is worth to each intent."""
    roles = {(p.kind, p.role) for intent in intents for p in intent.params} | {
        (p.kind, None) for intent in intents for p in intent.params
    }
    weights: dict[str, dict[int, float]] = {}
    for kind, role in roles:
        takers = [
            place
            for place, intent in enumerate(intents)
            if any(p.kind == kind and (role is None or p.role in (None, role)) for p in intent.params)
        ]
        weight = KIND_WEIGHT * math.log(1 + len(intents) / len(takers))
        weights[kind if role is None else f"{kind}_{role}"] = dict.fromkeys(takers, weight)
    return weights


def _weights(intent: Intent) -> dict[str, float]:
    weights: dict[str, float] = {}

    def weigh(words: Iterable[str], weight: float) -> None:
        for word in words:
            if word in _STOP:
                continue
            known = weights.get(word, 0.0)
            weights[word] = max(weight, known) + AGAIN * (known > 0.0)

    for phrase in intent.phrases:
        weigh(stems(phrase), PHRASE_WEIGHT)
    for entry in intent.words:
        parts = stems(entry)
        weigh(parts, WORD_WEIGHT if len(parts) == 1 else PART_WEIGHT)
    weigh(stems(_short(intent)), NAME_WEIGHT)
    return weights


def _phrases(intent: Intent) -> dict[tuple[str, ...], bool]:
    """Runs of words that an intent declares, with whether they are phrases; its name is one, even of one word."""
    runs: dict[tuple[str, ...], bool] = {phrase: False for phrase in map(stems, intent.words) if len(phrase) > 1}
    runs[stems(_short(intent))] = False
    runs |= {phrase: True for phrase in map(stems, intent.phrases) if len(phrase) > 1}
    return runs


def _short(intent: Intent) -> str:
    return intent.name.rpartition(".")[2].replace("_", " ")


def _worth(phrase: Sequence[str]) -> float:
    return sum(STOP_BONUS if word in _STOP else WORD_BONUS for word in phrase)


def _within(phrase: Sequence[str], words: Sequence[str], start: int) -> bool:
    """Whether the phrase's words stand in order from `start` on, others between them allowed."""
    at = start
    for word in phrase:
        while at < len(words) and words[at] != word:
            at += 1
        if at == len(words):
            return False
        at += 1
    return True
