"""`planner dlq` on a real broker: what is listed, shown as it is, and replayed once whatever interrupts it."""

import asyncio
import base64
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.structs import ConsumerRecord

from consumer.errors import DeadLetterReason, PlannerError
from consumer.settings import Settings
from consumer.stream import dead_letters
from consumer.stream.dead_letters import Choice
from consumer.stream.records import Headers, Received, dead_letter
from tests.conftest import PARTITIONS, Topics
from tests.streaming import publisher, read
from tests.support import ROOT, eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

MOST_BYTES = 1_000_000
BINARY = bytes(range(256))

LETTERS: list[tuple[DeadLetterReason, bytes | None, bytes | None, Headers]] = [
    (DeadLetterReason.BAD_JSON, b"k", b"{", ()),
    (DeadLetterReason.BAD_JSON, None, b"[", (("x", b"1"), ("x", b"2"))),
    (DeadLetterReason.BAD_UTF8, BINARY, BINARY, (("kafka_correlationId", BINARY), ("empty", None))),
    (DeadLetterReason.TOMBSTONE, b"k", None, ()),
    (DeadLetterReason.TOMBSTONE, None, None, ()),
    (DeadLetterReason.TOO_LARGE, b"k", b"x" * (MOST_BYTES + 1), ()),
]
WITHOUT_VALUE = {4, 5}
"""Those of LETTERS that could not keep their value."""


def settings_of(bootstrap: str, topics: Topics) -> Settings:
    return Settings(
        kafka_bootstrap=bootstrap, topic_questions=topics.questions, topic_answers=topics.answers,
        topic_audit=topics.audit, topic_dlt=topics.dlt, group=f"g.{topics.questions}",
    )  # fmt: skip


def environment_of(settings: Settings) -> dict[str, str]:
    names = ("kafka_bootstrap", "topic_questions", "topic_dlt", "group")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PLANNER_")}
    return inherited | {f"PLANNER_{name.upper()}": getattr(settings, name) for name in names} | {"COLUMNS": "200"}


