"""From publish to visible: at half of the load that the worker can take, and beside questions that are slow.

A slow question is one whose plan a model server answers after 5 s; the others' waits are compared with those of the
same questions where none is slow.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import uvloop

from bench import mix
from bench.figure import Figure, lines
from bench.model import Model, serving
from bench.world import ROWS, START_SECONDS, WORKER, Asker, World, running, warm_up, world

WARM = 1_500
SLOW_SECONDS, SLOW_SHARE, MODEL_SECONDS = 5.0, 0.05, 0.01
ISOLATION_SHARE = 0.25
"""Of the largest load: each slow question holds a place of the worker's for its five seconds."""


class Waits(NamedTuple):
    """Milliseconds from publish to visible."""

    median: float
    p99: float


def waits(seconds: Iterable[float]) -> Waits:
    found = sorted(seconds)
    return Waits(1_000 * found[len(found) // 2], 1_000 * found[int(len(found) * 0.99)])


async def at_half_load(place: World, planned: Path, count: int) -> tuple[float, Waits]:
    """The largest rate, questions a second, and the waits at half of it."""
    asked = list(mix.questions(place.shape, WARM + 2 * count, seed=1))
    async with running(WORKER, place, planned) as settings, Asker(settings) as asker:
        await asker.answered([await asker.ask(one) for one in asked[:WARM]], START_SECONDS)
        rate = await asker.throughput(asked[WARM : WARM + count])
        paced = await asker.paced(asked[WARM + count :], rate / 2)
    return rate, waits(paced.values())


async def beside_slow(place: World, planned: Path, count: int, rate: float) -> tuple[Waits, Waits]:
    """The waits of quick questions where none is slow, and where some are."""
    asked = list(mix.questions(place.shape, WARM + count, seed=2))
    found: list[Waits] = []
    for share in (0.0, SLOW_SHARE):
        async with serving(Model(MODEL_SECONDS, SLOW_SECONDS, share)) as url:
            given = {"inference": "openai", "inference_url": url, "inference_model": "bench", "narrate": False}
            async with running(WORKER, place, planned, plan_cache=0, **given) as settings, Asker(settings) as asker:
                await asker.answered([await asker.ask(one) for one in asked[:WARM]], START_SECONDS)
                paced = await asker.paced(asked[WARM:], rate)
        found.append(waits(wait for wait in paced.values() if wait < SLOW_SECONDS))
    return found[0], found[1]


async def measure(place: World, count: int) -> list[Figure]:
    planned = place.folder / "none.pickle"
    rate, half = await at_half_load(place, planned, count)
    without, beside = await beside_slow(place, planned, count, rate * ISOLATION_SHARE)
    first = f"Publish to visible at {rate / 2:,.0f} a second, half of the most"
    then = f"Publish to visible at {rate * ISOLATION_SHARE:,.0f} a second, beside plans that a model names"
    some = f"p99 of the others, {SLOW_SHARE:.0%} take {SLOW_SECONDS:.0f} s"
    return [
        Figure(first, "median", half.median, "ms"),
        Figure(first, "p99", half.p99, "ms"),
        Figure(then, "p99, none is slow", without.p99, "ms"),
        Figure(then, some, beside.p99, "ms", "that where none is slow", beside.p99 / without.p99),
    ]


async def main(count: int) -> None:
    async with world(ROWS) as place:
        await warm_up(place.settings)
        print("\n".join(lines(await measure(place, count))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=2_000)
    uvloop.run(main(parser.parse_args().questions))
