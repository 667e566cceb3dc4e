"""The worker's memory over many questions: after the first tenth, which warms it up, it should stand still.

`python -m bench.memory --questions 200000`
"""

import argparse

import psutil
import uvloop

from bench import mix
from bench.figure import Figure, lines
from bench.world import ROWS, WORKER, Asker, running, world

ROUND = 2_000
MEGABYTE = 1e6


def worker() -> psutil.Process:
    """The worker among the processes that this one started."""
    (found,) = [one for one in psutil.Process().children() if one.cmdline()[-2:] == [WORKER.module, "worker"]]
    return found


async def measure(count: int) -> list[Figure]:
    used: list[float] = []
    async with world(ROWS) as place:
        planned = place.folder / "none.pickle"
        async with running(WORKER, place, planned) as settings, Asker(settings) as asker:
            process = worker()
            for run in range(count // ROUND):
                await asker.throughput(list(mix.questions(place.shape, ROUND, seed=run)))
                asker.published.clear()
                asker.visible.clear()
                used.append(process.memory_info().rss / MEGABYTE)
                print(f"  {(run + 1) * ROUND:>8,} questions{used[-1]:>8.1f} MB", flush=True)
    tenth = max(1, len(used) // 10)
    warm, last = used[tenth - 1], max(used[-tenth:])
    part = f"Resident memory of the worker over {count:,} questions"
    return [
        Figure(part, f"after {tenth * ROUND:,}", warm, "MB"),
        Figure(part, "most in the last tenth", last, "MB", "that", last / warm),
    ]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=200_000)
    print("\n".join(lines(uvloop.run(measure(parser.parse_args().questions)))))