async def started(settings: Settings, *arguments: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-m", "consumer", "dlq", *arguments, cwd=ROOT, env=environment_of(settings),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip


async def dlq(settings: Settings, *arguments: str) -> tuple[int | None, str, str]:
    process = await started(settings, *arguments)
    out, errors = await process.communicate()
    return process.returncode, out.decode(), errors.decode()


async def lines(settings: Settings, *arguments: str) -> list[dict[str, Any]]:
    code, out, errors = await dlq(settings, *arguments, "--json")
    assert code == 0, errors
    return [json.loads(line) for line in out.splitlines()]


async def fill(bootstrap: str, settings: Settings) -> None:
    """LETTERS on the dead letter topic, as a worker writes them, round the partitions."""
    async with publisher(bootstrap) as producer:
        for number, (reason, key, value, headers) in enumerate(LETTERS):
            received = Received(settings.topic_questions, number % PARTITIONS, 70 + number, 1, key, value, headers)
            letter = dead_letter(received, reason, settings.topic_dlt, MOST_BYTES)
            await producer.send_and_wait(
                letter.topic, letter.value, letter.key, letter.partition, headers=list(letter.headers)
            )


async def many(bootstrap: str, settings: Settings, count: int) -> None:
    async with publisher(bootstrap) as producer:
        sends = [
            await producer.send(letter.topic, letter.value, letter.key, letter.partition, headers=list(letter.headers))
            for number in range(count)
            for letter in [
                dead_letter(
                    Received(settings.topic_questions, number % PARTITIONS, number, 1, b"k", b"%d" % number, ()),
                    DeadLetterReason.INTERNAL, settings.topic_dlt, MOST_BYTES,
                )
            ]
        ]  # fmt: skip
        await asyncio.gather(*sends)


def values(records: Sequence[ConsumerRecord[Any, Any]]) -> Counter[bytes | None]:
    return Counter(record.value for record in records)


async def test_letters_are_listed_by_filter_and_shown_byte_for_byte(kafka_bootstrap: str, topics: Topics) -> None:
    settings = settings_of(kafka_bootstrap, topics)
    await fill(kafka_bootstrap, settings)
    listed = await lines(settings, "list")
    assert Counter(line["reason"] for line in listed) == Counter(reason.value for reason, *_ in LETTERS)
    assert all(line["topic"] == topics.questions for line in listed)
    names = {line["offset"] - 70: line["letter"] for line in listed}
    filters = [
        (("--reason", "bad_json"), {0, 1}),
        (("--reason", "bad_json", "--reason", "bad_utf8"), {0, 1, 2}),
        (("--reason", "internal"), set[int]()),
        (("--waiting",), set(range(6))),
    ]
    for arguments, expected in filters:
        assert {line["offset"] - 70 for line in await lines(settings, "list", *arguments)} == expected, arguments
    assert len(await lines(settings, "list", "--limit", "2")) == 2
    _, table, _ = await dlq(settings, "list", "--limit", "2")
    assert table.splitlines()[-1] == "6 dead letters, 4 not shown: give a larger --limit"
    (shown,) = await lines(settings, "show", names[2])
    assert base64.b64decode(shown["key"]["base64"]) == base64.b64decode(shown["value"]["base64"]) == BINARY
    headers = dict(shown["headers"])
    assert headers["kafka_dlt-original-topic"] == topics.questions
    assert base64.b64decode(headers["kafka_dlt-original-offset"]["base64"]) == (72).to_bytes(8, "big")
    assert base64.b64decode(headers["kafka_correlationId"]["base64"]) == BINARY
    assert (headers["empty"], headers["planner_dlt-reason"]) == (None, "bad_utf8")
    code, _, errors = await dlq(settings, "show", "0:99")
    assert (code, errors.startswith("planner: there is no dead letter 0:99")) == (1, True)


async def test_a_replay_sends_each_letter_once_as_it_first_came(kafka_bootstrap: str, topics: Topics) -> None:
    settings = settings_of(kafka_bootstrap, topics)
    await fill(kafka_bootstrap, settings)
    (dry,) = await lines(settings, "replay", "--all", "--dry-run")
    assert (dry["replayed"], len(dry["chosen"]), dry["without_value"]) == ([], 4, 2)
    assert await read(kafka_bootstrap, topics.questions, 0, 3) == []
    (first,) = await lines(settings, "replay", "--reason", "bad_json")
    assert len(first["replayed"]) == 2
    (rest,) = await lines(settings, "replay", "--all")
    assert len(rest["replayed"]) == 2
    assert set(first["replayed"] + rest["replayed"]) == set(dry["chosen"])
    (nothing,) = await lines(settings, "replay", "--all")
    assert nothing["replayed"] == []
    sent = await read(kafka_bootstrap, topics.questions, 4, 20)
    expected = [
        (number % PARTITIONS, key, value, headers)
        for number, (_, key, value, headers) in enumerate(LETTERS)
        if number not in WITHOUT_VALUE
    ]
    found = [(record.partition, record.key, record.value, tuple(record.headers)) for record in sent]
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    waiting = await lines(settings, "list", "--waiting")
    assert {line["offset"] - 70 for line in waiting} == WITHOUT_VALUE
    (again,) = await lines(settings, "replay", dry["chosen"][0], "--again")
    assert again["replayed"] == dry["chosen"][:1]
    code, _, errors = await dlq(settings, "replay")
    assert (code, "--reason or --all" in errors) == (2, True)


async def test_a_replay_killed_in_the_middle_and_run_again_loses_none_and_sends_none_twice(
    kafka_bootstrap: str, topics: Topics
) -> None:
    settings = settings_of(kafka_bootstrap, topics)
    count = 2_000
    await many(kafka_bootstrap, settings, count)
    consumer = AIOKafkaConsumer(bootstrap_servers=kafka_bootstrap)
    await consumer.start()
    try:
        partitions = [TopicPartition(topics.questions, number) for number in range(PARTITIONS)]
        first = await started(settings, "replay", "--all")

        async def some_went() -> bool:
            return sum((await consumer.end_offsets(partitions)).values()) >= 300

        await eventually(some_went, 60, every=0.005)
        first.kill()
        assert await first.wait() == -9
    finally:
        await consumer.stop()
    (second,) = await lines(settings, "replay", "--all")
    assert 0 < len(second["replayed"]) < count
    sent = await read(kafka_bootstrap, topics.questions, count, 30)
    assert values(sent) == Counter(b"%d" % number for number in range(count))


async def test_a_second_replay_ends_the_first_and_no_letter_goes_twice(kafka_bootstrap: str, topics: Topics) -> None:
    settings = settings_of(kafka_bootstrap, topics)
    await many(kafka_bootstrap, settings, 300)
    told: list[int] = []
    async with dead_letters.opened(settings, to_replay=True) as first:
        chosen = [letter async for letter in dead_letters.letters(first, Choice(replayed=False))]
        await dead_letters.replay(first, settings, chosen[:100], told.append)
        async with dead_letters.opened(settings, to_replay=True) as second:
            with pytest.raises(PlannerError, match="another replay took over"):
                await dead_letters.replay(first, settings, chosen[100:], told.append)
            rest = [letter async for letter in dead_letters.letters(second, Choice(replayed=False))]
            await dead_letters.replay(second, settings, rest, told.append)
    assert told == [100, 100, 200]
    sent = await read(kafka_bootstrap, topics.questions, 300, 30)
    assert values(sent) == Counter(b"%d" % number for number in range(300))


async def test_a_replay_that_is_interrupted_hides_no_later_question(kafka_bootstrap: str, topics: Topics) -> None:
    """Its open transaction is aborted: one left open hides what comes after from the workers until its time is up."""
    settings = settings_of(kafka_bootstrap, topics)
    await many(kafka_bootstrap, settings, 300)

    async def replay() -> None:
        def interrupt(_: int) -> None:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()

        async with dead_letters.opened(settings, to_replay=True) as box:
            chosen = [letter async for letter in dead_letters.letters(box, Choice())]
            await dead_letters.replay(box, settings, chosen, interrupt)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(replay())
    async with publisher(kafka_bootstrap) as producer:
        for partition in range(PARTITIONS):
            await producer.send_and_wait(topics.questions, b"later", partition=partition)
    seen = values(await read(kafka_bootstrap, topics.questions, 104, 10))
    assert (seen[b"later"], seen.total()) == (PARTITIONS, 104)


def test_a_letter_that_comes_back_again_and_again_does_not_grow() -> None:
    own: Headers = (("x", b"1"), ("kafka_correlationId", BINARY))
    received = Received("q", 1, 5, 1, b"k", BINARY, own)
    sizes: set[int] = set()
    for offset in range(20):
        letter = dead_letter(received, DeadLetterReason.BAD_JSON, "q-dlt", MOST_BYTES)
        sizes.add(letter.size_bytes)
        assert (letter.key, letter.value) == (b"k", BINARY)
        assert max(Counter(name for name, _ in letter.headers).values()) == 1
        received = Received("q", 1, offset, 1, letter.key, letter.value, letter.headers)
    assert len(sizes) == 1
