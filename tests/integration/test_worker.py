"""The worker over a real broker with an answerer that costs nothing: order, hostile records, deadlines, drain."""

import asyncio
import struct
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import msgspec
import pytest

from tests.conftest import Topics
from tests.streaming import Asked, books, publish, publisher, question, read, stubs, value_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


async def test_every_question_is_answered_once(kafka_bootstrap: str, topics: Topics, tmp_path: Path) -> None:
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        await workers.ready(4)
        asked = await publish(producer, topics.questions, ["plan"] * 300 + ["echo"] * 200)
        found = await books(kafka_bootstrap, topics, asked)
    assert found.balanced, found
    assert found.statuses == {"answered": 500}


async def test_a_slow_question_holds_back_no_other_and_a_crash_repeats_none(
    kafka_bootstrap: str, topics: Topics, tmp_path: Path
) -> None:
    """500 quick ones behind a slow one in its partition are visible at once; killed before the slow one ends, the next
    worker answers that one alone."""
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        first = await workers.ready(4)
        slow = await publish(producer, topics.questions, ["slow 20"], partitions=1)
        started = time.monotonic()
        quick = await publish(producer, topics.questions, ["plan"] * 500, partitions=1)
        answers = await read(kafka_bootstrap, topics.answers, 500, 18)
        assert len(answers) == 500
        assert time.monotonic() - started < 15
        first.kill()
        await workers.ready(4)
        found = await books(kafka_bootstrap, topics, [*slow, *quick], 60)
    assert found.balanced, found


async def test_a_question_past_its_deadline_is_answered_failed_once(
    kafka_bootstrap: str, topics: Topics, tmp_path: Path
) -> None:
    cases = [
        ("late", 500, "failed", "deadline_exceeded"),
        ("down", 700, "failed", "unavailable"),
        ("break", 5_000, "failed", "internal"),
        ("away 3", 20_000, "answered", "echo"),
    ]
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        await workers.ready(4)
        asked: list[Asked] = []
        for text, deadline, _, _ in cases:
            asked += await publish(producer, topics.questions, [text], deadline_ms=deadline)
        found = await books(kafka_bootstrap, topics, asked)
        answers = {
            answer["question_id"]: (answer["status"], answer["answer"])
            for record in await read(kafka_bootstrap, topics.answers, len(cases))
            for answer in [value_of(record)]
        }
        letters = await read(kafka_bootstrap, topics.dlt, 0, 3)
    assert found.balanced, found
    for one, (text, _, status, words) in zip(asked, cases, strict=True):
        assert answers[one.question_id] == (status, words), text
    assert letters == []


async def test_sigterm_finishes_what_is_in_flight_and_hands_back_the_rest(
    kafka_bootstrap: str, topics: Topics, tmp_path: Path
) -> None:
    settings = {"concurrency": 4, "drain_seconds": 10}
    async with stubs(kafka_bootstrap, topics, tmp_path, **settings) as workers, publisher(kafka_bootstrap) as producer:
        first = await workers.ready(4)
        asked = await publish(producer, topics.questions, ["slow 2"] * 8)
        await first.reached("assigned")
        await asyncio.sleep(0.5)  # in flight now: there is no point between read and answered
        first.terminate()
        assert await first.wait(15) == 0
        answered = len(await read(kafka_bootstrap, topics.answers, 1, 10))
        assert 1 <= answered <= 4
        await workers.ready(4)
        found = await books(kafka_bootstrap, topics, asked)
    assert found.balanced, found


