"""What the programs of the bench share: brokers, a database with a market and a bench, and topics of their own."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID, uuid4

import msgspec
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.structs import OffsetAndMetadata

from bench import awards, mix
from consumer import topics
from consumer.settings import Settings, variable
from consumer.stack import local, sample
from consumer.store.load import load

ROOT = Path(__file__).resolve().parent.parent
PARTITIONS = 6
ROWS = 100_000
CONCURRENCY, POOL, BATCH = 32, 8, 500
LOG_TAIL = 4_000
START_SECONDS, ANSWER_SECONDS, STOP_SECONDS = 40.0, 120.0, 30.0


class World(NamedTuple):
    """Settings that reach the parts, what the market was drawn from, and a folder for files and logs."""

    settings: Settings
    shape: awards.Shape
    folder: Path


@contextlib.asynccontextmanager
async def world(rows: int) -> AsyncGenerator[World]:
    """Embedded parts with `rows` awards and the sample tenant's bench; all gone at the end."""
    scopes = ",".join(sample.SCOPES)
    async with local.parts(Settings(topic_partitions=PARTITIONS, default_scopes=scopes), None) as (settings, folder):
        await sample.load(settings)
        path = folder / "awards.csv"
        shape = awards.write(path, rows)
        await load("awards", [path], settings.admin_database_url)
        yield World(settings, shape, folder)


class Contender(NamedTuple):
    """A program that answers questions: its name, its module, and what it does with a question (`bench.work`)."""

    name: str
    module: str
    work: str


WORKER = Contender("planner", "consumer", "planner")
BARE = Contender("bare loop, statements alone", "bench.bare", "statements")
BARE_PLANNER = Contender("bare loop around the planner", "bench.bare", "planner")
PEER = Contender("FastStream around the planner", "bench.faststreamed", "planner")


@contextlib.asynccontextmanager
async def running(contender: Contender, place: World, planned: Path, **given: object) -> AsyncGenerator[Settings]:
    """The contender on topics of its own; yields the settings that name them. Ended by SIGTERM, or killed."""
    run = uuid4().hex[:8]
    settings = msgspec.structs.replace(
        place.settings, group=f"bench-{run}", topic_questions=f"q-{run}", topic_answers=f"a-{run}",
        topic_audit=f"e-{run}", topic_dlt=f"d-{run}", concurrency=CONCURRENCY, database_pool=POOL,
        commit_batch=BATCH, http_port=0, **given,
    )  # fmt: skip
    await topics.create_missing(settings)
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PLANNER_")}
    if contender is WORKER:
        arguments = ["worker"]
        environment |= {variable(f): str(getattr(settings, f)) for f in Settings.__struct_fields__}
    else:
        arguments = [msgspec.json.encode(task_of(contender, settings, planned)).decode()]
    file = place.folder / f"{run}.log"
    with file.open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", contender.module, *arguments, cwd=ROOT, env=environment, stdout=log, stderr=log
        )
    try:
        yield settings
    except TimeoutError:
        print(file.read_text(encoding="utf-8")[-LOG_TAIL:])
        raise
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
        try:
            await asyncio.wait_for(process.wait(), STOP_SECONDS)
        except TimeoutError:
            process.kill()
            await process.wait()


def task_of(contender: Contender, settings: Settings, planned: Path) -> dict[str, object]:
    """A `bench.work.Task`."""
    return {
        "work": contender.work, "kafka": settings.kafka_bootstrap, "postgres": settings.database_url,
        "questions": settings.topic_questions, "answers": settings.topic_answers, "audit": settings.topic_audit,
        "group": settings.group, "calls": str(planned), "concurrency": CONCURRENCY, "pool": POOL, "batch": BATCH,
    }  # fmt: skip


class Answered(msgspec.Struct):
    question_id: UUID


class Asker:
    """Publishes questions and waits until their answers are visible to a reader of committed records."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.producer = AIOKafkaProducer(bootstrap_servers=settings.kafka_bootstrap, linger_ms=2)
        self.consumer = AIOKafkaConsumer(
            settings.topic_answers, bootstrap_servers=settings.kafka_bootstrap, isolation_level="read_committed",
            auto_offset_reset="earliest",
        )  # fmt: skip
        self.published: dict[UUID, float] = {}
        self.visible: dict[UUID, float] = {}
        self.answers = 0
        self.seen = asyncio.Event()
        self.reading: asyncio.Task[None] | None = None

    async def __aenter__(self) -> "Asker":
        await self.producer.start()
        await self.consumer.start()
        self.reading = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.reading:
            self.reading.cancel()
        await self.consumer.stop()
        await self.producer.stop()

    async def _read(self) -> None:
        while True:
            polled = await self.consumer.getmany(timeout_ms=1_000)
            now = time.perf_counter()
            for records in polled.values():
                for record in records:
                    self.answers += 1
                    self.visible.setdefault(msgspec.json.decode(record.value, type=Answered).question_id, now)
            self.seen.set()

    async def ask(self, asked: mix.Asked) -> UUID:
        question_id = uuid4()
        value = msgspec.json.encode(
            {"question_id": question_id, "tenant_id": asked.tenant_id, "question": asked.text, "deadline_ms": 120_000}
        )
        self.published[question_id] = time.perf_counter()
        await self.producer.send(self.settings.topic_questions, value, key=question_id.bytes)
        return question_id

    async def answered(self, ids: Iterable[UUID], seconds: float = ANSWER_SECONDS) -> None:
        """Returns when all of these are visible. Raises TimeoutError."""
        missing = set(ids)
        async with asyncio.timeout(seconds):
            while missing := {one for one in missing if one not in self.visible}:
                self.seen.clear()
                await self.seen.wait()

    async def throughput(self, asked: Sequence[mix.Asked]) -> float:
        """Questions a second, from the first publish to the last answer that is visible."""
        began = time.perf_counter()
        ids = [await self.ask(one) for one in asked]
        await self.producer.flush()
        await self.answered(ids)
        return len(ids) / (time.perf_counter() - began)

    async def paced(self, asked: Sequence[mix.Asked], rate: float) -> Mapping[UUID, float]:
        """Publishes at `rate` a second; the seconds from publish to visible of each."""
        began = time.perf_counter()
        ids: list[UUID] = []
        for number, one in enumerate(asked):
            await asyncio.sleep(max(0.0, began + number / rate - time.perf_counter()))
            ids.append(await self.ask(one))
        await self.answered(ids)
        return {one: self.visible[one] - self.published[one] for one in ids}


async def warm_up(settings: Settings, transactions: int = 3_000) -> None:
    """Transactions like the worker's, until the broker's Java code that runs often is compiled."""
    warm = msgspec.structs.replace(settings, topic_answers="warm-a", topic_audit="warm-e", topic_questions="warm-q")
    await topics.create_missing(warm)

    async def lane(number: int) -> None:
        producer = AIOKafkaProducer(
            bootstrap_servers=settings.kafka_bootstrap, transactional_id=f"warm-{number}", linger_ms=0
        )
        async with producer:
            for place in range(transactions // PARTITIONS):
                async with producer.transaction():
                    sent = [
                        await producer.send(topic, b"x" * 1_000, partition=partition)
                        for partition in range(PARTITIONS)
                        for topic in (warm.topic_answers, warm.topic_audit)
                    ]
                    await asyncio.gather(*sent)
                    where = TopicPartition(warm.topic_questions, number)
                    await producer.send_offsets_to_transaction({where: OffsetAndMetadata(place, "")}, "warm")

    await asyncio.gather(*(lane(number) for number in range(PARTITIONS)))
