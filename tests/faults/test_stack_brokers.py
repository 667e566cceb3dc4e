"""Three brokers: the loss of one, by kill or by silence, loses no record and stops no writer."""

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from consumer.stack import embedded_stack

pytestmark = [pytest.mark.faults, pytest.mark.timeout(240)]


async def test_three_brokers_take_writes_with_one_killed_and_then_another_paused() -> None:
    async with embedded_stack(brokers=3) as stack:
        admin = AIOKafkaAdminClient(bootstrap_servers=stack.kafka_bootstrap)
        await admin.start()
        await admin.create_topics([NewTopic("t", 3, 3)])
        await admin.close()
        first, second, _ = stack.kafka.brokers
        async with AIOKafkaProducer(
            bootstrap_servers=stack.kafka_bootstrap, enable_idempotence=True, request_timeout_ms=30_000
        ) as producer:
            await producer.send_and_wait("t", b"all up")
            port = first.port
            await first.kill()
            await producer.send_and_wait("t", b"one killed")
            await first.start()
            await stack.kafka.ready()
            assert first.port == port
            second.pause()
            await producer.send_and_wait("t", b"one paused")
            second.resume()
        async with AIOKafkaConsumer(
            "t", bootstrap_servers=stack.kafka_bootstrap, auto_offset_reset="earliest"
        ) as consumer:
            values = {(await consumer.getone()).value for _ in range(3)}
        assert values == {b"all up", b"one killed", b"one paused"}