def hostile() -> list[tuple[str, bytes | None, bytes | None, list[tuple[str, bytes]], str]]:
    """(what, key, value, headers, reason)."""
    _, good = question()
    plain = {"question_id": str(uuid4()), "tenant_id": str(uuid4()), "question": "echo"}
    identity = plain["question_id"]

    def with_(**fields: Any) -> bytes:
        return msgspec.json.encode({**plain, **fields})

    def without(name: str) -> bytes:
        return msgspec.json.encode({k: v for k, v in plain.items() if k != name})

    def raw(text: str) -> bytes:
        return f'{{"question_id":"{identity}","tenant_id":"{plain["tenant_id"]}","question":"echo"{text}}}'.encode()

    key, none = b"k", list[tuple[str, bytes]]()
    return [
        ("a tombstone", key, None, none, "tombstone"),
        ("a tombstone under an empty key", b"", None, none, "tombstone"),
        ("an empty value", key, b"", none, "bad_json"),
        ("blanks", key, b"  ", none, "bad_json"),
        ("no JSON", key, b"hello", none, "bad_json"),
        ("half of one", key, good[:-5], none, "bad_json"),
        ("two of them", key, good + good, none, "bad_json"),
        ("a byte order mark", key, b"\xef\xbb\xbf" + good, none, "bad_json"),
        ("an array", key, b"[]", none, "wrong_type"),
        ("a number", key, b"1", none, "wrong_type"),
        ("null", key, b"null", none, "wrong_type"),
        ("bad UTF-8", key, good.replace(b"echo", b"\xff\xfe"), none, "bad_utf8"),
        ("an overlong form", key, good.replace(b"echo", b"\xc0\x80"), none, "bad_utf8"),
        ("a surrogate in bytes", key, good.replace(b"echo", b"\xed\xa0\x80"), none, "bad_utf8"),
        ("UTF-16", key, good.decode().encode("utf-16"), none, "nul_byte"),
        ("a lone surrogate", key, good.replace(b"echo", b"\\ud800"), none, "bad_utf8"),
        ("a low surrogate first", key, good.replace(b"echo", b"\\udc00\\ud800"), none, "bad_utf8"),
        ("a NUL", key, good.replace(b"echo", b"e\x00o"), none, "nul_byte"),
        ("an escaped NUL", key, good.replace(b"echo", b"e\\u0000o"), none, "nul_byte"),
        ("two tenants", key, raw(f',"tenant_id":"{uuid4()}"'), none, "duplicate_key"),
        ("a tenant in disguise", key, raw(f',"tenant\\u005fid":"{uuid4()}"'), none, "duplicate_key"),
        ("two questions", key, raw(',"question":"plan"'), none, "duplicate_key"),
        ("two subjects", key, raw(',"principal":{"subject":"a","subject":"b"}'), none, "duplicate_key"),
        ("two scopes", key, raw(',"principal":{"subject":"a","scopes":[],"scopes":["x"]}'), none, "duplicate_key"),
        ("deep arrays", key, raw(',"x":' + "[" * 20_000 + "]" * 20_000), none, "too_deep"),
        ("deep objects", key, raw(',"x":' + '{"a":' * 5_000 + "1" + "}" * 5_000), none, "too_deep"),
        ("brackets without end", key, b"[" * 60_000, none, "too_deep"),
        ("too large", key, with_(x="x" * 70_000), none, "too_large"),
        ("as large as Kafka takes", key, b"x" * 1_048_000, none, "too_large"),
        ("a huge number", key, raw(',"deadline_ms":1e400'), none, "wrong_type"),
        ("thousands of digits", key, raw(',"deadline_ms":' + "9" * 6_000), none, "wrong_type"),
        ("a fraction", key, with_(deadline_ms=1.5), none, "wrong_type"),
        ("no time at all", key, with_(deadline_ms=0), none, "wrong_type"),
        ("too much time", key, with_(deadline_ms=10**9), none, "wrong_type"),
        ("a negative deadline", key, with_(deadline_ms=-1), none, "wrong_type"),
        ("NaN", key, raw(',"deadline_ms":NaN'), none, "bad_json"),
        ("no tenant", key, without("tenant_id"), none, "missing_field"),
        ("no question", key, without("question"), none, "missing_field"),
        ("no id", key, without("question_id"), none, "missing_field"),
        ("an id that is none", key, with_(question_id="7"), none, "wrong_type"),
        ("a number for words", key, with_(question=7), none, "wrong_type"),
        ("no words", key, with_(question=""), none, "wrong_type"),
        ("blank words", key, with_(question=" \n"), none, "wrong_type"),
        ("too many words", key, with_(question="x" * 4_001), none, "wrong_type"),
        ("scopes that are text", key, with_(principal={"subject": "a", "scopes": "x"}), none, "wrong_type"),
        ("a principal without subject", key, with_(principal={"scopes": []}), none, "missing_field"),
        ("a time without zone", key, with_(asked_at="2026-01-01T00:00:00"), none, "wrong_type"),
        ("a reply topic of others", key, good, [("kafka_replyTopic", b"__consumer_offsets")], "bad_reply_topic"),
        ("a reply topic in bad UTF-8", key, good, [("reply_to", b"\xff")], "bad_reply_topic"),
        ("a reply partition of 3 bytes", key, good, [("kafka_replyPartition", b"\0\0\1")], "bad_reply_partition"),
        ("a negative reply partition", key, good, [("kafka_replyPartition", b"\xff" * 4)], "bad_reply_partition"),
        ("a reply partition too far", key, good, [("kafka_replyPartition", b"\0\0\0\x63")], "bad_reply_partition"),
    ]  # fmt: skip


