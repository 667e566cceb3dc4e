"""The guard: no question about people's protected characteristics reaches a query, on any route.

Three layers. By structure, no column, parameter or intent holds such a characteristic. `Guard.check` reads every
question, and every narration, for protected terms. `Guard.unexplained` is the layer that needs no list: on planes
that count people, each word of the question must be one that the query takes, else the question is refused and the
asker is told which words could not be taken.

A mask covers the span of an official name or a business term and nothing beside it; no word exempts a sentence. The
guard must never repeat a protected word, and refuses the whole question for one protected clause.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from enum import StrEnum
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from consumer.planner.clauses import Clause, clauses
from consumer.planner.language import is_english
from consumer.planner.masks import Masks, by_first_word, match
from consumer.planner.normalise import Words, clean, fold, is_hostile, read
from consumer.planner.terms import Terms
from registry import Registry
from registry.catalog import BUILT_IN
from registry.lexicon import Lexicon, Phrase, load_lexicon

NEAR = 6
"""Words between a weak term and the word for people that makes it one."""
AGES = range(16, 100)
MAX_EXAMINED = 256
"""Words that may be disguises looked at in one question; past it only exact terms count, and layer 2."""
MAX_NAMED = 8
"""Words that a refusal names at most."""


class Code(StrEnum):
    """Why a question was refused. A closed list: it stands in answers and is a metric label."""

    EEO_REFUSED = "eeo_refused"
    UNSUPPORTED_FILTER = "unsupported_filter"
    UNSUPPORTED_LANGUAGE = "unsupported_language"
    HOSTILE_TEXT = "hostile_text"


class Verdict(Struct, frozen=True):
    verdict: Literal["pass", "refuse"]
    code: Code | None = None
    message: str | None = None

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"


PASS = Verdict("pass")
_MESSAGES = {
    Code.EEO_REFUSED: (
        "This question asks about people by a characteristic that employment law protects, or by something that "
        "stands for one, so none of it was run. The service holds no such data and counts staff only by clearance, "
        "compartments, labor category and availability. The law: Title VII of the Civil Rights Act, the Age "
        "Discrimination in Employment Act (ADEA), the Americans with Disabilities Act (ADA), the Genetic Information "
        "Nondiscrimination Act (GINA), USERRA and VEVRAA for service members and veterans, and 8 USC 1324b of the "
        "Immigration and Nationality Act (INA). Ask again without that part. The status of firms, such as set asides, "
        "may be asked about."
    ),
    Code.UNSUPPORTED_LANGUAGE: "The service reads English questions only. Please ask again in English.",
    Code.HOSTILE_TEXT: (
        "The question holds hidden characters that change the order in which text is shown, so what was meant can't "
        "be told. Please type it again as plain text."
    ),
}
_REFUSALS = {code: Verdict("refuse", code, message) for code, message in _MESSAGES.items()}


class Guard:
    """Built once from the pack's lexicon, the official and vendor `names` whose words say nothing about people, and
    the `vocabulary` of the Registry: words that questions about its intents are made of."""

    def __init__(self, lexicon: Lexicon, names: Iterable[str] = (), vocabulary: Iterable[str] = ()) -> None:
        lex = self._lexicon = lexicon
        self._touchy = lex.strong.keys() | lex.weak.keys() | lex.demonyms | lex.countries
        self._ordinary = (
            lex.english | lex.people | lex.market | lex.heads | lex.units | lex.leave | lex.skills | lex.plain
        ) - self._touchy
        explaining = (self._ordinary - (lex.heads - lex.market) - lex.leave) | lex.plain | lex.noted
        self._known = (_folded(frozenset(vocabulary)) | explaining) - self._touchy - lex.never
        self._terms = Terms({**lex.weak, **lex.strong}, self._ordinary)
        self._masks = Masks(lex, names, self._touchy)
        self._proxies = by_first_word(lex.proxies)
        self._decades = lex.ages_plurals | {f"{age}s" for age in AGES}
        self._noted = lex.noted - lex.english
        self._ages = lex.ages_tens | self._decades | {str(age) for age in AGES}

    def check(self, question: str, names: Iterable[str] = ()) -> Verdict:
        """Layer 1, before anything else on every route; the same function reads narrations, for which `names` are
        the entities of the evidence."""
        if is_hostile(question):
            return _REFUSALS[Code.HOSTILE_TEXT]
        words = read(clean(question))
        if self._protected(words, names):
            return _REFUSALS[Code.EEO_REFUSED]
        if not is_english(words, self._lexicon, self._known):
            return _REFUSALS[Code.UNSUPPORTED_LANGUAGE]
        return PASS

    def about_people(self, question: str) -> bool:
        """Whether the question counts or chooses people of the asker's own. Layer 2 applies when an intent of a plane
        that counts people was selected, and to such a question when no intent at all was."""
        words = read(clean(question))
        return any(clause.selects_people for clause in clauses(words, self._masks.mark(words), self._lexicon))

    def unexplained(
        self, question: str, explained: Iterable[tuple[int, int]], dimension_words: Iterable[str]
    ) -> tuple[str, ...]:
        """Layer 2, for planes that count people: the asker's words that no query takes, in order.

        `explained` are spans of extracted values in the cleaned question, `dimension_words` the known values of the
        plane's dimensions. Clauses that speak of awards and of no people need no explanation.
        """
        words = read(clean(question))
        masked = self._masks.mark(words)
        parts = clauses(words, masked, self._lexicon)
        _mark(masked, words, explained)
        dimensions = _folded(frozenset(dimension_words))
        left: dict[str, None] = {}
        for clause in parts:
            if clause.only_market:
                continue
            for index in range(clause.start, clause.end):
                if not masked[index] and not self._explained(words, index, dimensions):
                    left[words.source[words.starts[index] : words.ends[index]]] = None
        return tuple(left)

    def noted(self, question: str, explained: Iterable[tuple[int, int]]) -> tuple[str, ...]:
        """Words of clauses about people that refuse nothing but that no count takes, such as places and levels of
        seniority: the answer says that they were not used."""
        words = read(clean(question))
        found = [
            index
            for index, text in enumerate(words.texts)
            if text in self._noted or self._is_place_code(words, index) or self._is_language(words, index)
        ]
        if not found:
            return ()
        masked = self._masks.mark(words)
        people = [clause for clause in clauses(words, masked, self._lexicon) if clause.people]
        _mark(masked, words, explained)
        return tuple(
            words.source[words.starts[index] : words.ends[index]]
            for index in found
            if not masked[index] and any(clause.start <= index < clause.end for clause in people)
        )

    def unsupported(self, unexplained: Sequence[str]) -> Verdict:
        """The refusal that names the words which `unexplained` found; one that is a protected term is not named."""
        if not unexplained:
            return PASS
        named = [word[:40] for word in unexplained if not self._is_touchy(fold(word))]
        shown = "these words: " + ", ".join(f'"{word}"' for word in named[:MAX_NAMED]) if named else "one of the words"
        message = (
            "Staff are counted only by clearance, compartments, labor category and availability, "
            f"and no query takes {shown}. Leaving words out would answer another question, so none of it was run. "
            "Ask again without them."
        )
        return Verdict("refuse", Code.UNSUPPORTED_FILTER, message)

    def _is_touchy(self, word: str) -> bool:
        return word in self._touchy or self._terms.of_word(word) is not None

    def _explained(self, words: Words, index: int, dimensions: frozenset[str]) -> bool:
        text = words.texts[index]
        if text.isdigit():
            return self._is_counted(words.texts[index + 1 : index + 6])
        if len(text) == 1:
            return not _spelt_out(words.texts, index)
        if self._is_place_code(words, index) or self._is_language(words, index):
            return True
        return any(form in self._known or form in dimensions for form in (text, text.removesuffix("s"), text + "s"))

    def _is_language(self, words: Words, index: int) -> bool:
        """A people's name that is a language skill: `Korean linguists`, `speak Korean`, not `Korean engineers`."""
        lex, texts = self._lexicon, words.texts
        if texts[index] not in lex.demonyms:
            return False
        spoken = index > 0 and texts[index - 1] in lex.speaking
        return spoken or not lex.skills.isdisjoint(texts[index + 1 : index + 3])

    def _is_place_code(self, words: Words, index: int) -> bool:
        source = words.source[words.starts[index] : words.ends[index]]
        return source.isupper() and words.texts[index] in self._lexicon.place_codes

    def _is_counted(self, after: Phrase) -> bool:
        """Whether a number counts what follows: a unit at once, or people with words that say which."""
        lex = self._lexicon
        if any(word in lex.units for word in after[:2]):
            return True
        place = next((at for at, word in enumerate(after) if word in lex.people), None)
        return place is not None and lex.english.isdisjoint(after[:place])

    def _protected(self, words: Words, names: Iterable[str]) -> bool:
        found = self._found(words)
        starts = [i for i, text in enumerate(words.texts) if text in self._proxies]
        proxies = {i: phrase for i in starts if (phrase := self._proxy(words, i))}
        ages = [i for i, text in enumerate(words.texts) if text in self._ages and self._filters_age(words, i)]
        if not (found or proxies or ages):
            return False
        masked = self._masks.mark(words, names)
        parts = clauses(words, masked, self._lexicon)
        begins = [clause.start for clause in parts]

        def part(index: int) -> Clause:
            return parts[bisect_right(begins, index) - 1]

        return (
            any(not masked[i] and self._refuses(words, i, term, part(i), masked) for i, term in found.items())
            or any(not masked[i] and self._stands_for(phrase, part(i)) for i, phrase in proxies.items())
            or any(not masked[i] and part(i).people for i in ages)
        )

    def _found(self, words: Words) -> dict[int, str]:
        """Protected terms by the index of the word, disguised ones by the word they are read as."""
        found = {index: text for index, text in enumerate(words.texts) if text in self._touchy}
        known = self._ordinary
        unknown = [index for index, text in enumerate(words.texts) if text not in known]
        for index in unknown[:MAX_EXAMINED]:
            if index not in found and (
                term := self._terms.of_word(words.texts[index]) or self._terms.look_alike(words, index)
            ):
                found[index] = term
        for index, term in self._terms.joined(words).items():
            found.setdefault(index, term)
        for offset, term in self._terms.signed(words.source).items():
            found.setdefault(min(bisect_right(words.ends, offset), len(words.ends) - 1), term)
        return found

    def _refuses(self, words: Words, index: int, term: str, clause: Clause, masked: bytearray) -> bool:
        """Whether a term refuses where it stands."""
        lex, texts = self._lexicon, words.texts
        if term in lex.strong:
            return not self._is_topic(words, index, clause)
        if self._is_language(words, index):
            return False
        if term in lex.countries:
            return clause.people and texts[max(0, index - 2) : index].count("from") > 0
        near = range(max(clause.start, index - NEAR), min(clause.end, index + NEAR + 1))
        return any(i in clause.person_words for i in near if not masked[i])

    def _is_topic(self, words: Words, index: int, clause: Clause) -> bool:
        """A strong term is the topic of an award when its sentence speaks of awards and of no people, unless it is
        itself what is counted or chosen."""
        if clause.people or not clause.market:
            return False
        lex, texts = self._lexicon, words.texts
        if any(word in lex.heads for word in texts[index + 1 : min(clause.end, index + 4)]):
            return True
        return not clause.own and not any(w in lex.counters for w in texts[max(clause.start, index - 2) : index])

    def _proxy(self, words: Words, index: int) -> Phrase | None:
        length = match(self._proxies, words.texts, index)
        return words.texts[index : index + length] if length else None

    def _stands_for(self, phrase: Phrase, clause: Clause) -> bool:
        return clause.people or (self._lexicon.proxies[phrase].alone and not clause.market)

    def _filters_age(self, words: Words, index: int) -> bool:
        """`over 50`, `under 35`, `in their 40s`, `50 or older`, with no unit after the number and no one counted."""
        lex, texts = self._lexicon, words.texts
        before, after = texts[max(0, index - 3) : index], texts[index + 1 : index + 5]
        if texts[index] in lex.ages_tens and after and after[0] in lex.ages_ones:
            after = after[1:]  # thirty five
        if any(word in lex.units for word in after[:2]):
            return False
        if texts[index] in self._decades:
            return bool(before) and before[-1] in lex.ages_plural_before
        if after[:2] in lex.ages_after:
            return True
        compares = before[-1:] in lex.ages_before or before[-2:] in lex.ages_before
        return compares and not any(word in lex.people for word in after[:3])


