# ruff: noqa: E501
"""The sink killed at random under load: no event lost, none twice, the chain whole."""

import asyncio
import contextlib
import os
import random
import signal
import sys
from collections.abc import AsyncGenerator
from uuid import uuid4

import asyncpg
import pytest
from aiokafka import AIOKafkaProducer

from consumer.audit.verify import verify
from tests.conftest import Topics
from tests.databases import Database
from tests.integration.test_sink import event
from tests.support import eventually

KILLS = int(os.environ.get("PLANNER_TEST_SINK_KILLS", "6"))
LIFE_SECONDS = (0.3, 3.0)
"""How long a sink lives: some die while starting, some between batches, some inside one."""

pytestmark = pytest.mark.timeout(KILLS * 12 + 120)


@contextlib.asynccontextmanager
async def flood(bootstrap: str, topic: str) -> AsyncGenerator[list[int], None]:
    """Publishes events without pause while the block runs; yields the count so far."""
    sent = [0]

    async def publish() -> None:
        producer: AIOKafkaProducer = AIOKafkaProducer(bootstrap_servers=bootstrap)
        await producer.start()
        try:
            while True:
                for _ in range(20):
                    await producer.send(topic, event(uuid4()), key=str(uuid4()).encode())
                    sent[0] += 1
                await producer.flush()
                await asyncio.sleep(0.01)
        finally:
            await producer.flush()
            await producer.stop()

    task = asyncio.create_task(publish())
    try:
        yield sent
    finally:
        task.cancel()
        await asyncio.wait([task])


async def test_a_sink_killed_again_and_again_loses_and_repeats_nothing(
    kafka_bootstrap: str, topics: Topics, database: Database
) -> None:
    rng = random.Random(20261201)
    variables = os.environ | {
        "PLANNER_KAFKA_BOOTSTRAP": kafka_bootstrap, "PLANNER_GROUP": f"g{uuid4().hex[:8]}", "PLANNER_TOPIC_AUDIT": topics.audit,
        "PLANNER_SINK_DATABASE_URL": database.sink_url, "PLANNER_HTTP_PORT": "0", "PLANNER_SESSION_TIMEOUT_MS": "6000",
    }  # fmt: skip

    async def start() -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable, "-m", "consumer", "sink", env=variables, stderr=asyncio.subprocess.DEVNULL
        )

    connection = await asyncpg.connect(database.auditor_url)
    try:
        async with flood(kafka_bootstrap, topics.audit) as sent:
            for _ in range(KILLS):
                process = await start()
                await asyncio.sleep(rng.uniform(*LIFE_SECONDS))  # the moment of death is what is being drawn
                process.kill()
                await process.wait()
        process = await start()
        try:
            count = "SELECT count(*) FROM audit.plan_answered"
            await eventually(lambda: _reached(connection, count, sent[0]), seconds=90, every=0.2)
        finally:
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), 30) == 0
        assert sent[0] > 100
        assert await connection.fetchval("SELECT count(DISTINCT body) FROM audit.plan_answered") == sent[0]
        assert await connection.fetchval("SELECT count(*) FROM audit.rejected") == 0
        assert all(proof.broken is None for proof in await verify(connection))
    finally:
        await connection.close()


async def _reached(connection: asyncpg.Connection, count: str, expected: int) -> bool:
    found = await connection.fetchval(count)
    assert found >= expected, f"{found} of {expected}"
    assert found == expected, "more rows than events"
    return True
