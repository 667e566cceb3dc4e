"""The storm: three workers over six partitions, questions all the time, a fault every few seconds, then the books.

    python -m tests.faults.chaos --minutes 10 --seed 7

Faults, drawn by the seed: a worker killed, paused past its session, ended, added; a broker restarted or killed;
Postgres restarted. At the end every question must have one answer, every planned answer one audit event, for a read
committed reader.
"""

import argparse
import asyncio
import contextlib
import json
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from uuid import UUID, uuid4

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from consumer.stack import Stack, embedded_stack
from tests.conftest import Topics
from tests.streaming import Asked, Books, Stub, Stubs, books, question, settings_of

PARTITIONS = 6
WORKERS = 3
PER_SECOND = 45
BURST_SECONDS = 0.2
FIRST_FAULT_SECONDS = 5.0
FAULTS_BETWEEN_SECONDS = (3.0, 8.0)
PAUSE_SECONDS = 9.0  # the session is 6 s
SETTLE_SECONDS = 180.0
TEXTS = ("plan",) * 4 + ("stored",) * 2 + ("echo",) * 2 + ("slow 0.3", "slow 2", "away 2")
TENANTS = [UUID(int=number) for number in range(1, 21)]


class Storm:
    def __init__(self, stack: Stack, stubs: Stubs, rng: random.Random) -> None:
        self.stack, self.stubs, self.rng = stack, stubs, rng
        self.running: list[Stub] = []
        self.faults: Counter[str] = Counter()

    async def add(self) -> None:
        self.running.append(await self.stubs.start(STUB_QUIET="1"))

    async def blow(self, until: float) -> None:
        """A fault after another until the time is up; a fault that takes long delays the next."""
        await asyncio.sleep(FIRST_FAULT_SECONDS)
        kinds = [
            self.kill, self.kill, self.pause, self.end, self.grow,
            self.restart_broker, self.kill_broker, self.restart_postgres,
        ]  # fmt: skip
        while time.monotonic() < until:
            kind = self.rng.choice(kinds)
            await kind()
            self.faults[kind.__name__] += 1
            print(f"  fault {self.faults.total()}: {kind.__name__.replace('_', ' ')}", flush=True)
            self.running = [stub for stub in self.running if stub.process.returncode is None]
            while len(self.running) < WORKERS:
                await self.add()
            await asyncio.sleep(self.rng.uniform(*FAULTS_BETWEEN_SECONDS))

    async def kill(self) -> None:
        stub = self.rng.choice(self.running)
        stub.kill()
        await stub.wait()

    async def pause(self) -> None:
        stub = self.rng.choice(self.running)
        stub.pause()
        await asyncio.sleep(PAUSE_SECONDS)
        stub.resume()

    async def end(self) -> None:
        stub = self.rng.choice(self.running)
        await stub.reached("port")  # before, it has no handler for the signal
        stub.terminate()
        code = await stub.wait(60)
        if code != 0:
            raise RuntimeError(f"a worker that was asked to end did so with {code}: {stub.log.read_text()[-2000:]}")

    async def grow(self) -> None:
        """One more for a while: two rebalances."""
        await self.add()
        await asyncio.sleep(4)
        await self.end()

    async def restart_broker(self) -> None:
        broker = self.rng.choice(self.stack.kafka.brokers)
        await broker.stop()
        await broker.start()
        await self.stack.kafka.ready()

    async def kill_broker(self) -> None:
        broker = self.rng.choice(self.stack.kafka.brokers)
        await broker.kill()
        await asyncio.sleep(self.rng.uniform(0, 5))
        await broker.start()
        await self.stack.kafka.ready()

    async def restart_postgres(self) -> None:
        await self.stack.postgres.stop()
        await asyncio.sleep(self.rng.uniform(0, 5))
        await self.stack.postgres.start()
        await self.stack.postgres.ready()


async def ask(producer: AIOKafkaProducer, topic: str, until: float, rng: random.Random) -> list[Asked]:
    """Publishes at a steady rate. An idempotent producer: a question that was retried is on the topic once."""
    sent: list[tuple[str, asyncio.Future]] = []  # type: ignore[type-arg]
    began, number = time.monotonic(), 0
    while time.monotonic() < until:
        due = int((time.monotonic() - began) * PER_SECOND)
        for _ in range(due - number):
            tenant = rng.choice(TENANTS)
            identity, value = question(rng.choice(TEXTS), tenant, deadline_ms=300_000)
            sent.append((identity, await producer.send(topic, value, key=str(tenant).encode())))
        number = max(number, due)
        await asyncio.sleep(BURST_SECONDS)
    asked: list[Asked] = []
    for identity, future in sent:
        with contextlib.suppress(KafkaError):  # one that was refused is no question: were it there, it is a stranger
            done = await future
            asked.append(Asked(done.partition, done.offset, identity))
    return asked


async def storm(minutes: float, seed: int, brokers: int) -> tuple[Books, int, Counter[str]]:
    rng = random.Random(seed)
    name = f"chaos{uuid4().hex[:8]}"
    topics = Topics(*(f"{name}.{kind}" for kind in ("questions", "answers", "audit", "dlt")))
    async with embedded_stack(brokers=brokers) as stack:
        admin = AIOKafkaAdminClient(bootstrap_servers=stack.kafka_bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic(topic, PARTITIONS, brokers) for topic in topics])
        await admin.close()
        with tempfile.TemporaryDirectory() as folder:
            settings = settings_of(
                stack.kafka_bootstrap, topics, drain_seconds=5, database_url=stack.postgres_url, database_pool=2
            )
            stubs = Stubs(settings, Path(folder))
            weather = Storm(stack, stubs, rng)
            producer = AIOKafkaProducer(
                bootstrap_servers=stack.kafka_bootstrap, enable_idempotence=True, request_timeout_ms=120_000
            )
            await producer.start()
            try:
                for _ in range(WORKERS):
                    await weather.add()
                until = time.monotonic() + minutes * 60
                asking = asyncio.create_task(ask(producer, topics.questions, until, random.Random(seed)))
                await weather.blow(until)
                asked = await asking
                print(f"  {len(asked)} questions asked, waiting for the rest of the answers", flush=True)
                found = await books(stack.kafka_bootstrap, topics, asked, SETTLE_SECONDS)
            except BaseException:
                for stub in weather.stubs.all[-WORKERS:]:
                    print(stub.log.read_text()[-1500:], file=sys.stderr)
                raise
            finally:
                await stubs.end()
                await producer.stop()
    return found, len(asked), weather.faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--brokers", type=int, default=3)
    arguments = parser.parse_args()
    print(f"storm of {arguments.minutes:g} minutes, seed {arguments.seed}, {arguments.brokers} brokers", flush=True)
    found, asked, faults = asyncio.run(storm(arguments.minutes, arguments.seed, arguments.brokers))
    report = {
        "seed": arguments.seed, "questions": asked, "faults": faults.total(), "by_kind": dict(faults),
        "lost": found.lost, "duplicates": found.duplicates, "strangers": found.strangers,
        "audit_mismatch": found.audit_mismatch, "statuses": dict(found.statuses),
    }  # fmt: skip
    print(json.dumps(report))
    return 0 if found.balanced else 1


if __name__ == "__main__":
    sys.exit(main())
