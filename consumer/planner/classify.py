"""How well each intent fits what a question says: deterministic scores from the words that intents declare.

Shared by the route (is this one intent or several?) and by the embedded proposer. A question is scored clause by
clause, with its extracted values left out: a clause asks for one thing, and its best intent is the one whose own
vocabulary it uses most. Rare words weigh more (inverse frequency over the Registry's intents).
"""

import math
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import lru_cache

from msgspec import Struct

from consumer.planner.extract import Params
from registry import Intent

NAME_WEIGHT, WORD_WEIGHT, PHRASE_WEIGHT = 1.0, 1.0, 0.5
WORD_BONUS, STOP_BONUS = 1.0, 0.4
"""What each word of a declared phrase is worth, beside its own weight, where a clause holds the phrase in order."""
FLOOR = 1.6
"""Below this a clause asks for no intent."""
NAME_BONUS = 0.8
"""What it is worth that a clause says the whole name of an intent: `requirements` is not `requirement tree`."""

_SPLIT = re.compile(
    r"[,;:?.!]+(?!\s+(?:with|including|by)\b)(?:\s+and\b)?|\s+(?:and|plus|versus|vs)\s+|\s+as well as\s+", re.IGNORECASE
)
_INTRODUCES = re.compile(
    r"\b(?:(?:for|on|of|the|this|an?)\s+)*(?:opportunity|notice|solicitation|requirement|vendor|uei|naics|code|agency)"
    r"(?:\s+(?:id|number|with|code|uei))*[\s\"'“‘(]*$",
    re.IGNORECASE,
)
"""Words that only introduce a value: `for opportunity ...` asks for nothing yet."""
_WORD = re.compile(r"[a-z0-9]+")
_STOP = frozenset(
    """
    a an the of for to in at on by with from into over under and or is are was were be been do does did have has had we
    us our ours you your i me my it its they them their this that these those there what which who whom whose when how
    where why will would can could should may any all each every some please show list give tell find get see let next
    last past within during up one ones also then so than more less about as if not no only just s
    """.split()
)


class Fit(Struct, frozen=True):
    """An intent that some clause asks for, with the score of the best such clause."""

    intent: str
    score: float
    clause: int


@lru_cache(maxsize=4_096)
def stem(word: str) -> str:
    """A word without its commonest endings; only ever compared with other stems."""
    for ending, shortest in (("ies", 5), ("ing", 6), ("ed", 5), ("es", 5), ("s", 4)):
        if word.endswith(ending) and len(word) >= shortest:
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def all_stems(text: str) -> tuple[str, ...]:
    return tuple(w if w in _STOP else stem(w) for w in _WORD.findall(text.lower()))


def stems(text: str) -> tuple[str, ...]:
    return tuple(stem(w) for w in _WORD.findall(text.lower()) if w not in _STOP)


class Vocabulary:
    """The words of the Registry's intents, weighed once."""

    def __init__(self, intents: Sequence[Intent]) -> None:
        own = {intent.name: _weights(intent) for intent in intents}
        spread = Counter(word for weights in own.values() for word in weights)
        rarity = {word: math.log(1 + len(intents) / count) for word, count in spread.items()}
        self.weights: Mapping[str, Mapping[str, float]] = {
            name: {word: weight * rarity[word] for word, weight in weights.items()} for name, weights in own.items()
        }
        self.names = {intent.name: all_stems(_short(intent)) for intent in intents}
        self.phrases: Mapping[str, tuple[tuple[str, ...], ...]] = {
            intent.name: tuple(p for p in (all_stems(phrase) for phrase in intent.phrases) if len(p) > 1)
            for intent in intents
        }

    def score(self, clause: Sequence[str], name: str) -> float:
        """`clause` holds every word's stem, in order."""
        words = set(clause) - _STOP
        total = sum(weight for word, weight in self.weights[name].items() if word in words)
        total += NAME_BONUS * _within(self.names[name], clause)
        return total + max((_worth(p) for p in self.phrases[name] if _within(p, clause)), default=0.0)

    def fits(
        self, clauses: Sequence[Sequence[str]], intents: Iterable[Intent], kinds: Container[str]
    ) -> tuple[Fit, ...]:
        """The best intent of each clause. Of equal ones that is the one which can use more of the `kinds` of values
        that the question gives, needs none that it does not, and is the more general."""
        candidates = tuple(intents)
        if not candidates:
            return ()
        best: dict[str, Fit] = {}
        for place, clause in enumerate(clauses):
            ranked = (
                (self.score(clause, i.name), -_lacks(i, kinds), _takes(i, kinds), len(i.params), i) for i in candidates
            )
            score, *_, chosen = max(ranked, key=lambda r: r[:4])
            name = chosen.name
            if score >= FLOOR and (name not in best or best[name].score < score):
                best[name] = Fit(name, score, place)
        return tuple(best.values())


def _takes(intent: Intent, kinds: Container[str]) -> int:
    return sum(param.kind in kinds for param in intent.params)


def _lacks(intent: Intent, kinds: Container[str]) -> int:
    return sum(param.kind not in kinds for param in intent.required)


def clauses(question: str, params: Params) -> tuple[tuple[str, ...], ...]:
    """The question's clauses as stems, extracted values left out so that a name holding `and` splits nothing."""
    text = list(question)
    for found in params.values():
        for start, end in found.spans:
            introduced = _INTRODUCES.search(question, max(0, start - 60), start)
            begin = introduced.start() if introduced else start
            text[begin:end] = " " * (end - begin)
    parts = (all_stems(part) for part in _SPLIT.split("".join(text)))
    return tuple(part for part in parts if not _STOP.issuperset(part))


def _short(intent: Intent) -> str:
    return intent.name.rpartition(".")[2].replace("_", " ")


def _weights(intent: Intent) -> dict[str, float]:
    weights: dict[str, float] = {}
    for source, weight in ((intent.phrases, PHRASE_WEIGHT), (intent.words, WORD_WEIGHT)):
        for text in source:
            for word in stems(text):
                weights[word] = max(weight, weights.get(word, 0.0))
    for word in stems(_short(intent)):
        weights[word] = max(NAME_WEIGHT, weights.get(word, 0.0))
    return weights


def _worth(phrase: Sequence[str]) -> float:
    return sum(STOP_BONUS if word in _STOP else WORD_BONUS for word in phrase)


def _within(phrase: Sequence[str], clause: Sequence[str]) -> bool:
    """Whether the phrase's words stand in the clause in this order, others between them allowed."""
    rest = iter(clause)
    return all(word in rest for word in phrase)
