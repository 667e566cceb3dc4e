"""Which partitions a topic has, so that no record is sent where there is none.

A send to a topic or partition that does not exist fails inside the transaction and takes all that is in it along, for
ever; so it is looked up before. The broker is asked again after a while, since topics come and grow.
"""

import asyncio
import logging
import time
from collections.abc import Sequence

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from msgspec.structs import replace

from consumer.errors import DeadLetterReason, Permanent
from consumer.stream.records import Outgoing

log = logging.getLogger(__name__)

KNOWN_SECONDS = 60.0
ABSENT_SECONDS = 5.0
ASK_SECONDS = 10.0
AGAIN_SECONDS = 0.5
MOST_TOPICS = 1_000
"""Reply topics are named by who asks: what we remember of them is bounded."""


class Places:
    def __init__(self, admin: AIOKafkaAdminClient) -> None:
        self.admin = admin
        self._known: dict[str, tuple[int, float]] = {}

    async def partitions(self, topic: str) -> int:
        """How many, 0 when there is no such topic. Waits while no broker answers."""
        known = self._known.get(topic)
        if known and time.monotonic() < known[1]:
            return known[0]
        count = await self._ask(topic)
        if len(self._known) >= MOST_TOPICS:
            self._known.clear()
        self._known[topic] = count, time.monotonic() + (KNOWN_SECONDS if count else ABSENT_SECONDS)
        return count

    async def check_replies(self, records: Sequence[Outgoing], ours: frozenset[str]) -> None:
        """Raises Permanent when a record goes to a topic, not of ours, or a partition that does not exist."""
        for record in records:
            if record.partition is None and record.topic in ours:
                continue
            count = await self.partitions(record.topic)
            if not count:
                raise Permanent(DeadLetterReason.BAD_REPLY_TOPIC)
            if record.partition is not None and record.partition >= count:
                raise Permanent(DeadLetterReason.BAD_REPLY_PARTITION)

    async def fitted(self, letter: Outgoing) -> Outgoing:
        """The dead letter on its record's partition number, or on any where its topic has not so many."""
        count = await self.partitions(letter.topic)
        return letter if letter.partition is None or letter.partition < count else replace(letter, partition=None)

    async def _ask(self, topic: str) -> int:
        while True:
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    described = await self.admin.describe_topics([topic])
            except (KafkaError, OSError, TimeoutError) as error:
                log.warning("topics can't be looked up", extra={"error": type(error).__name__})
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                return len(described[0]["partitions"]) if described and described[0]["error_code"] == 0 else 0
