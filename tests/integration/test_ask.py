"""`planner ask` over a real broker. The test plays the worker: it reads the question and writes what comes back."""

import asyncio
import contextlib
import json
import sys
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import msgspec
import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import ConsumerRecord

from consumer.cli.ask import ALL_SCOPES
from schemas import Answer, Column, Evidence, Question, Refusal
from schemas.answer import Faithfulness, RationaleSource, Route, Status
from tests.conftest import Topics
from tests.support import ROOT

pytestmark = pytest.mark.integration

TENANT = UUID("5d0c9a34-7be1-4f26-8a17-c3e9d2b4f608")
Record = ConsumerRecord[bytes, bytes]
Reply = Callable[[AIOKafkaProducer, Topics, Record], Any]


def answered(question: Question, status: Status = Status.ANSWERED) -> Answer:
    return Answer(
        question_id=question.question_id,
        tenant_id=question.tenant_id,
        status=status,
        route=Route.INTENT if status is Status.ANSWERED else Route.REFUSED,
        answer="OSTRELLE leads.",
        rationale_source=RationaleSource.DETERMINISTIC,
        evidence=(
            Evidence(
                id="e1",
                intent="market.competitors",
                plane="market",
                columns=(Column(name="vendor", type="entity"), Column(name="obligated", type="money")),
                rows=(("OSTRELLE", "1234567.50"), ("[bold]odd", "withheld")),
                complete=True,
                suppressed_cells=1,
            ),
        ),
        faithfulness=Faithfulness.PASSED,
        refusal=Refusal(code="protected", message="no") if status is Status.REFUSED else msgspec.UNSET,
        registry_digest="sha256:" + "0" * 64,
        answered_at=datetime.now(UTC),
        elapsed_ms=12,
    )


async def write(producer: AIOKafkaProducer, topics: Topics, record: Record, status: Status) -> None:
    """An aborted answer, another question's answer, then the answer."""
    question = msgspec.json.decode(record.value or b"", type=Question)
    answer = answered(question, status)
    with contextlib.suppress(RuntimeError):
        async with producer.transaction():
            aborted = msgspec.structs.replace(answer, answer="never happened")
            await producer.send_and_wait(topics.answers, msgspec.json.encode(aborted), key=record.key)
            raise RuntimeError
    async with producer.transaction():
        other = msgspec.structs.replace(answer, question_id=UUID(int=0), answer="for somebody else")
        await producer.send_and_wait(topics.answers, msgspec.json.encode(other), key=record.key)
        await producer.send_and_wait(topics.answers, msgspec.json.encode(answer), key=record.key)


async def bury(producer: AIOKafkaProducer, topics: Topics, record: Record, _: Status) -> None:
    headers = [
        ("kafka_dlt-original-partition", record.partition.to_bytes(4, "big")),
        ("kafka_dlt-original-offset", record.offset.to_bytes(8, "big")),
        ("planner_dlt-reason", b"bad_json"),
    ]
    async with producer.transaction():
        await producer.send_and_wait(topics.dlt, record.value, partition=record.partition, headers=headers)


async def ignore(*_: Any) -> None:
    return None


@contextlib.asynccontextmanager
async def worker(bootstrap: str, topics: Topics, reply: Reply, status: Status) -> AsyncGenerator[list[Record]]:
    seen: list[Record] = []

    async def work(consumer: AIOKafkaConsumer, producer: AIOKafkaProducer) -> None:
        async for record in consumer:
            seen.append(record)
            await reply(producer, topics, record, status)

    async with (
        AIOKafkaConsumer(topics.questions, bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer,
        AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topics.questions) as producer,
    ):
        task = asyncio.create_task(work(consumer, producer))
        try:
            yield seen
        finally:
            task.cancel()


async def ask(bootstrap: str, topics: Topics, *more: str) -> tuple[int, str, str]:
    names = {f"PLANNER_TOPIC_{field.upper()}": name for field, name in topics._asdict().items()}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "consumer", "ask", "Who leads?", "--tenant", str(TENANT), *more),
        cwd=ROOT,
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "120", "PLANNER_KAFKA_BOOTSTRAP": bootstrap, **names},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 60)
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


ENDS: list[tuple[str, Reply, Status, int, str]] = [
    ("answered", write, Status.ANSWERED, 0, ""),
    ("refused", write, Status.REFUSED, 3, ""),
    ("failed", write, Status.FAILED, 1, ""),
    ("dead lettered", bury, Status.FAILED, 1, "dead letter topic (bad_json)"),
    ("silence", ignore, Status.FAILED, 4, "no answer within 2 s"),
]


@pytest.mark.parametrize(("end", "reply", "status", "code", "told"), ENDS, ids=[end[0] for end in ENDS])
async def test_every_end_of_a_question_has_its_exit_code(
    kafka_bootstrap: str, topics: Topics, end: str, reply: Reply, status: Status, code: int, told: str
) -> None:
    async with worker(kafka_bootstrap, topics, reply, status) as seen:
        patience = "2" if end == "silence" else "20"
        got, out, err = await ask(kafka_bootstrap, topics, "--json", "--timeout", patience, "--scope", "bench:read")
    assert got == code, err
    if told:
        assert told in err
        assert out == ""
        assert len(err.splitlines()) == 1
    else:
        (line,) = out.splitlines()
        assert json.loads(line)["answer"] == "OSTRELLE leads."
        assert json.loads(line)["status"] == status.value
    (record,) = seen
    event = json.loads(record.value or b"")
    assert record.key == str(TENANT).encode()
    assert event["principal"] == {"subject": "planner ask", "scopes": ["bench:read"]}
    assert event["deadline_ms"] <= float(patience) * 1000


async def test_a_person_reads_words_plan_and_aligned_evidence(kafka_bootstrap: str, topics: Topics) -> None:
    async with worker(kafka_bootstrap, topics, write, Status.ANSWERED) as seen:
        code, out, _ = await ask(kafka_bootstrap, topics)
    assert code == 0
    lines = out.splitlines()
    assert lines[0] == "OSTRELLE leads."
    assert "e1 market.competitors: 2 rows, 1 withheld" in lines
    table = lines[lines.index("e1 market.competitors: 2 rows, 1 withheld") + 1 :]
    assert [line.split() for line in table] == [
        ["vendor", "obligated"],
        ["OSTRELLE", "$1,234,567.50"],
        ["[bold]odd", "withheld"],
    ]
    assert len({len(line.rstrip()) for line in table}) == 1, "figures end in one column"
    assert json.loads(seen[0].value or b"")["principal"]["scopes"] == list(ALL_SCOPES)