def _mark(masked: bytearray, words: Words, spans: Iterable[tuple[int, int]]) -> None:
    for start, end in spans:
        for index in range(bisect_left(words.starts, start), bisect_left(words.starts, end)):
            masked[index] = 1


def _spelt_out(texts: Phrase, at: int) -> bool:
    """Whether a single letter is one of three in a row, which is a word in disguise."""
    windows = (texts[start : start + 3] for start in range(max(0, at - 2), at + 1))
    return any(len(window) == 3 and all(len(text) == 1 for text in window) for window in windows)


def guard_of(registry: Registry, vendor_names: Iterable[str] = ()) -> Guard:
    """The guard of a registry: its lexicon, its official names, and the words that its intents and dimensions use.

    `vendor_names` are companies of the loaded data.
    """
    reference = registry.reference
    texts = {text for plane in registry.planes for text in plane.words} | reference.words
    texts.update(reference.synonyms)
    for intent in registry.intents:
        texts.update(intent.words, intent.phrases, intent.noun)
        for column in intent.columns:
            texts.update(column.words, (column.label or "",))
    folder = "" if registry.folder == BUILT_IN else str(registry.folder)
    return Guard(load_lexicon(folder), (*reference.names, *vendor_names), texts)


@lru_cache(maxsize=64)
def _folded(texts: frozenset[str]) -> frozenset[str]:
    return frozenset(word for text in texts for word in read(clean(text)).texts)
