"""The guard's lexicon: `reference/guard.toml` of the pack, folded into sets once.

The built in lexicon always applies, because the statutes do; another pack's own `reference/guard.toml` adds words to
it and can take none away.
"""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

BUILT_IN = Path(__file__).parent / "reference" / "guard.toml"

Phrase = tuple[str, ...]
"""A phrase as folded words."""


class Proxy(Struct, frozen=True):
    """A phrase that stands for a protected ground; `alone` ones need no word for people beside them."""

    ground: str
    alone: bool


class Lexicon(Struct, frozen=True, kw_only=True):
    """Words by what they say about a question. Every word is folded: lower case, no accents, no apostrophes."""

    strong: Mapping[str, str]
    weak: Mapping[str, str]
    demonyms: frozenset[str]
    skills: frozenset[str]
    speaking: frozenset[str]
    countries: frozenset[str]
    proxies: Mapping[Phrase, Proxy]
    people: frozenset[str]
    pronouns: frozenset[str]
    own: frozenset[str]
    bench: frozenset[str]
    asks: frozenset[str]
    of_team: frozenset[str]
    chooses: frozenset[str]
    joins: frozenset[str]
    openers: frozenset[str]
    ages_before: frozenset[Phrase]
    ages_tens: frozenset[str]
    ages_plurals: frozenset[str]
    ages_ones: frozenset[str]
    ages_plural_before: frozenset[str]
    ages_after: frozenset[Phrase]
    requires: frozenset[str]
    legal_suffixes: frozenset[str]
    market: frozenset[str]
    heads: frozenset[str]
    counters: frozenset[str]
    selectors: frozenset[str]
    masks: frozenset[Phrase]
    units: frozenset[str]
    leave: frozenset[str]
    plain: frozenset[str]
    never: frozenset[str]
    noted: frozenset[str]
    place_codes: frozenset[str]
    english: frozenset[str]
    foreign: Mapping[str, frozenset[str]]


def load_lexicon(folder: str = "") -> Lexicon:
    """The built in lexicon, widened by `folder/reference/guard.toml` where a pack has one.

    Raises `OSError` or `tomllib.TOMLDecodeError` when a file can't be read.
    """
    files = [BUILT_IN]
    own = Path(folder) / "reference" / "guard.toml" if folder else BUILT_IN
    if own != BUILT_IN and own.exists():
        files.append(own)
    tables = [tomllib.loads(path.read_text(encoding="utf-8")) for path in files]

    def words(section: str, key: str) -> frozenset[str]:
        return frozenset(word for table in tables for word in _text(table, section, key).split())

    def phrases(section: str, key: str) -> frozenset[Phrase]:
        return frozenset(tuple(line.split()) for table in tables for line in _lines(_text(table, section, key)))

    def grounds(section: str) -> dict[str, str]:
        return {
            word: ground for table in tables for ground, text in table.get(section, {}).items() for word in text.split()
        }

    proxies: dict[Phrase, Proxy] = {}
    for table in tables:
        for ground, text in table.get("proxies", {}).items():
            for line in _lines(text):
                proxies[tuple(line.removeprefix("!").split())] = Proxy(ground, line.startswith("!"))
    languages = {name for table in tables for name in table.get("language", {})} - {"english"}
    return Lexicon(
        strong=grounds("strong"),
        weak=grounds("weak"),
        demonyms=words("demonyms", "words"),
        skills=words("demonyms", "skills"),
        speaking=words("demonyms", "speaking"),
        countries=words("countries", "words"),
        proxies=proxies,
        people=words("people", "nouns"),
        pronouns=words("people", "pronouns"),
        own=words("people", "own"),
        bench=words("people", "bench"),
        asks=words("people", "asks"),
        of_team=words("people", "of_team"),
        chooses=words("people", "chooses"),
        joins=words("clauses", "joins"),
        openers=words("clauses", "openers"),
        ages_before=phrases("ages", "before"),
        ages_tens=words("ages", "tens"),
        ages_plurals=words("ages", "plurals"),
        ages_ones=words("ages", "ones"),
        ages_plural_before=words("ages", "plural_before"),
        ages_after=phrases("ages", "after"),
        requires=words("market", "requires"),
        legal_suffixes=words("market", "legal_suffixes"),
        market=words("market", "nouns"),
        heads=words("market", "heads"),
        counters=words("market", "counters") | words("market", "selectors"),
        selectors=words("market", "selectors"),
        masks=phrases("masks", "phrases"),
        units=words("units", "words"),
        leave=words("spelling", "leave"),
        plain=words("plain", "words"),
        never=words("plain", "never"),
        noted=words("noted", "words"),
        place_codes=words("noted", "codes"),
        english=words("language", "english"),
        foreign={name: words("language", name) for name in sorted(languages)},
    )


def _text(table: Mapping[str, Mapping[str, str]], section: str, key: str) -> str:
    return table.get(section, {}).get(key, "")


def _lines(text: str) -> Iterable[str]:
    return (line for raw in text.splitlines() if (line := raw.strip()))
