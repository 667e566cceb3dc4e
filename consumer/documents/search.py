"""Questions to the tenant's documents: passages that hold the words of a question, and an answer that quotes them.

The answer is a verbatim sentence with its document and section, or says plainly that the documents do not answer. It
is put together by code out of the passage; no text of a document is read as an instruction by anything.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from importlib import resources
from typing import Any, Final, NamedTuple, Protocol
from uuid import UUID

from msgspec import Struct

from consumer.planner.evidence import Evidence
from registry import Column
from registry.intent import ColumnType

PLANE = "docs"
SCOPE = "docs:read"
INTENT = "docs.search"
PASSAGES = 12
"""Passages that a question looks at."""
QUOTES = 2
"""Most places that an answer quotes."""
COVERED = 0.6
"""Least part of a question's words, by their rarity, that a quote and its headings hold. Of 50 questions that a real
work statement answers, in other words than its own, 46 have it; of 54 that it does not answer, 2."""
SURE = 0.75
"""The same where it is not certain that the documents are asked: of 36 questions that lack a value none has it, of 12
about a work statement 9. Also where a question has no more than two words to hold."""
ABSENT, UNKNOWN_NAME = 0.8, 2.0
"""What a word of the question counts that no passage holds: a little less, for people ask in words of their own; and
a name or number more, for a passage about parking does not answer who reserves it for somebody it never names."""
HEADING_PART = 0.7
"""What a word in the headings counts, against one in the quote itself."""
BESIDE = 0.92
"""A second place is quoted if it holds this part of what the first does."""
PAIR_GAIN = 1.15
"""Two sentences in a row are quoted where they hold this much more of the question than one."""
LIST_CHARACTERS = 700
"""Longest list that is quoted with the sentence that opens it."""
NOTHING: Final = "This is not in your documents."

# Stems of what frames a question and is no part of what it asks for.
FRAME: Final = frozenset(
    """
    accord allow alon answer come contain describ done exact far fast find get give happen keep kept kind know long look
    mani may mean mention much must need often permit pleas pws question quick requir rfp role say show soon sort sow
    state tell type want
    """.split()
)
_POINTS_BACK = re.compile(r"(?:These|This|They|It|Such|Those)\b")
"""How a sentence opens that goes on about the one before it."""
_NAMED = re.compile(r"(?<=\S\s)[A-Z0-9][\w-]*|[A-Z0-9]{2,}")

STATEMENT: Final = (resources.files("consumer.documents") / "search.sql").read_text(encoding="utf-8")

COLUMNS: Final = (
    Column(name="document", type=ColumnType.ENTITY, words=("document", "file"), key=True),
    Column(name="section", type=ColumnType.TEXT, words=("section",), key=True, untrusted=True),
    Column(name="quote", type=ColumnType.TEXT, words=("says", "quote"), untrusted=True),
)


class Transaction(Protocol):
    """What searching needs of the tenant's transaction."""

    async def fetch(self, text: str, arguments: Sequence[Any]) -> Sequence[Any]: ...


class Sentence(Struct, frozen=True):
    """A sentence word for word, and the words of the question that it holds, as stems."""

    text: str
    words: frozenset[str]


class Passage(Struct, frozen=True, kw_only=True):
    """A passage of a document. `weights` gives each word of the question by its rarity among the tenant's passages,
    `heading` those of them that stand in the headings above the passage."""

    document: str
    section: str
    sentences: tuple[Sentence, ...]
    heading: frozenset[str]
    weights: dict[str, float]
    score: float

    @property
    def text(self) -> str:
        return " ".join(sentence.text for sentence in self.sentences)


async def search(tx: Transaction, tenant_id: UUID, question: str, limit: int = PASSAGES) -> tuple[Passage, ...]:
    """The passages of the tenant's documents that hold words of the question, best first.

    `tx` must be the tenant's transaction. Raises what its `fetch` raises.
    """
    return tuple(_passage(row) for row in await tx.fetch(STATEMENT, (tenant_id, question, limit)))


