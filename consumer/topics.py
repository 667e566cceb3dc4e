"""The topics as the settings want them, and as the brokers have them."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Sequence
from enum import StrEnum
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code
from msgspec import Struct

from consumer.deadline import Deadline
from consumer.errors import PlannerError, Unreachable
from consumer.kafka import client_options
from consumer.settings import Settings

ADMIN_SECONDS = 30.0
SETTLE_SECONDS = 0.05
MOST_REPLICAS = 3  # where the broker does not say its own default
HOUR_MS = 3_600_000
KEPT_FOR_EVER = "-1"


class Topic(Struct, frozen=True, kw_only=True):
    """A topic as the service needs it: at least so many partitions, and the settings it is made with."""

    name: str
    partitions: int
    config: dict[str, str]


class Done(StrEnum):
    CREATED = "created"
    GROWN = "grown"
    EXISTS = "exists"
    SHORT = "short of partitions"


class Standing(Struct, frozen=True, kw_only=True):
    """How a topic stands after `create_missing`."""

    topic: str
    partitions: int
    replicas: int
    done: Done


def wanted(settings: Settings, questions_partitions: int = 0) -> tuple[Topic, ...]:
    """The topics of a deployment. The dead letter topic has at least as many partitions as the questions really have,
    since a dead letter keeps its record's partition number."""
    retained = {"cleanup.policy": "delete", "retention.ms": str(settings.topic_retention_hours * HOUR_MS)}
    count = settings.topic_partitions
    topics = [
        Topic(name=settings.topic_questions, partitions=count, config=retained),
        Topic(name=settings.topic_answers, partitions=count, config=retained),
        Topic(name=settings.topic_audit, partitions=count, config=retained),
        Topic(name=settings.topic_dlt, partitions=max(count, questions_partitions), config=retained),
    ]
    if settings.topic_checkpoints:
        anchored = {"cleanup.policy": "delete", "retention.ms": KEPT_FOR_EVER}
        topics.append(Topic(name=settings.topic_checkpoints, partitions=1, config=anchored))
    return tuple(topics)


@contextlib.asynccontextmanager
async def admin(settings: Settings) -> AsyncGenerator[AIOKafkaAdminClient]:
    """A started admin client, closed at the end. Raises `Unreachable` when no broker answers."""
    client = AIOKafkaAdminClient(**client_options(settings))
    try:
        async with Deadline.after(ADMIN_SECONDS).scope():
            try:
                await client.start()
                yield client
            finally:
                await client.close()
    except (KafkaError, OSError, TimeoutError) as error:
        raise Unreachable(
            f"no Kafka broker answers at {settings.kafka_bootstrap} ({type(error).__name__}); "
            "is PLANNER_KAFKA_BOOTSTRAP right?"
        ) from None


async def create_missing(settings: Settings) -> list[Standing]:
    """Creates the topics that are missing, and grows a dead letter topic that has fewer partitions than the questions.

    Safe to run again and by two at once. Raises `Unreachable`, and `PlannerError` when a broker refuses a topic.
    """
    async with admin(settings) as client:
        before = await standing(client, settings)
        have = {one.topic: one for one in before}
        questions = have.get(settings.topic_questions)
        needed = wanted(settings, questions.partitions if questions else 0)
        done = {one.topic: Done.EXISTS for one in before}
        if missing := [topic for topic in needed if topic.name not in have]:
            done |= await _create(client, missing, settings)
        letters = have.get(settings.topic_dlt)
        if letters and letters.partitions < needed[3].partitions:
            await client.create_partitions({letters.topic: NewPartitions(total_count=needed[3].partitions)})
            done[letters.topic] = Done.GROWN
        after = await _settled(client, settings, needed)
    return [
        Standing(topic=one.topic, partitions=one.partitions, replicas=one.replicas, done=done.get(one.topic, one.done))
        for one in after
    ]


async def standing(client: AIOKafkaAdminClient, settings: Settings) -> list[Standing]:
    """The wanted topics that exist, in order, SHORT where one has fewer partitions than it should."""
    found: list[dict[str, Any]] = await client.describe_topics([topic.name for topic in wanted(settings)])
    have = {topic["topic"]: topic["partitions"] for topic in found if topic["error_code"] == 0}
    questions = len(have.get(settings.topic_questions, ()))
    return [
        Standing(
            topic=topic.name,
            partitions=len(have[topic.name]),
            replicas=min(len(partition["replicas"]) for partition in have[topic.name]),
            done=Done.SHORT if topic.name == settings.topic_dlt and len(have[topic.name]) < questions else Done.EXISTS,
        )
        for topic in wanted(settings)
        if topic.name in have
    ]


async def _settled(client: AIOKafkaAdminClient, settings: Settings, needed: Sequence[Topic]) -> list[Standing]:
    """Asks until the broker that is asked has heard of the change; bounded by the deadline of `admin`."""
    while True:
        after = await standing(client, settings)
        if len(after) == len(needed) and not any(one.done is Done.SHORT for one in after):
            return after
        await asyncio.sleep(SETTLE_SECONDS)


async def _create(client: AIOKafkaAdminClient, topics: Sequence[Topic], settings: Settings) -> dict[str, Done]:
    replicas = settings.topic_replication
    if replicas == -1:
        replicas = await _default_replicas(client)
    response: Any = await client.create_topics(
        [NewTopic(t.name, t.partitions, replicas, topic_configs=t.config) for t in topics]
    )
    done: dict[str, Done] = {}
    for name, code, message in response.topic_errors:
        problem = for_code(code)
        if code and problem is not TopicAlreadyExistsError:  # somebody else was quicker
            raise PlannerError(f"the topic {name} can't be created: {message or problem.__name__}")
        done[name] = Done.EXISTS if code else Done.CREATED
    return done


async def _default_replicas(client: AIOKafkaAdminClient) -> int:
    """The broker's own default. aiokafka speaks CreateTopics up to version 3, where -1 is not yet allowed (KIP-464)."""
    cluster = await client.describe_cluster()
    nodes = [broker["node_id"] for broker in cluster["brokers"]]
    resource = ConfigResource(ConfigResourceType.BROKER, str(nodes[0]), {"default.replication.factor": ""})
    try:
        responses: list[Any] = await client.describe_configs([resource])
        return int(responses[0].resources[0][4][0][1])
    except (KafkaError, LookupError, TypeError, ValueError):  # a managed broker may not tell
        return min(MOST_REPLICAS, len(nodes))
