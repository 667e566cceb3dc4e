"""Questions a second of the worker, the bare loop and FastStream, interleaved on one machine.

`python -m bench.throughput --questions 2000 --runs 5`
"""

import argparse
import statistics

import uvloop

from bench import mix
from bench.figure import Figure, lines
from bench.world import (
    BARE,
    BARE_PLANNER,
    PEER,
    ROWS,
    START_SECONDS,
    WORKER,
    Asker,
    Contender,
    World,
    running,
    warm_up,
    world,
)

WARM = 1_000


async def throughput(place: World, count: int, runs: int) -> dict[Contender, list[float]]:
    """Questions a second of each contender in each run; each run asks other questions, of all contenders the same,
    in another order."""
    rates: dict[Contender, list[float]] = {contender: [] for contender in (WORKER, BARE, BARE_PLANNER, PEER)}
    planned = place.folder / "calls.pickle"
    for run in range(1, runs + 1):
        asked = list(mix.questions(place.shape, WARM + count, seed=run))
        mix.write(planned, await mix.calls(asked))
        for contender, found in turned(list(rates.items()), run):
            async with running(contender, place, planned) as settings, Asker(settings) as asker:
                await asker.answered([await asker.ask(one) for one in asked[:WARM]], START_SECONDS)
                found.append(await asker.throughput(asked[WARM:]))
            print(f"  run {run}, {contender.name:<30}{found[-1]:>8,.0f} a second", flush=True)
    return rates


def turned(contenders: list[tuple[Contender, list[float]]], run: int) -> list[tuple[Contender, list[float]]]:
    """Another one first in each run: who is first finds the server's caches cold."""
    first = run % len(contenders)
    return contenders[first:] + contenders[:first]


def figures(rates: dict[Contender, list[float]]) -> list[Figure]:
    medians = {contender: statistics.median(found) for contender, found in rates.items()}
    part = f"Throughput, median of {len(rates[WORKER])} interleaved runs, {mix.TENANTS} tenants, {ROWS:,} awards"
    own = medians.pop(WORKER)
    others = [Figure(part, f"{other.name} takes", rate, "a second") for other, rate in medians.items()]
    ratios = [Figure(part, "planner takes", own, "a second", other.name, own / rate) for other, rate in medians.items()]
    return [*others, *ratios]


async def main(count: int, runs: int) -> None:
    async with world(ROWS) as place:
        await warm_up(place.settings)
        print("\n".join(lines(figures(await throughput(place, count, runs)))))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=2_000)
    parser.add_argument("--runs", type=int, default=5)
    given = parser.parse_args()
    uvloop.run(main(given.questions, given.runs))
