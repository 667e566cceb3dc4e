"""The bare loop: what a careful engineer writes by hand with aiokafka, and nothing else.

Answers, audit events and offsets in one Kafka transaction a batch, as exactly once needs; but one producer for all
partitions, which fences nobody, so a rebalance or a pause may answer twice; no deadline, no dead letter, no ledger,
no back pressure: a slow question holds back its whole batch, and a bad record ends the loop.
"""

import asyncio
import sys

import msgspec
import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.structs import OffsetAndMetadata

from bench.work import Sent, Task, opened


async def main(task: Task) -> None:
    consumer = AIOKafkaConsumer(
        task.questions, bootstrap_servers=task.kafka, group_id=task.group, enable_auto_commit=False,
        auto_offset_reset="earliest", isolation_level="read_committed",
    )  # fmt: skip
    producer = AIOKafkaProducer(bootstrap_servers=task.kafka, transactional_id=task.group)
    slots = asyncio.Semaphore(task.concurrency)
    async with opened(task) as work:

        async def answer(value: bytes) -> Sent:
            async with slots:
                return await work(value)

        await consumer.start()
        await producer.start()
        while True:
            polled = await consumer.getmany(timeout_ms=100, max_records=task.batch)
            read = [record for records in polled.values() for record in records]
            answered = await asyncio.gather(*(answer(record.value) for record in read))
            if not read:
                continue
            async with producer.transaction():
                sent = []
                for record, (value, event) in zip(read, answered, strict=True):
                    sent.append(await producer.send(task.answers, value, key=record.key))
                    if event is not None:
                        sent.append(await producer.send(task.audit, event, key=record.key))
                await asyncio.gather(*sent)
                offsets = {where: OffsetAndMetadata(records[-1].offset + 1, "") for where, records in polled.items()}
                await producer.send_offsets_to_transaction(offsets, task.group)


if __name__ == "__main__":
    uvloop.run(main(msgspec.json.decode(sys.argv[1], type=Task)))
