"""Clients of other frameworks that ask and wait: Spring's ReplyingKafkaTemplate for real, and FastStream's headers."""

import asyncio
import shutil
from pathlib import Path

import jgo
import msgspec
import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.conftest import Topics
from tests.streaming import publisher, question, read, stubs, value_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

SPRING = "org.springframework.kafka:spring-kafka:3.3.4+org.slf4j:slf4j-simple:2.0.17"
ASK = Path(__file__).with_name("spring") / "Ask.java"


@pytest.fixture(scope="module")
def class_path() -> str:
    if not (shutil.which("javac") and shutil.which("java")):
        pytest.skip("a JDK is not installed")
    try:
        return ":".join(map(str, jgo.build(SPRING).all_jars))
    except (OSError, RuntimeError) as error:
        pytest.skip(f"Spring can't be fetched: {type(error).__name__}")


async def reply_topic(bootstrap: str, topics: Topics) -> str:
    name = f"{topics.answers}.replies"
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, 3, 1)])
    finally:
        await admin.close()
    return name


@pytest.mark.parametrize("partition", ["shared", "2"])
async def test_a_spring_service_gets_its_replies(
    partition: str, class_path: str, kafka_bootstrap: str, topics: Topics, tmp_path: Path
) -> None:
    replies = await reply_topic(kafka_bootstrap, topics)
    async with stubs(kafka_bootstrap, topics, tmp_path, reply_topics=replies) as workers:
        await workers.ready(4)
        asking = await asyncio.create_subprocess_exec(
            "java", "-cp", class_path, str(ASK), kafka_bootstrap, topics.questions, replies, partition,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        async with asyncio.timeout(120):
            said, errors = await asking.communicate()
    assert asking.returncode == 0, errors.decode()[-3_000:]
    lines = [line.split(" ", 2) for line in said.decode().splitlines()]
    assert len(lines) == 2
    for identity, came_on, answer in lines:
        assert msgspec.json.decode(answer)["question_id"] == identity
        assert partition in ("shared", came_on)
    assert await read(kafka_bootstrap, topics.answers, 0, 3) == [], "a reply is written once, where it was asked for"


async def test_the_headers_of_faststream_get_a_reply(kafka_bootstrap: str, topics: Topics, tmp_path: Path) -> None:
    replies = await reply_topic(kafka_bootstrap, topics)
    headers = [("reply_to", replies.encode()), ("correlation_id", b"one-7")]
    async with (
        stubs(kafka_bootstrap, topics, tmp_path, reply_topics=replies) as workers,
        publisher(kafka_bootstrap) as producer,
    ):
        await workers.ready(4)
        identity, value = question("plan")
        await producer.send_and_wait(topics.questions, value, key=b"k", headers=headers)
        (reply,) = await read(kafka_bootstrap, replies, 1)
    assert value_of(reply)["question_id"] == identity
    assert dict(reply.headers)["correlation_id"] == b"one-7"
