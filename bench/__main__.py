"""`make bench`: every figure beside its reference, in one run on one machine. Timings gate nothing.

python -m bench           minutes: stages, bench attack, vote, sink, loader and market at 100 k rows, throughput, waits
python -m bench --full    longer: the market at 1 M and 10 M rows as well, and five runs of everything interleaved
"""

import argparse
import os
import platform
import time
from collections.abc import AsyncIterator
from pathlib import Path

import uvloop

from bench import latency, market, samples, sink, stages, throughput
from bench.figure import Figure, as_json, lines
from bench.world import ROWS, warm_up, world
from consumer.bench.attack import run as attack
from consumer.bench.lattice import Vocabulary, lattice
from consumer.bench.publish import Rule

BENCHES, SEED = 10, 1
SIZES, SIZES_FULL = (100_000,), (100_000, 1_000_000, 10_000_000)
QUESTIONS, RUNS, RUNS_FULL = 2_000, 2, 5


async def figures(full: bool) -> AsyncIterator[list[Figure]]:
    """One part after the other, so that none measures another's noise."""
    yield await stages.measure()
    yield leaks()
    yield await samples.measure()
    async with world(ROWS) as place:
        url = place.settings.admin_database_url
        yield await sink.measure(url)
        yield await market.measure(url, SIZES_FULL if full else SIZES)
        await warm_up(place.settings)
        yield throughput.figures(await throughput.throughput(place, QUESTIONS, RUNS_FULL if full else RUNS))
        yield await latency.measure(place, QUESTIONS)


def leaks() -> list[Figure]:
    outcome = attack(lattice(Vocabulary()), Rule(), BENCHES, SEED)
    part = f"Groups of 1 to k less 1 that an attacker recovers or pins, {BENCHES} benches, seed {SEED}"
    return [
        Figure(part, "published lattice", outcome.lattice.leaking, "groups"),
        Figure(part, "threshold alone", outcome.threshold.leaking, "groups"),
    ]


async def printed(full: bool) -> list[Figure]:
    """Each part's figures as soon as they are there; all of them in the end."""
    every: list[Figure] = []
    async for found in figures(full):
        every += found
        print("\n".join(lines(found)), flush=True)
    return every


def main(full: bool, json: Path | None) -> None:
    machine = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{machine}, load {os.getloadavg()[0]:.1f}", flush=True)
    began = time.monotonic()
    every = uvloop.run(printed(full))
    print(f"\n{time.monotonic() - began:,.0f} seconds")
    if json is not None:
        json.write_bytes(as_json(every))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true", help="the long ones too")
    parser.add_argument("--json", type=Path, help="a file for the figures as JSON")
    given = parser.parse_args()
    main(given.full, given.json)
