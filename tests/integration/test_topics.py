"""`planner topics` on a real broker: what is missing is made as configured, what exists is left alone."""

import asyncio
import uuid

import msgspec
import pytest
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from consumer import topics
from consumer.errors import PlannerError
from consumer.settings import Settings
from consumer.topics import Done

pytestmark = pytest.mark.integration


@pytest.fixture
def settings(kafka_bootstrap: str) -> Settings:
    stem = f"t{uuid.uuid4().hex[:10]}"
    return Settings(
        kafka_bootstrap=kafka_bootstrap,
        topic_questions=f"{stem}.q",
        topic_answers=f"{stem}.a",
        topic_audit=f"{stem}.u",
        topic_dlt=f"{stem}.q-dlt",
        topic_partitions=3,
        topic_retention_hours=2,
    )


async def test_missing_topics_are_made_once_with_partitions_and_retention(settings: Settings) -> None:
    first = await topics.create_missing(settings)
    assert [(one.partitions, one.done) for one in first] == [(3, Done.CREATED)] * 4
    again = await topics.create_missing(settings)
    assert [(one.partitions, one.done) for one in again] == [(3, Done.EXISTS)] * 4
    async with topics.admin(settings) as client:
        resource = ConfigResource(ConfigResourceType.TOPIC, settings.topic_answers, {"retention.ms": ""})
        (response,) = await client.describe_configs([resource])
    assert response.resources[0][4][0][1] == str(2 * 3_600_000)


async def test_two_at_once_both_succeed(settings: Settings) -> None:
    both = await asyncio.gather(topics.create_missing(settings), topics.create_missing(settings))
    assert [{one.topic for one in found} for found in both] == [{one.topic for one in both[0]}] * 2


async def test_the_dead_letter_topic_grows_with_the_questions(settings: Settings) -> None:
    await topics.create_missing(settings)
    wider = msgspec.structs.replace(settings, topic_questions=settings.topic_questions + "2", topic_partitions=5)
    found = await topics.create_missing(wider)
    assert [(one.partitions, one.done) for one in found] == [
        (5, Done.CREATED),
        (3, Done.EXISTS),
        (3, Done.EXISTS),
        (5, Done.GROWN),
    ]


async def test_a_name_that_kafka_refuses_is_named(settings: Settings) -> None:
    with pytest.raises(PlannerError, match="the topic not a name can't be created"):
        await topics.create_missing(msgspec.structs.replace(settings, topic_audit="not a name"))
