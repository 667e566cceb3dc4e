"""What a broker or the wire refuses: too large, not parseable, nothing to read. The next record is answered."""

import asyncio
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from tests.conftest import Topics
from tests.streaming import books, publish, publisher, read, stubs, value_of
from tests.support import ROOT

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

MakeTopics = Callable[[int], Coroutine[None, None, Topics]]

BAD_HEADER = """
import asyncio, sys
from aiokafka import AIOKafkaProducer
class Name(str):
    def encode(self, *_):
        return b"\\xff\\xfe"
async def main():
    async with AIOKafkaProducer(bootstrap_servers=sys.argv[1]) as producer:
        await producer.send_and_wait(sys.argv[2], b"{}", partition=0, headers=[(Name("x"), b"v")])
asyncio.run(main())
"""
"""A header key that is not UTF-8, which other clients write and this library only by force, without its C part."""


async def small(bootstrap: str, topics: Topics, name: str, max_bytes: int) -> Topics:
    """The topics with a smaller one in the place of `name`."""
    fresh = f"{getattr(topics, name)}.small"
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    try:
        await admin.create_topics(
            [NewTopic(fresh, len(Topics._fields), 1, topic_configs={"max.message.bytes": str(max_bytes)})]
        )
    finally:
        await admin.close()
    return topics._replace(**{name: fresh})


async def test_an_answer_that_its_topic_refuses_becomes_a_dead_letter_and_the_next_is_answered(
    topics: Topics, kafka_bootstrap: str, tmp_path: Path
) -> None:
    """A failed send leaves a gap in the producer's numbers that no later send closes (aiokafka#1017), and a size
    counted without its overhead is refused by the client (aiokafka#966)."""
    topics = await small(kafka_bootstrap, topics, "answers", 20_000)
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        worker = await workers.ready(4)
        large = await publish(producer, topics.questions, ["large 30000", "large 999990"], partitions=1)
        asked = await publish(producer, topics.questions, ["plan"] * 30, partitions=1)
        found = await books(kafka_bootstrap, topics, asked)
        letters = await read(kafka_bootstrap, topics.dlt, 2)
        assert worker.process.returncode is None
    assert found.balanced, found
    reasons = [dict(letter.headers)["planner_dlt-reason"] for letter in letters]
    assert reasons == [b"answer_too_large"] * 2
    ids = {value_of(letter)["question_id"] for letter in letters}
    assert ids == {one.question_id for one in large}


async def test_a_dead_letter_too_large_for_its_topic_leaves_its_digest(
    topics: Topics, kafka_bootstrap: str, tmp_path: Path
) -> None:
    """The offset moves only with the letter, so one that never fits must become one that does (spring-kafka#1918)."""
    topics = await small(kafka_bootstrap, topics, "dlt", 3_000)
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        await workers.ready(4)
        await producer.send_and_wait(topics.questions, b"{" * 9_000, partition=0)
        asked = await publish(producer, topics.questions, ["plan"] * 10, partitions=1)
        found = await books(kafka_bootstrap, topics, asked)
        (letter,) = await read(kafka_bootstrap, topics.dlt, 1)
    assert found.balanced, found
    headers = dict(letter.headers)
    assert (letter.value, headers["planner_dlt-reason"]) == (b"", b"too_deep")
    assert headers["planner_dlt-without-value"].startswith(b"sha256:")


async def test_a_header_key_that_is_not_utf_8_is_a_dead_letter_of_its_coordinates(
    topics: Topics, kafka_bootstrap: str, tmp_path: Path
) -> None:
    """It raises out of the library's parser on every poll, for ever."""
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        worker = await workers.ready(4)
        before = await publish(producer, topics.questions, ["plan"] * 40)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", BAD_HEADER, kafka_bootstrap, topics.questions, cwd=ROOT,
            env=os.environ | {"AIOKAFKA_NO_EXTENSIONS": "1"},
        )  # fmt: skip
        assert await process.wait() == 0
        after = await publish(producer, topics.questions, ["plan"] * 40)
        found = await books(kafka_bootstrap, topics, [*before, *after])
        (letter,) = await read(kafka_bootstrap, topics.dlt, 1)
        assert worker.process.returncode is None
    assert found.balanced, found
    headers = dict(letter.headers)
    assert headers["planner_dlt-reason"] == b"bad_header"
    assert int.from_bytes(headers["kafka_dlt-original-offset"], "big") == 10


async def test_a_log_that_holds_only_an_aborted_transaction_does_not_stop_the_worker(
    topics: Topics, kafka_bootstrap: str, tmp_path: Path
) -> None:
    """Its marker takes an offset and is no record (aiokafka#781); what was aborted is no question."""
    producer = AIOKafkaProducer(bootstrap_servers=kafka_bootstrap, transactional_id=f"aborts.{topics.questions}")
    async with producer:
        await producer.begin_transaction()
        await producer.send_and_wait(topics.questions, b"aborted", partition=0)
        await producer.abort_transaction()
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as writer:
        await workers.ready(4)
        asked = await publish(writer, topics.questions, ["plan"] * 5, partitions=1)
        found = await books(kafka_bootstrap, topics, asked)
        assert await read(kafka_bootstrap, topics.dlt, 0, 3) == []
    assert found.balanced, found


async def test_a_topic_deleted_under_a_question_does_not_keep_the_worker_from_ending(
    make_topics: MakeTopics, kafka_bootstrap: str, tmp_path: Path
) -> None:
    """Offsets of a topic that is gone hang the transaction, its abort and the producer's own stop (aiokafka#1095)."""
    topics = await make_topics(2)
    settings = {"drain_seconds": 5}
    async with stubs(kafka_bootstrap, topics, tmp_path, **settings) as workers, publisher(kafka_bootstrap) as producer:
        worker = await workers.ready(2)
        await publish(producer, topics.questions, ["plan", "plan", "slow 2", "slow 2"], partitions=2)
        await worker.reached("answered", 2)  # and two are in flight, whose offsets will have no topic
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
        await admin.start()
        await admin.delete_topics([topics.questions])
        await admin.close()
        worker.terminate()
        assert await worker.wait(30) == 0
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic(topics.questions, 2, 1)])  # for the fixture to delete
        await admin.close()


async def test_a_worker_told_to_end_while_it_tries_again_ends_in_time(
    topics: Topics, kafka_bootstrap: str, tmp_path: Path
) -> None:
    """A retry that swallows cancellation would hold it until the question's deadline (tenacity#529)."""
    settings = {"drain_seconds": 1}
    async with stubs(kafka_bootstrap, topics, tmp_path, **settings) as workers, publisher(kafka_bootstrap) as producer:
        worker = await workers.ready(4)
        asked = await publish(producer, topics.questions, ["down", "echo"], partitions=1, deadline_ms=20_000)
        await worker.reached("committed")
        worker.terminate()
        assert await worker.wait(10) == 0
        await workers.ready(4)  # and nobody else answered it: it is the next worker's
        found = await books(kafka_bootstrap, topics, asked, 40)
    assert found.balanced, found
    assert found.statuses == {"answered": 1, "failed": 1}
