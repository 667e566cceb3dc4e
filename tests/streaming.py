"""What tests of the worker share: the stub worker as a process, questions, and the books to check."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID, uuid4

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import ConsumerRecord

from tests.conftest import Topics
from tests.support import ROOT, eventually

TENANT = UUID("11111111-1111-4111-8111-111111111111")
QUIET_SECONDS = 1.0


def settings_of(bootstrap: str, topics: Topics, **others: object) -> dict[str, str]:
    """The environment of a worker of these topics, with a group of their own."""
    values = {
        "kafka_bootstrap": bootstrap, "topic_questions": topics.questions, "topic_answers": topics.answers,
        "topic_audit": topics.audit, "topic_dlt": topics.dlt, "group": f"g.{topics.questions}", "http_port": 0,
        "session_timeout_ms": 6_000, **others,
    }  # fmt: skip
    return {f"PLANNER_{name.upper()}": str(value) for name, value in values.items()}


class Stub:
    """A stub worker process. `points` are those it reached."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process, self.log = process, log
        self.points: list[tuple[str, int, float]] = []
        self.reading = asyncio.create_task(self._read())
        self.paused = False

    @classmethod
    async def start(cls, environment: dict[str, str], log: Path, **variables: str) -> "Stub":
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PLANNER_")}
        with log.open("ab") as errors:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.stub", cwd=ROOT, env=inherited | environment | variables,
                stdout=asyncio.subprocess.PIPE, stderr=errors,
            )  # fmt: skip
        return cls(process, log)

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            if not line.endswith(b"\n"):
                return  # a kill cut it short
            name, number, at = line.decode().split()
            self.points.append((name, int(number), float(at)))

    def count(self, point: str) -> int:
        return sum(name == point for name, _, _ in self.points)

    @property
    def port(self) -> int:
        return next(number for name, number, _ in self.points if name == "port")

    async def reached(self, point: str, times: int = 1, seconds: float = 40) -> None:
        await eventually(lambda: self.count(point) >= times or self._ended(point), seconds)

    def _ended(self, point: str) -> None:
        if self.process.returncode is not None and self.count(point) == 0 and point != "ended":
            raise RuntimeError(f"the stub ended with {self.process.returncode}: {self.log.read_text()[-2000:]}")

    def kill(self) -> None:
        self._send(signal.SIGKILL)

    def pause(self) -> None:
        self.paused = True
        self._send(signal.SIGSTOP)

    def resume(self) -> None:
        self.paused = False
        self._send(signal.SIGCONT)

    def terminate(self) -> None:
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(number)

    async def wait(self, seconds: float = 40) -> int:
        async with asyncio.timeout(seconds):
            code = await self.process.wait()
            await self.reading
            return code


