"""`make bench`: every figure beside its reference, in one run on one machine. Timings gate nothing.

python -m bench           minutes: the stages, the attack on the bench, the loader and the market at 100 k rows
python -m bench --full    longer: the market at 1 M rows as well
"""

import argparse
import asyncio
import os
import platform
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bench import market, stages
from consumer.bench.attack import run as attack
from consumer.bench.lattice import Vocabulary, lattice
from consumer.bench.publish import Rule
from consumer.stack import embedded_stack

ROWS, ROWS_FULL = (100_000,), (100_000, 1_000_000)
BENCHES, SEED = 10, 1


async def main(full: bool) -> None:
    load = os.getloadavg()[0]
    print(f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, load {load:.1f}\n")
    print("Stages, microseconds, no Kafka and no Postgres")
    for figure in await stages.measure():
        print(f"{figure.name:<34} {figure.median_us:>10,.0f}   p99 {figure.p99_us:>10,.0f}")
    outcome = attack(lattice(Vocabulary()), Rule(), BENCHES, SEED)
    print(f"\nGroups of 1 to k less 1 that an attacker recovers or pins, {BENCHES} benches, seed {SEED}")
    print(f"{'published lattice':<34} {outcome.lattice.leaking:>10,}")
    print(f"{'threshold alone':<34} {outcome.threshold.leaking:>10,}")
    print("\nLoader against bare COPY of the same columns, then the market's intents")
    async with postgres() as url:
        await market.main(url, ROWS_FULL if full else ROWS)


@asynccontextmanager
async def postgres() -> AsyncGenerator[str]:
    """The server that PLANNER_TEST_POSTGRES names, or an embedded one."""
    if url := os.environ.get("PLANNER_TEST_POSTGRES"):
        yield url
        return
    async with embedded_stack() as stack:
        yield stack.postgres_url


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    asyncio.run(main(parser.parse_args().full))