async def test_hostile_records_become_dead_letters_and_their_neighbours_are_answered(
    kafka_bootstrap: str, topics: Topics, tmp_path: Path
) -> None:
    cases = hostile()
    assert len(cases) >= 50
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        worker = await workers.ready(4)
        asked: list[Asked] = []
        places: dict[tuple[int, int], int] = {}
        for number, (_, key, value, headers, _) in enumerate(cases):
            sent = await producer.send_and_wait(topics.questions, value, key=key, headers=headers, partition=number % 4)
            places[sent.partition, sent.offset] = number
            asked += await publish(producer, topics.questions, ["plan"] * 10, first=number)
        found = await books(kafka_bootstrap, topics, asked)
        letters = await read(kafka_bootstrap, topics.dlt, len(cases))
        assert worker.process.returncode is None
    assert found.balanced, found
    assert len(letters) == len(cases)
    for letter in letters:
        headers = dict(letter.headers)
        partition = struct.unpack(">i", headers["kafka_dlt-original-partition"])[0]
        offset = struct.unpack(">q", headers["kafka_dlt-original-offset"])[0]
        what, key, value, _, reason = cases[places.pop((partition, offset))]
        assert headers["planner_dlt-reason"].decode() == reason, what
        assert headers["kafka_dlt-original-topic"].decode() == topics.questions, what
        assert letter.partition == partition, what
        assert (letter.key, letter.value) == (key, value), what
    assert not places


async def test_the_metrics_do_not_grow_with_tenants_and_errors(
    kafka_bootstrap: str, topics: Topics, tmp_path: Path
) -> None:
    """A label from the outside would be a series for each tenant (client_python#275, #367)."""
    async with (
        stubs(kafka_bootstrap, topics, tmp_path) as workers,
        publisher(kafka_bootstrap) as producer,
        httpx.AsyncClient(timeout=10) as client,
    ):
        worker = await workers.ready(4)
        await worker.reached("port")
        tenants = [uuid4() for _ in range(500)]
        for tenant in tenants:
            text = f"{tenant} asks"
            await producer.send(topics.questions, question(text, tenant)[1], key=text.encode())
            await producer.send(topics.questions, text.encode(), key=text.encode())
        assert len(await read(kafka_bootstrap, topics.answers, 500)) == 500
        page = (await client.get(f"http://127.0.0.1:{worker.port}/metrics")).text
    assert page.count("\n") < 600
    assert not [tenant for tenant in tenants if str(tenant) in page]


async def test_odd_but_legal_records_are_answered(kafka_bootstrap: str, topics: Topics, tmp_path: Path) -> None:
    correlation = bytes(range(250, 256)) + b"\0\xff"
    cases: list[tuple[str, list[tuple[str, bytes | None]]]] = [
        ("a thousand headers", [(f"h{number}", b"v") for number in range(1_000)]),
        ("a header without value", [("traceparent", None), ("kafka_replyTopic", None)]),
        ("a header twice", [("x", b"1"), ("x", b"2")]),
        ("a large header", [("x", b"v" * 10_000)]),
        ("a bad traceparent", [("traceparent", b"00-zz-1-1")]),
        ("a binary correlation", [("kafka_correlationId", correlation)]),
    ]
    async with stubs(kafka_bootstrap, topics, tmp_path) as workers, publisher(kafka_bootstrap) as producer:
        await workers.ready(4)
        asked: list[Asked] = []
        for _, headers in cases:
            identity, value = question("echo", surprise={"a": [1, 2]}, another=None)
            sent = await producer.send_and_wait(topics.questions, value, key=None, headers=headers)
            asked.append(Asked(sent.partition, sent.offset, identity))
        found = await books(kafka_bootstrap, topics, asked)
        answers = await read(kafka_bootstrap, topics.answers, len(cases))
    assert found.balanced, found
    echoed = [dict(answer.headers).get("kafka_correlationId") for answer in answers]
    assert echoed.count(correlation) == 1
    assert all("traceparent" not in dict(answer.headers) for answer in answers)
