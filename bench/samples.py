"""Model calls of a vote of three, with the early stop and without, against a model server of 300 ms."""

import asyncio
import time
from collections import Counter
from typing import NamedTuple

from msgspec.structs import replace

from bench import mix
from bench.awards import Shape
from bench.figure import Figure, lines
from bench.model import Model, serving
from consumer.deadline import Deadline
from consumer.inference import open_inference
from consumer.planner.answer import Judge
from consumer.planner.classify import vocabulary_of
from consumer.planner.guard import guard_of
from consumer.planner.plan import bindable
from consumer.planner.propose import MAX_NAMES, PlanCache, Proposer, propose_stable
from consumer.service import load_registry
from consumer.settings import Settings
from consumer.stack.sample import SCOPES
from registry import Intent

K, CALL_SECONDS, QUESTIONS, AT_ONCE = 3, 0.3, 120, 20


class Cost(NamedTuple):
    """Calls and seconds over all questions, and for how many of them the plans differ."""

    calls: int
    calls_all: int
    seconds: float
    seconds_all: float
    differing: int


async def cost(of: int) -> Cost:
    """Against a model of whose samples one in `of` differs."""
    model = Model(CALL_SECONDS, of=of)
    async with serving(model) as url:
        settings = Settings(inference="openai", inference_url=url, inference_model="bench", narrate=False)
        registry = load_registry(settings)
        vocabulary = vocabulary_of(registry)
        async with open_inference(settings, registry, vocabulary) as inference:
            asked = await _asked(Judge(registry, guard_of(registry), vocabulary, inference.proposer, K, PlanCache(0)))
            took, plans = {}, {}
            for way in (_stopping, _all):
                before, began = model.calls, time.perf_counter()
                gate = asyncio.Semaphore(AT_ONCE)
                plans[way] = await asyncio.gather(*(way(gate, inference.proposer, *one) for one in asked))
                took[way] = model.calls - before, time.perf_counter() - began
    differing = sum(a != b for a, b in zip(plans[_stopping], plans[_all], strict=True))
    return Cost(took[_stopping][0], took[_all][0], took[_stopping][1], took[_all][1], differing)


async def _asked(judge: Judge) -> list[tuple[str, tuple[Intent, ...]]]:
    """Compound questions of different wording, each with what it is offered."""
    found: list[tuple[str, tuple[Intent, ...]]] = []
    local = replace(Settings(), inference="embedded")
    async with open_inference(local, judge.registry, judge.vocabulary) as inference:
        quick = Judge(judge.registry, judge.guard, judge.vocabulary, inference.proposer, 1, PlanCache(0))
        for number, one in enumerate(mix.questions(Shape(1_000), 4 * QUESTIONS, seed=1)):
            judged = await quick.judge(one.text, None, frozenset(SCOPES), Deadline.after(5))
            offered = bindable(judge.registry, judged.params, judged.scopes) if judged.proposal else ()
            if len(offered) > MAX_NAMES:
                found.append((f"{number} {judged.text}", offered))
    return found[:QUESTIONS]


async def _stopping(
    gate: asyncio.Semaphore, proposer: Proposer, question: str, offered: tuple[Intent, ...]
) -> tuple[str, ...]:
    async with gate:
        return (await propose_stable(proposer, question, offered, (), K, Deadline.after(60))).names


async def _all(
    gate: asyncio.Semaphore, proposer: Proposer, question: str, offered: tuple[Intent, ...]
) -> tuple[str, ...]:
    """The majority of all samples, whatever the first ones say."""
    async with gate:
        calls = [proposer.propose(question, offered, (), sample, Deadline.after(60)) for sample in range(K)]
        counts = Counter(name for names in await asyncio.gather(*calls) for name in set(names))
    return tuple(intent.name for intent in offered if 2 * counts[intent.name] > K)


async def measure() -> list[Figure]:
    part = f"A vote of {K}, {CALL_SECONDS * 1_000:.0f} ms a call, {QUESTIONS} questions, {AT_ONCE} at once"
    found: list[Figure] = []
    for of in (16, 8):
        c = await cost(of)
        name = f"one sample in {of} differs: calls with the early stop"
        found += [
            Figure(part, name, c.calls, "calls", f"{c.calls_all} without it", c.calls / c.calls_all),
            Figure(part, f"one sample in {of} differs: plans that differ", c.differing, "plans"),
        ]
    return found


if __name__ == "__main__":
    print("\n".join(lines(asyncio.run(measure()))))