class Stubs:
    """Starts stubs and ends them all."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.environment, self.folder = environment, folder
        self.all: list[Stub] = []

    async def start(self, **variables: str) -> Stub:
        stub = await Stub.start(self.environment, self.folder / f"stub{len(self.all)}.log", **variables)
        self.all.append(stub)
        return stub

    async def ready(self, lanes: int, **variables: str) -> Stub:
        """One that owns `lanes` partitions."""
        stub = await self.start(**variables)
        await stub.reached("lane_ready", lanes)
        return stub

    async def end(self) -> None:
        for stub in self.all:
            if stub.process.returncode is None:
                stub.resume()
                stub.kill()
        for stub in self.all:
            await stub.wait()


@contextlib.asynccontextmanager
async def stubs(bootstrap: str, topics: Topics, folder: Path, **settings: object) -> AsyncGenerator[Stubs]:
    made = Stubs(settings_of(bootstrap, topics, **settings), folder)
    try:
        yield made
    finally:
        await made.end()


class Asked(NamedTuple):
    """A question as published."""

    partition: int
    offset: int
    question_id: str


def question(text: str = "echo", tenant: UUID = TENANT, **fields: Any) -> tuple[str, bytes]:
    """Id and bytes of a question."""
    identity = str(uuid4())
    event = {"question_id": identity, "tenant_id": str(tenant), "question": text, **fields}
    return identity, msgspec.json.encode(event)


@contextlib.asynccontextmanager
async def publisher(bootstrap: str) -> AsyncGenerator[AIOKafkaProducer]:
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, max_request_size=2_000_000)
    await producer.start()
    try:
        yield producer
    finally:
        await producer.stop()


async def publish(
    producer: AIOKafkaProducer, topic: str, texts: Iterable[str], partitions: int = 4, first: int = 0, **fields: Any
) -> list[Asked]:
    """Publishes a question for each text, round the partitions."""
    sent: list[tuple[str, Any]] = []
    for number, text in enumerate(texts):
        identity, value = question(text, **fields)
        partition = (first + number) % partitions
        sent.append((identity, await producer.send(topic, value, key=str(TENANT).encode(), partition=partition)))
    return [Asked(done.partition, done.offset, identity) for identity, future in sent for done in [await future]]


async def ask_until(
    enough: asyncio.Event, producer: AIOKafkaProducer, topic: str, texts: Sequence[str], partitions: int, least: int = 0
) -> list[Asked]:
    """Publishes the texts again and again until it is enough, and `least` questions at the least."""
    asked: list[Asked] = []
    while not enough.is_set() or len(asked) < least:
        asked += await publish(producer, topic, texts, partitions)
        await asyncio.sleep(0.1)  # the rate of the load
    return asked


def value_of(record: ConsumerRecord[Any, Any]) -> Any:
    """The JSON a record holds."""
    assert record.value is not None
    return msgspec.json.decode(record.value)


async def read(
    bootstrap: str, topic: str, until: int = 0, seconds: float = 60.0, isolation: str = "read_committed"
) -> list[ConsumerRecord[Any, Any]]:
    """All records of a topic: returns once there are `until` of them and none came for QUIET_SECONDS, or when the time
    is up; then there are fewer, which the caller's assertion shows."""
    consumer = AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        isolation_level=isolation,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        max_partition_fetch_bytes=4_000_000,
    )
    await consumer.start()
    try:
        found: list[ConsumerRecord[Any, Any]] = []
        end, quiet_since = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < end:
            polled = await consumer.getmany(timeout_ms=200)
            if polled:
                quiet_since = time.monotonic()
                for records in polled.values():
                    found += records
            elif len(found) >= until and time.monotonic() - quiet_since > QUIET_SECONDS:
                break
        return found
    finally:
        await consumer.stop()


class Books(NamedTuple):
    """What a read committed reader sees, counted."""

    lost: int
    duplicates: int
    strangers: int
    audit_mismatch: int
    statuses: Counter[str]

    @property
    def balanced(self) -> bool:
        return not (self.lost or self.duplicates or self.strangers or self.audit_mismatch)


async def books(bootstrap: str, topics: Topics, asked: Sequence[Asked], seconds: float = 60.0) -> Books:
    """Every question has one answer, every planned answer one audit event, and nothing else is there."""
    answers = [value_of(r) for r in await read(bootstrap, topics.answers, len(asked), seconds)]
    counts = Counter(answer["question_id"] for answer in answers)
    planned = Counter(answer["audit_event_id"] for answer in answers if answer["route"] == "plan")
    audits = await read(bootstrap, topics.audit, len(planned), 15)
    events = Counter(value_of(r)["event_id"] for r in audits)
    expected = {one.question_id for one in asked}
    return Books(
        lost=len(expected - counts.keys()),
        duplicates=sum(count - 1 for count in counts.values()),
        strangers=len(counts.keys() - expected),
        audit_mismatch=sum(((planned - events) + (events - planned)).values()),
        statuses=Counter(answer["status"] for answer in answers),
    )
