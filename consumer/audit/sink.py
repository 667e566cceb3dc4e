"""The sink process: polls the audit topic and appends what it finds, partition by partition.

Positions come from `audit.head`, never from the broker: the broker's committed offset is only a hint for lag
dashboards. Postgres away means pause and keep polling, so the group keeps its member and nothing is dropped.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import asyncpg
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import KafkaError
from aiokafka.structs import ConsumerRecord
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from consumer.audit.append import Connection, Entry, Reason, Rejected, Stored, append, read
from consumer.audit.checkpoint import Checkpoint, sign
from consumer.observe import metrics

log = logging.getLogger(__name__)

T = TypeVar("T")
Record = ConsumerRecord[bytes | None, bytes | None]
Work = Callable[[Connection, TopicPartition], Awaitable[T]]

POLL_MS = 500
STATEMENT_SECONDS = 30.0
FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS = 0.2, 5.0
CHECKPOINT_SECONDS = 60.0
POSITION = "SELECT next_offset FROM audit.head WHERE chain_id = $1"
CHECKPOINT = "INSERT INTO audit.checkpoint (chain_id, size, root, note) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"

# The row itself is at fault (SQLSTATE 22, 23, 54): trying again can't help, so it is stored as rejected.
UNSTORABLE = (
    asyncpg.DataError,
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.ProgramLimitExceededError,
    ValueError,
    OverflowError,
)
# Anything else of the database is an outage.
AWAY = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)


class Notary:
    """Signs checkpoints of the chains, at most one each `rows` rows or `CHECKPOINT_SECONDS`, and publishes them.

    State: the size and time of the last checkpoint of each chain. Without a key it signs nothing.
    """

    def __init__(self, key: Ed25519PrivateKey | None, rows: int, producer: AIOKafkaProducer | None, topic: str) -> None:
        self.key, self.rows, self.producer, self.topic = key, rows, producer, topic
        self.last: dict[int, tuple[int, float]] = {}

    async def attest(self, connection: Connection, chain_id: int, stored: Stored) -> None:
        """Writes a checkpoint of the chain if one is due, to the table, the topic and the log."""
        size, at = self.last.setdefault(chain_id, (0, time.monotonic()))
        due = stored.link.size - size >= self.rows or time.monotonic() - at >= CHECKPOINT_SECONDS
        if self.key is None or stored.link.size <= size or not due:
            return
        checkpoint = Checkpoint(chain_id, stored.link.size, stored.frontier.root())
        note = sign(checkpoint, self.key)
        await connection.execute(CHECKPOINT, chain_id, checkpoint.size, checkpoint.root, note)
        if self.producer is not None and self.topic:
            await asyncio.wait_for(
                self.producer.send_and_wait(self.topic, note.encode(), key=str(chain_id).encode(), partition=None),
                STATEMENT_SECONDS,
            )
        log.info("audit checkpoint", extra={"chain": chain_id, "size": checkpoint.size, "note": note})
        metrics.SINK_CHECKPOINTS.inc()
        self.last[chain_id] = (checkpoint.size, time.monotonic())


class Sink(ConsumerRebalanceListener):
    """Owns the consumer's assignment. `run` returns when `stop` is called, with every polled batch stored."""

    def __init__(self, consumer: AIOKafkaConsumer, pool: asyncpg.Pool, topic: str, batch: int, notary: Notary) -> None:
        self.consumer, self.pool, self.topic, self.batch, self.notary = consumer, pool, topic, batch, notary
        self.stopping = asyncio.Event()
        self.unplaced: set[TopicPartition] = set()
        self.polled_at = time.monotonic()

    def stop(self) -> None:
        self.stopping.set()

    def on_partitions_revoked(self, revoked: Sequence[TopicPartition]) -> None:
        """Nothing to hand over: a batch is stored whole before the next poll."""

    def on_partitions_assigned(self, assigned: Sequence[TopicPartition]) -> None:
        # Seeking here needs Postgres, and the library swallows what a listener raises: `place` does it in the loop.
        self.unplaced = set(assigned)

    async def run(self) -> None:
        self.consumer.subscribe([self.topic], listener=self)
        while not self.stopping.is_set():
            polled = await self.poll(POLL_MS)
            if self.unplaced:
                await self.place()
                continue  # what was polled came from the broker's position: it is read again from ours
            for partition, records in polled.items():
                await self.store(partition, records)

    async def poll(self, timeout_ms: int) -> dict[TopicPartition, list[Record]]:
        self.polled_at = time.monotonic()
        try:
            return await self.consumer.getmany(timeout_ms=timeout_ms, max_records=self.batch)
        except KafkaError as error:
            log.warning("audit topic can't be read", extra={"error": type(error).__name__})
            await asyncio.sleep(FIRST_BACKOFF_SECONDS)
            return {}

    async def place(self) -> None:
        """Moves each newly assigned partition to the position its chain has in the database."""
        for partition in sorted(self.unplaced & self.consumer.assignment()):
            offset = await self.patiently(partition, self.position)
            if offset is not None:
                self.consumer.seek(partition, offset)
        self.unplaced.clear()

    @staticmethod
    async def position(connection: Connection, partition: TopicPartition) -> int:
        return await connection.fetchval(POSITION, partition.partition) or 0

    async def store(self, partition: TopicPartition, records: Sequence[Record]) -> None:
        """Appends one poll of one partition; a batch that can't be stored whole is stored record by record."""
        parsed = [read(record) for record in records]

        async def whole(connection: Connection, _: TopicPartition) -> bool:
            try:
                await self.add(connection, partition, parsed)
            except UNSTORABLE:
                await self.unroll(connection, partition, parsed)
            return True

        if await self.patiently(partition, whole):
            await self.hint(partition, records[-1].offset + 1)

    async def add(self, connection: Connection, partition: TopicPartition, parsed: Sequence[Entry | Rejected]) -> None:
        with metrics.SINK_BATCH_SECONDS.time():
            stored = await append(connection, self.topic, partition.partition, parsed)
        metrics.SINK_ROWS.inc(stored.rows)
        metrics.SINK_DUPLICATES.inc(stored.duplicates)
        for reason in stored.rejected:
            metrics.SINK_REJECTED.labels(reason.value).inc()
            log.error("audit record quarantined", extra={"chain": partition.partition, "reason": reason.value})
        await self.notary.attest(connection, partition.partition, stored)

    async def unroll(
        self, connection: Connection, partition: TopicPartition, parsed: Sequence[Entry | Rejected]
    ) -> None:
        for record in parsed:
            try:
                await self.add(connection, partition, [record])
            except UNSTORABLE:
                body = record.body if len(record.body) <= 4_096 else record.body[:4_096]
                await self.add(
                    connection,
                    partition,
                    [Rejected(record.offset, Reason.UNSTORABLE, body, record.body_hash)],
                )

    async def patiently(self, partition: TopicPartition, work: Work[T]) -> T | None:
        """Does `work` on a connection, through any outage, while the partition is still ours; None once it is not."""
        backoff = FIRST_BACKOFF_SECONDS
        while partition in self.consumer.assignment() and not (
            self.stopping.is_set() and backoff > FIRST_BACKOFF_SECONDS
        ):
            try:
                async with asyncio.timeout(STATEMENT_SECONDS), self.pool.acquire() as connection:
                    return await work(connection, partition)
            except AWAY as error:
                log.warning("the audit database is away", extra={"error": type(error).__name__})
                metrics.SINK_RETRIES.inc()
                await self.pool.expire_connections()
                await self.wait_polling(backoff)
                backoff = min(2 * backoff, LAST_BACKOFF_SECONDS)
        return None

    async def wait_polling(self, seconds: float) -> None:
        """Waits and stays a member of the group: everything paused, polls go on, what slips through is read again."""
        self.consumer.pause(*self.consumer.assignment())
        for partition, records in (await self.poll(int(seconds * 1_000))).items():
            self.consumer.seek(partition, records[0].offset)
        self.consumer.resume(*self.consumer.assignment())

    async def hint(self, partition: TopicPartition, offset: int) -> None:
        try:
            await self.consumer.commit({partition: offset})
            end = self.consumer.last_stable_offset(partition)
        except KafkaError:
            return
        metrics.SINK_BACKLOG.set(max(0, (end or offset) - offset))
