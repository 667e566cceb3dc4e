"""Coordinators that die, a cluster that goes away and comes back, and an end while it is away: on three brokers."""

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from consumer.stack import Stack, embedded_stack
from consumer.stack.kafka import Broker
from tests.conftest import Topics
from tests.streaming import ask_until, books, publish, publisher, settings_of, stubs

pytestmark = [pytest.mark.faults, pytest.mark.timeout(400)]

GROUP, TRANSACTION = 0, 1
"""Kinds of coordinator, KIP-98."""


@pytest.fixture
async def cluster() -> AsyncGenerator[Stack]:
    async with embedded_stack(brokers=3) as stack:
        yield stack


async def topics_of(stack: Stack, partitions: int) -> Topics:
    name = f"away{uuid4().hex[:8]}"
    topics = Topics(*(f"{name}.{kind}" for kind in ("questions", "answers", "audit", "dlt")))
    admin = AIOKafkaAdminClient(bootstrap_servers=stack.kafka_bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(topic, partitions, len(stack.kafka.brokers)) for topic in topics])
    finally:
        await admin.close()
    return topics


async def coordinator(stack: Stack, name: str, kind: int) -> Broker:
    admin = AIOKafkaAdminClient(bootstrap_servers=stack.kafka_bootstrap)
    await admin.start()
    try:
        node = await admin.find_coordinator(name, kind)
    finally:
        await admin.close()
    return stack.kafka.brokers[node - 1]  # nodes count from one


async def test_the_loss_of_each_coordinator_loses_nothing_and_ends_no_worker(cluster: Stack, tmp_path: Path) -> None:
    """The library kept a dead transaction coordinator for ever (aiokafka#1134, #905, #1145) and took the loss of the
    group's inside a transaction for fatal (aiokafka#1151)."""
    topics = await topics_of(cluster, 2)
    group = settings_of("", topics)["PLANNER_GROUP"]
    bootstrap = cluster.kafka_bootstrap
    async with stubs(bootstrap, topics, tmp_path) as workers, publisher(bootstrap) as producer:
        worker = await workers.ready(2)
        enough = asyncio.Event()
        asking = asyncio.create_task(ask_until(enough, producer, topics.questions, ["plan"] * 6, 2))
        for name, kind in ((f"{group}.{topics.questions}.0", TRANSACTION), (group, GROUP)):
            dead = await coordinator(cluster, name, kind)
            before = worker.count("committed")
            await worker.reached("sent", worker.count("sent") + 1)
            await dead.kill()
            await worker.reached("committed", before + 5, 60)
            await dead.start()
            await cluster.kafka.ready()
        enough.set()
        asked = await asking
        found = await books(bootstrap, topics, asked, 90)
        assert worker.process.returncode is None
    assert found.balanced, found


async def test_a_cluster_that_was_all_away_is_worked_on_when_it_is_back(cluster: Stack, tmp_path: Path) -> None:
    """A consumer that survived the outage stayed silent for ever (aiokafka#703)."""
    topics = await topics_of(cluster, 2)
    bootstrap = cluster.kafka_bootstrap
    async with stubs(bootstrap, topics, tmp_path) as workers:
        worker = await workers.ready(2)
        async with publisher(bootstrap) as producer:
            asked = await publish(producer, topics.questions, ["plan", "slow 1"] * 20, 2)
        await worker.reached("committed")
        await cluster.kafka.kill()
        await asyncio.sleep(20)  # the outage
        await asyncio.gather(*(broker.start() for broker in cluster.kafka.brokers))
        await cluster.kafka.ready()
        async with publisher(bootstrap) as producer:
            asked += await publish(producer, topics.questions, ["plan"] * 20, 2)
        found = await books(bootstrap, topics, asked, 90)
        assert worker.process.returncode is None
    assert found.balanced, found


async def test_a_worker_told_to_end_while_the_brokers_are_away_ends_in_time(cluster: Stack, tmp_path: Path) -> None:
    """The library's own stop waits for brokers that do not answer (aiokafka#659, #773)."""
    topics = await topics_of(cluster, 2)
    bootstrap = cluster.kafka_bootstrap
    async with stubs(bootstrap, topics, tmp_path, drain_seconds=5) as workers, publisher(bootstrap) as producer:
        worker = await workers.ready(2)
        asked = await publish(producer, topics.questions, ["slow 1"] * 4, 2)
        for broker in cluster.kafka.brokers:
            broker.pause()  # the sockets stay open and nothing answers
        began = time.monotonic()
        worker.terminate()
        await worker.wait(30)
        assert time.monotonic() - began < 25
        for broker in cluster.kafka.brokers:
            broker.resume()
        await cluster.kafka.ready()
        await workers.ready(2)
        found = await books(bootstrap, topics, asked, 60)
    assert found.balanced, found


async def test_a_transactional_id_the_broker_forgot_while_idle_is_opened_again(tmp_path: Path) -> None:
    """UnknownProducerId or InvalidPidMapping after an idle time looped for ever (aiokafka#510), and a fork marked the
    batch as done (parallel-consumer#830)."""
    async with embedded_stack() as stack:
        (broker,) = stack.kafka.brokers
        await broker.stop()
        with (broker.folder / "server.properties").open("a") as properties:
            properties.write("transactional.id.expiration.ms=4000\n")
            properties.write("transaction.remove.expired.transaction.cleanup.interval.ms=500\n")
            properties.write("producer.id.expiration.ms=4000\n")
        await broker.start()
        await stack.kafka.ready()
        topics = await topics_of(stack, 1)
        bootstrap = stack.kafka_bootstrap
        async with stubs(bootstrap, topics, tmp_path) as workers, publisher(bootstrap) as producer:
            worker = await workers.ready(1)
            asked = await publish(producer, topics.questions, ["plan"], 1)
            await worker.reached("committed")
            await asyncio.sleep(8)  # twice what the broker remembers an idle id for
            asked += await publish(producer, topics.questions, ["plan"] * 3, 1)
            found = await books(bootstrap, topics, asked, 60)
            assert worker.process.returncode is None
            assert await replaced(worker.port) >= 1  # so it did forget, and the test can fail
    assert found.balanced, found


async def replaced(port: int) -> float:
    """How many producers the worker replaced."""
    async with httpx.AsyncClient(timeout=10) as client:
        page = (await client.get(f"http://127.0.0.1:{port}/metrics")).text
    return sum(float(line.split()[-1]) for line in page.splitlines() if line.startswith("planner_lane_replaced_total"))
