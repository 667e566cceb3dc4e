"""Workers killed at every step, paused past their session, added and ended: each question is answered once."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest

from consumer.stream.points import Point
from tests.conftest import Topics
from tests.streaming import Asked, Books, ask_until, books, publish, publisher, stubs

pytestmark = [pytest.mark.faults, pytest.mark.timeout(180)]

MakeTopics = Callable[[int], Coroutine[None, None, Topics]]

DEADLY = (Point.ANSWERED, Point.BEGUN, Point.SENT, Point.OFFSETS_SENT, Point.COMMITTED)
MIX = ["plan"] * 8 + ["slow 0.5"]


async def test_a_worker_killed_at_any_step_loses_nothing_and_repeats_nothing(
    make_topics: MakeTopics, kafka_bootstrap: str, tmp_path: Path
) -> None:
    """A record sent outside the transaction, or an offset without its answer, would show here (faust#177)."""

    async def killed_at(point: Point) -> tuple[Point, Books]:
        topics = await make_topics(2)
        folder = tmp_path / point.value
        folder.mkdir()
        async with stubs(kafka_bootstrap, topics, folder) as workers, publisher(kafka_bootstrap) as producer:
            first = await workers.ready(2, STUB_DIE=f"{point.value}:3")
            asked: list[Asked] = []
            for _ in range(20):
                asked += await publish(producer, topics.questions, ["plan"] * 4, partitions=2)
            assert await first.wait() == -9
            await workers.ready(2)
            return point, await books(kafka_bootstrap, topics, asked)

    for point, found in await asyncio.gather(*map(killed_at, DEADLY)):
        assert found.balanced, (point, found)


async def test_a_worker_paused_past_its_session_answers_nothing_twice_and_works_on(
    topics: Topics, kafka_bootstrap: str, tmp_path: Path
) -> None:
    """It wakes with answers to partitions that are another's by now (aiokafka#844, #575, #727, kafka#20618)."""
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        first = await workers.ready(4)
        asked = await publish(producer, topics.questions, ["slow 1", "plan"] * 40)
        first.pause()
        second = await workers.ready(4)
        asked += await publish(producer, topics.questions, ["plan"] * 40)
        first.resume()
        await first.reached("lane_lost")
        await first.reached("assigned", 2)
        second.kill()  # so the first must take everything again
        asked += await publish(producer, topics.questions, ["plan"] * 40)
        found = await books(kafka_bootstrap, topics, asked, 40)
        assert first.process.returncode is None
    assert found.balanced, found


async def test_workers_that_come_and_go_answer_everything_once(
    topics: Topics, kafka_bootstrap: str, tmp_path: Path
) -> None:
    """One, three, one again under load (faust#323, vector#14865): finished answers are committed before they leave."""
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        enough = asyncio.Event()
        asking = asyncio.create_task(ask_until(enough, producer, topics.questions, MIX, 4, 100))
        await workers.ready(4)
        others = [await workers.start() for _ in range(2)]
        for other in others:
            await other.reached("lane_ready")
        for other in others:
            other.terminate()
            assert await other.wait() == 0
        enough.set()
        asked = await asking
        found = await books(kafka_bootstrap, topics, asked)
    assert found.balanced, found
