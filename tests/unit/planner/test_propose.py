"""Votes: the early stop is exact, unknown names are dropped, failures are empty; and the plan cache."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.deadline import Deadline
from consumer.errors import Transient
from consumer.planner.propose import MAX_NAMES, NOTHING, PlanCache, Proposal, masked, plan_key, propose_stable
from registry import Column, Intent
from registry.intent import ColumnType
from schemas.answer import Outcome

NAMES = tuple(f"market.i{number}" for number in range(9))
OFFERED = tuple(
    Intent(
        name=name,
        plane="market",
        description=name,
        heading=name,
        noun=("row", "rows"),
        columns=(Column(name="vendor", type=ColumnType.ENTITY),),
    )
    for name in NAMES
)


class Scripted:
    """Gives the samples it was told, in order; None fails."""

    def __init__(self, *samples: tuple[str, ...] | None, remote: bool = False) -> None:
        self.remote = remote
        self.samples = samples
        self.asked: list[int] = []

    async def propose(
        self, question: str, offered: tuple[Intent, ...], kinds: tuple[str, ...], sample: int, deadline: Deadline
    ) -> tuple[str, ...]:
        self.asked.append(sample)
        await asyncio.sleep(0)
        names = self.samples[sample]
        if names is None:
            raise Transient("away")
        return names


def ask(proposer: Scripted, k: int | None = None) -> Proposal:
    async def run() -> Proposal:
        return await propose_stable(proposer, "?", OFFERED, (), k or len(proposer.samples), Deadline.after(5))

    return asyncio.run(run())


A, B, C = NAMES[:3]
VOTES = (
    # samples, names, outcome, samples taken
    (((A, B), (A, B), (C,)), (A, B), Outcome.STABLE, 2),
    (((B, A), (A, B), ()), (A, B), Outcome.STABLE, 2),
    (((A, B), (A, C), (C,)), (A, C), Outcome.PARTIAL, 3),
    (((A,), (B,), (C,)), (), Outcome.NONE, 3),
    (((), (), (A,)), (), Outcome.NONE, 2),
    (((A,), None, (A,)), (A,), Outcome.PARTIAL, 3),
    ((None, None, None), (), Outcome.NONE, 2),
    (((A,),), (A,), Outcome.STABLE, 1),
    (((A,), (A,)), (A,), Outcome.STABLE, 2),
    (((A, "market.unknown", A), (A,), ()), (A,), Outcome.STABLE, 2),
)


@pytest.mark.parametrize(("samples", "names", "outcome", "taken"), VOTES)
@pytest.mark.parametrize("remote", [False, True])
def test_a_majority_decides_as_soon_as_it_can(
    samples: tuple[tuple[str, ...] | None, ...], names: tuple[str, ...], outcome: Outcome, taken: int, remote: bool
) -> None:
    proposal = ask(Scripted(*samples, remote=remote))
    assert (proposal.names, proposal.outcome, len(proposal.samples)) == (names, outcome, taken)


sample = st.lists(st.sampled_from((*NAMES, "DROP TABLE award", "bench.roster")), max_size=9).map(tuple) | st.none()


@given(st.lists(sample, min_size=1, max_size=9), st.booleans())
def test_stopping_early_never_changes_the_names(samples: list[tuple[str, ...] | None], remote: bool) -> None:
    known = [[name for name in dict.fromkeys(names or ()) if name in NAMES][:MAX_NAMES] for names in samples]
    counts = Counter(name for names in known for name in names)
    majority = [name for name in NAMES if 2 * counts[name] > len(samples)][:MAX_NAMES]
    proposal = ask(Scripted(*samples, remote=remote))
    assert proposal.names == tuple(majority)
    assert set(proposal.names) <= set(NAMES)
    assert all(set(taken) <= set(NAMES) for taken in proposal.samples)


def test_unknown_names_are_dropped_and_counted() -> None:
    proposal = ask(Scripted((A, "x; DROP TABLE award", "market.nope"), (A, "market.nope"), ()))
    assert (proposal.names, proposal.unknown) == ((A,), 3)


def test_at_most_six_names_of_seven() -> None:
    assert ask(Scripted(NAMES, NAMES, NAMES)).names == NAMES[:MAX_NAMES]


def test_nothing_offered_asks_nobody() -> None:
    proposer = Scripted((A,))

    async def run() -> Proposal:
        return await propose_stable(proposer, "?", (), (), 3, Deadline.after(5))

    assert asyncio.run(run()) == NOTHING
    assert proposer.asked == []


def test_a_proposer_that_hangs_is_cut_at_the_deadline() -> None:
    class Hanging(Scripted):
        async def propose(self, *_: object) -> tuple[str, ...]:  # type: ignore[override]
            await asyncio.Event().wait()
            raise AssertionError

    async def run() -> tuple[Proposal, float]:
        start = asyncio.get_running_loop().time()
        proposal = await propose_stable(Hanging(remote=True), "?", OFFERED, (), 3, Deadline.after(0.1))
        return proposal, asyncio.get_running_loop().time() - start

    proposal, seconds = asyncio.run(run())
    assert (proposal.names, proposal.outcome, proposal.failed) == ((), Outcome.NONE, 2)
    assert seconds < 1


def proposal_of(*names: str, failed: int = 0) -> Proposal:
    return Proposal(samples=(names,), names=names, outcome=Outcome.STABLE if names else Outcome.NONE, failed=failed)


def test_the_cache_keeps_the_lately_used_and_counts() -> None:
    cache = PlanCache(2)
    cache.put(b"1", proposal_of(A))
    cache.put(b"2", proposal_of(B))
    assert cache.get(b"1") == proposal_of(A)
    cache.put(b"3", proposal_of(C))
    assert [cache.get(key) is not None for key in (b"1", b"2", b"3")] == [True, False, True]
    assert (cache.counts.hits, cache.counts.misses, cache.counts.size) == (3, 1, 2)


@pytest.mark.parametrize("proposal", [proposal_of(), proposal_of(A, failed=1)])
def test_what_a_failure_shaped_is_not_cached(proposal: Proposal) -> None:
    cache = PlanCache(2)
    cache.put(b"1", proposal)
    assert cache.get(b"1") is None


def test_a_cache_of_none_keeps_nothing() -> None:
    cache = PlanCache(0)
    cache.put(b"1", proposal_of(A))
    assert cache.counts.size == 0


def test_questions_that_differ_in_values_alone_share_a_key() -> None:
    first = 'Who competes for 541512 at "Navy"?'
    second = 'who  competes for 236220 at "Department of the Army"?'
    spans = [
        {"naics": [(17, 23)], "agency": [(28, 32)], "uei": []},
        {"agency": [(29, 51)], "naics": [(18, 24)]},
    ]
    assert masked(first, spans[0]) == masked(second, spans[1]) == 'who competes for <naics> at "<agency>"?'


@given(st.tuples(*[st.text(max_size=4)] * 2, *[st.lists(st.text("ab", min_size=1, max_size=2), max_size=2)] * 2))
def test_a_changed_registry_or_scope_is_another_key(parts: tuple[str, str, list[str], list[str]]) -> None:
    digest, text, kinds, scopes = parts
    key = plan_key(digest, text, kinds, scopes)
    assert key == plan_key(digest, text, reversed(kinds), reversed(scopes))
    assert key != plan_key(digest + "x", text, kinds, scopes)
    assert key != plan_key(digest, text, [*kinds, "c"], scopes)
    assert key != plan_key(digest, text, kinds, [*scopes, "c"])
    assert len(key) == 32
