"""The fixtures themselves: fresh topics and databases on real parts."""

import asyncpg
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from tests.conftest import Topics
from tests.databases import Database
from tests.market import TENANT
from tests.support import eventually

pytestmark = pytest.mark.integration


async def test_a_record_written_to_a_fresh_topic_is_read_back(kafka_bootstrap: str, topics: Topics) -> None:
    async with AIOKafkaProducer(bootstrap_servers=kafka_bootstrap) as producer:
        await producer.send_and_wait(topics.questions, b"value", key=b"key")
    async with AIOKafkaConsumer(
        topics.questions, bootstrap_servers=kafka_bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        record = await consumer.getone()
    assert (record.key, record.value) == (b"key", b"value")


async def test_every_test_gets_a_database_of_its_own(database: Database) -> None:
    connection = await asyncpg.connect(database.admin_url)
    try:
        assert await connection.fetchval("select current_database()") == database.name
    finally:
        await connection.close()


async def test_eventually_names_the_last_value_when_the_time_is_up() -> None:
    with pytest.raises(AssertionError, match="last value 0"):
        await eventually(lambda: 0, seconds=0.05)
    assert await eventually(lambda: 7) == 7


async def test_the_shared_files_are_loaded_once(market_database: Database) -> None:
    connection = await asyncpg.connect(market_database.admin_url)
    try:
        assert await connection.fetchval("select count(*) from market.award") > 5_000
        assert await connection.fetchval("select count(*) from graph.requirement where tenant_id = $1", TENANT) == 278
    finally:
        await connection.close()