def _passage(row: Any) -> Passage:
    return Passage(
        document=row["document"],
        section=row["section"],
        sentences=tuple(
            Sentence(text, frozenset(words.split()))
            for text, words in zip(row["sentences"], row["sentence_words"], strict=True)
        ),
        heading=frozenset(row["heading_words"]),
        weights=dict(zip(row["words"], row["weights"], strict=True)),
        score=row["score"],
    )


class _Quote(NamedTuple):
    covered: float
    text: str
    passage: Passage


def answer_from(
    passages: Sequence[Passage], question: str, as_of: date, least: float = COVERED
) -> tuple[str, Evidence]:
    """The answer in words and the evidence it stands on, one row a quote; no row where the documents do not answer.
    `least` is the part of the question that a quote must hold."""
    quotes = _best(passages, question, least)
    evidence = Evidence(
        id="e1",
        intent=INTENT,
        plane=PLANE,
        heading="From your documents",
        noun=("passage",),
        columns=COLUMNS,
        rows=tuple((quote.passage.document, quote.passage.section, quote.text) for quote in quotes),
        as_of=as_of,
    )
    return "\n".join(_cite(quote) for quote in quotes) or NOTHING, evidence


def _cite(quote: _Quote) -> str:
    place = f"{quote.passage.document}, {quote.passage.section}" if quote.passage.section else quote.passage.document
    opening, closing = ("“", "”") if '"' in quote.text else ('"', '"')
    return f"{place}: {opening}{quote.text}{closing}"


def _best(passages: Sequence[Passage], question: str, least: float) -> list[_Quote]:
    if not passages:
        return []
    weights = _weights(passages, question)
    least = least if len(weights) > 2 else max(least, SURE)
    found = sorted(
        (q for p in passages for q in _quotes(p, weights)), key=lambda q: -q.covered
    )  # stable: best passage first
    kept: list[_Quote] = []
    for quote in found:
        enough = quote.covered >= max(least, BESIDE * kept[0].covered if kept else 0)
        if enough and len(kept) < QUOTES and not any(q.text in quote.text or quote.text in q.text for q in kept):
            kept.append(quote)
    return kept


def _weights(passages: Sequence[Passage], question: str) -> dict[str, float]:
    """What each word of the question counts, as parts of 1."""
    rarity = {word: weight for word, weight in passages[0].weights.items() if word not in FRAME}
    held = {word for p in passages for words in (p.heading, *(s.words for s in p.sentences)) for word in words}
    named = [name.lower() for name in _NAMED.findall(question)]
    for word in rarity.keys() - held:
        rarity[word] *= UNKNOWN_NAME if any(name.startswith(word) for name in named) else ABSENT
    total = sum(rarity.values())
    return {word: weight / total for word, weight in rarity.items()} if total else {}


def _quotes(passage: Passage, weights: dict[str, float]) -> Iterator[_Quote]:
    """Each sentence, with the one after it where that adds enough, or with the list that it opens."""
    heading = {word: weights[word] * HEADING_PART for word in passage.heading & weights.keys()}

    def covered(words: frozenset[str]) -> float:
        return sum(weights[w] if w in words else heading.get(w, 0.0) for w in weights)

    for place, sentence in enumerate(passage.sentences):
        alone = covered(sentence.words)
        after = passage.sentences[place + 1] if place + 1 < len(passage.sentences) else None
        if sentence.text.endswith(":"):
            yield _Quote(alone, _with_list(passage.sentences[place:]), passage)
        elif after and (pair := covered(sentence.words | after.words)) > PAIR_GAIN * max(alone, covered(after.words)):
            yield _Quote(pair, f"{sentence.text} {after.text}", passage)
        elif after and after.words & weights.keys() and _POINTS_BACK.match(after.text):
            yield _Quote(covered(sentence.words | after.words), f"{sentence.text} {after.text}", passage)
        else:
            yield _Quote(alone, sentence.text, passage)


def _with_list(sentences: Sequence[Sentence]) -> str:
    """The sentence that opens a list, with its items: what follows and is no sentence of its own."""
    text = sentences[0].text
    for item in sentences[1:]:
        if item.text.endswith(".") or len(text) + len(item.text) > LIST_CHARACTERS:
            break
        text = f"{text} {item.text}"
    return text
