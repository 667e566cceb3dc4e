"""Postgres away under load: questions wait, nothing is lost, none is a dead letter, memory is bounded."""

import asyncio
import os
import time
from pathlib import Path
from uuid import uuid4

import psutil
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from consumer.stack import embedded_stack
from tests.conftest import Topics
from tests.streaming import Asked, Stub, books, publish, publisher, read, stubs

pytestmark = [pytest.mark.faults, pytest.mark.timeout(300)]

AWAY_SECONDS = float(os.environ.get("AWAY_SECONDS", "15"))
BURST = 20


async def test_postgres_away_under_load_fails_no_question_that_may_wait(tmp_path: Path) -> None:
    """An outage is no fault of a question (kafka-connect-jdbc#1312), and what waits is bounded
    (parallel-consumer#826, #832)."""
    async with embedded_stack() as stack:
        topics = Topics(*(f"db{uuid4().hex[:8]}.{kind}" for kind in ("questions", "answers", "audit", "dlt")))
        admin = AIOKafkaAdminClient(bootstrap_servers=stack.kafka_bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic(topic, 4, 1) for topic in topics])
        await admin.close()
        settings = {"database_url": stack.postgres_url, "database_pool": 4}
        bootstrap = stack.kafka_bootstrap
        async with stubs(bootstrap, topics, tmp_path, **settings) as workers, publisher(bootstrap) as producer:
            worker = await workers.ready(4)
            asked: list[Asked] = []

            async def ask(seconds: float) -> int:
                """The most memory the worker used meanwhile, in bytes."""
                used, until = 0, time.monotonic() + seconds
                while time.monotonic() < until:
                    asked.extend(await publish(producer, topics.questions, ["stored"] * BURST, deadline_ms=300_000))
                    used = max(used, memory(worker))
                    await asyncio.sleep(0.2)  # the rate of the load
                return used

            before = await ask(5)
            await stack.postgres.stop()
            meanwhile = await ask(AWAY_SECONDS)
            await stack.postgres.start()
            await stack.postgres.ready()
            back = time.monotonic()
            await worker.reached("answered", worker.count("answered") + 1, 10)
            recovered = time.monotonic() - back
            found = await books(bootstrap, topics, asked, 120)
            letters = await read(bootstrap, topics.dlt, 0, 3)
            assert worker.process.returncode is None
    print(f"{len(asked)} questions, away {AWAY_SECONDS:g} s, first answer {recovered:.1f} s after its return,")
    print(f"memory {before / 1e6:.0f} MB before and {meanwhile / 1e6:.0f} MB meanwhile")
    assert letters == []
    assert found.balanced, found
    assert found.statuses == {"answered": len(asked)}
    assert meanwhile < before + 40_000_000


def memory(worker: Stub) -> int:
    return psutil.Process(worker.process.pid).memory_info().rss
