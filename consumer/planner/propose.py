"""Proposals: a proposer names intents, several samples vote, and what the vote decides is cached by hash.

A proposer's whole output is a list of names. What is not in the closed set it was offered is dropped and counted, so a
question that holds instructions changes nothing but which names are chosen. A failing or late proposer proposes
nothing; it never fails a question.
"""

import asyncio
import hashlib
from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from msgspec import Struct

from consumer.deadline import Deadline
from consumer.errors import Transient
from registry import Intent
from schemas.answer import Outcome

MAX_NAMES = 6
"""Most intents in a plan."""


class Proposer(Protocol):
    @property
    def remote(self) -> bool:
        """Whether a sample waits for a network, so that samples are worth taking side by side."""
        ...

    async def propose(
        self, question: str, offered: tuple[Intent, ...], kinds: tuple[str, ...], sample: int, deadline: Deadline
    ) -> tuple[str, ...]:
        """Names of intents for `question`, out of `offered`, given that values of `kinds` are at hand.

        The question is masked: it holds kinds in place of values, so a proposer sees none and a plan fits whoever
        asks the same. `sample` numbers the vote, from 0. Raises `Transient` or `TimeoutError` when there is no answer.
        """
        ...


class Proposal(Struct, frozen=True, kw_only=True):
    """What the samples said and what they decided.

    `samples` hold the known names of each sample taken, in Registry order; `names` the majority of all samples, of
    which those not taken could not have changed it. `unknown` counts names that were not offered, `failed` samples
    that gave no answer.
    """

    samples: tuple[tuple[str, ...], ...]
    names: tuple[str, ...]
    outcome: Outcome
    unknown: int = 0
    failed: int = 0


NOTHING = Proposal(samples=(), names=(), outcome=Outcome.NONE)


async def propose_stable(
    proposer: Proposer,
    question: str,
    offered: tuple[Intent, ...],
    kinds: tuple[str, ...],
    k: int,
    deadline: Deadline,
) -> Proposal:
    """The names that more than half of `k` samples gave, as soon as no further sample can change them.

    `question` is what `masked` made of the asker's.
    Stopping early is exact: the names are those that all `k` samples would give. With nothing offered no sample is
    taken. A sample that fails, is late or can't be read counts as an empty one.
    """
    if not offered:
        return NOTHING
    votes = _Votes(k, {intent.name: place for place, intent in enumerate(offered)})
    while not votes.decided:
        # No vote is decided before more than half agree, so the first wave can go out together at no waste.
        first = len(votes.samples)
        wave = max(1, k // 2 + 1 - first) if proposer.remote else 1
        calls = [_sample(proposer, question, offered, kinds, first + i, deadline) for i in range(wave)]
        for names in await asyncio.gather(*calls) if wave > 1 else [await calls[0]]:
            votes.add(names)
    return votes.proposal()


async def _sample(
    proposer: Proposer, question: str, offered: tuple[Intent, ...], kinds: tuple[str, ...], at: int, deadline: Deadline
) -> tuple[str, ...] | None:
    try:
        async with deadline.scope():
            return await proposer.propose(question, offered, kinds, at, deadline)
    except (Transient, TimeoutError):
        return None


class _Votes:
    """Counts samples. Invariant: `len(samples) <= k`, and a name is in a sample at most once."""

    def __init__(self, k: int, places: Mapping[str, int]) -> None:
        self.samples: list[tuple[str, ...]] = []
        self._k = k
        self._places = places
        self._counts: Counter[str] = Counter()
        self._unknown = 0
        self._failed = 0

    def add(self, names: Sequence[str] | None) -> None:
        given = dict.fromkeys(names or ())
        known = [name for name in given if name in self._places][:MAX_NAMES]
        self._unknown += sum(name not in self._places for name in given)
        self._failed += names is None
        self._counts.update(known)
        self.samples.append(tuple(sorted(known, key=self._places.__getitem__)))

    @property
    def decided(self) -> bool:
        left = self._k - len(self.samples)
        if left == 0:
            return True
        if 2 * left > self._k:
            return False  # a name that nobody has given yet could still win
        return all(2 * count > self._k or 2 * (count + left) <= self._k for count in self._counts.values())

    def proposal(self) -> Proposal:
        winners = [name for name, count in self._counts.items() if 2 * count > self._k]
        # More than six can win when samples differ. Registry order cuts them: votes would depend on the early stop.
        names = tuple(sorted(winners, key=self._places.__getitem__)[:MAX_NAMES])
        agreed = Outcome.STABLE if len(set(self.samples)) == 1 else Outcome.PARTIAL
        return Proposal(
            samples=tuple(self.samples),
            names=names,
            outcome=agreed if names else Outcome.NONE,
            unknown=self._unknown,
            failed=self._failed,
        )


def masked(question: str, spans: Mapping[str, Iterable[tuple[int, int]]]) -> str:
    """The cleaned question with the spans of each kind of value replaced by the kind, in lower case, blanks folded.

    Two questions that differ only in their values have the same masked text, and so the same plan.
    """
    pieces: list[str] = []
    at = 0
    found = sorted((span, kind) for kind, places in spans.items() for span in places)
    for (start, end), kind in found:
        if start < at:
            continue  # inside the one before: `SI` in `TS/SCI SI`
        pieces += (question[at:start], f"<{kind}>")
        at = end
    pieces.append(question[at:])
    return " ".join("".join(pieces).lower().split())


def plan_key(registry_digest: str, masked_question: str, kinds: Iterable[str], scopes: Iterable[str]) -> bytes:
    """SHA-256 of everything that a plan depends on. Lengths go in too, so that no two inputs read alike."""
    digest = hashlib.sha256()
    for part in (registry_digest, masked_question, " ".join(sorted(kinds)), " ".join(sorted(scopes))):
        encoded = part.encode("utf-8", "surrogatepass")
        digest.update(len(encoded).to_bytes(4))
        digest.update(encoded)
    return digest.digest()


class CacheCounts(Struct, frozen=True):
    hits: int
    misses: int
    size: int


class PlanCache:
    """Proposals by `plan_key`, the least recently used dropped first.

    Invariants: at most `limit` entries; an entry holds names and counts only, no text of a question. A proposal with
    a failed sample is not kept, nor is an empty one: neither may outlive its cause. Shared by all tenants, which is
    safe because scopes are in the key and values are not.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[bytes, Proposal] = OrderedDict()
        self._hits = 0
        self._misses = 0

    def get(self, key: bytes) -> Proposal | None:
        found = self._kept.get(key)
        if found is None:
            self._misses += 1
            return None
        self._kept.move_to_end(key)
        self._hits += 1
        return found

    def put(self, key: bytes, proposal: Proposal) -> None:
        if self._limit == 0 or proposal.failed or proposal.outcome is Outcome.NONE:
            return
        self._kept[key] = proposal
        self._kept.move_to_end(key)
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)

    @property
    def counts(self) -> CacheCounts:
        return CacheCounts(self._hits, self._misses, len(self._kept))
