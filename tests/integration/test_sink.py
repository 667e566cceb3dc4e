# ruff: noqa: E501 statements read best whole
"""The sink on a real topic and table: exactly once, quarantine, outage, and a trail whose every tampering shows."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import asyncpg
import msgspec
import pytest
from aiokafka import AIOKafkaProducer
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from consumer import settings as configuration
from consumer.audit.checkpoint import Checkpoint, open_note
from consumer.audit.retain import retain
from consumer.audit.sink import Sink
from consumer.audit.verify import Fault, verify
from consumer.cli.sink import assembled
from consumer.errors import PlannerError
from tests.conftest import Topics
from tests.databases import Database
from tests.support import eventually

KEY = Ed25519PrivateKey.generate()
TENANT = "7a0e6a0c-0f6c-4d0e-9a57-2f3b8b8b1c11"


def event(event_id: UUID, **changes: Any) -> bytes:
    body = {
        "event": "aedt.ai.plan_answered", "event_id": str(event_id), "tenant_id": TENANT,
        "occurred_at": "2026-12-01T12:00:00Z", "intents": ["market.competitors"], "param_kinds": ["agency"],
        "node_count": 1, "suppressed_cells": 0, "faithfulness": "passed",
        "self_consistency": {"samples": 2, "outcome": "stable"}, "registry_digest": "sha256:00", "service_version": "0",
    }  # fmt: skip
    return json.dumps(body | changes).encode()


@pytest.fixture
def settings(kafka_bootstrap: str, topics: Topics, database: Database, tmp_path: Any) -> configuration.Settings:
    key = tmp_path / "signing.pem"
    key.write_bytes(
        KEY.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return configuration.load(
        {
            "PLANNER_KAFKA_BOOTSTRAP": kafka_bootstrap,
            "PLANNER_GROUP": f"g{uuid4().hex[:8]}",
            "PLANNER_TOPIC_AUDIT": topics.audit,
            "PLANNER_SINK_DATABASE_URL": database.sink_url,
            "PLANNER_AUDIT_SIGNING_KEY": str(key),
            "PLANNER_CHECKPOINT_ROWS": "10",
            "PLANNER_SINK_BATCH": "50",
        }
    )


@contextlib.asynccontextmanager
async def running(settings: configuration.Settings) -> AsyncGenerator[Sink, None]:
    async with assembled(settings) as sink:
        task = asyncio.create_task(sink.run())
        try:
            yield sink
        finally:
            sink.stop()
            await asyncio.wait_for(task, 20)


@contextlib.asynccontextmanager
async def auditor(database: Database) -> AsyncGenerator[asyncpg.Connection, None]:
    connection = await asyncpg.connect(database.auditor_url)
    try:
        yield connection
    finally:
        await connection.close()


async def publish(bootstrap: str, topic: str, values: list[bytes | None], partition: int | None = None) -> None:
    producer: AIOKafkaProducer = AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    try:
        for value in values:
            await producer.send(topic, value, key=TENANT.encode(), partition=partition)
        await producer.flush()
    finally:
        await producer.stop()


async def count(database: Database, table: str) -> int:
    async with auditor(database) as connection:
        return await connection.fetchval(f"SELECT count(*) FROM audit.{table}")  # noqa: S608 a name of this file


async def test_every_event_is_stored_once_and_the_rest_is_quarantined(
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database
) -> None:
    ids = [uuid4() for _ in range(40)]
    good = [event(i) for i in ids]
    conflict = event(ids[0], node_count=2)
    bad: list[bytes | None] = [b"\xff\xfe", b"{}", event(uuid4(), question="who?"), b"x" * 5_000, conflict]
    await publish(kafka_bootstrap, topics.audit, [*good[:20], *bad, *good[20:], *good[:5]])
    async with running(settings):
        await eventually(lambda: _is(database, "plan_answered", 40))
        await eventually(lambda: _is(database, "rejected", 5))
    async with auditor(database) as connection:
        stored = {
            r["event_id"]: bytes(r["body"])
            for r in await connection.fetch("SELECT event_id, body FROM audit.plan_answered")
        }
        reasons = [r["reason"] for r in await connection.fetch("SELECT reason FROM audit.rejected ORDER BY src_offset")]
        assert all(p.broken is None for p in await verify(connection))
    assert stored == dict(zip(ids, good, strict=True))
    assert sorted(reasons) == ["conflict", "too_large", "undecodable", "undecodable", "undecodable"]


async def _is(database: Database, table: str, expected: int) -> bool:
    found = await count(database, table)
    assert found == expected, f"{table}: {found} of {expected}"
    return True


async def test_a_sink_that_starts_again_adds_nothing_twice(
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database
) -> None:
    await publish(kafka_bootstrap, topics.audit, [event(uuid4()) for _ in range(30)])
    async with running(settings):
        await eventually(lambda: _is(database, "plan_answered", 30))
    # another group reads from the beginning: the position is the database's, not the broker's
    other = msgspec.structs.replace(settings, group=f"g{uuid4().hex[:8]}")
    await publish(kafka_bootstrap, topics.audit, [event(uuid4())])
    async with running(other):
        await eventually(lambda: _is(database, "plan_answered", 31))
    async with auditor(database) as connection:
        assert all(p.broken is None for p in await verify(connection))


async def test_two_sinks_on_one_chain_make_no_fork(
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database
) -> None:
    """One that was taken for dead writes on: the head's lock lets one at a time in, and the next finds its offsets
    taken (breeze#1002, agent-bom#4185)."""
    other = msgspec.structs.replace(settings, group=f"g{uuid4().hex[:8]}")
    async with running(settings), running(other):
        for _ in range(10):
            await publish(kafka_bootstrap, topics.audit, [event(uuid4()) for _ in range(40)])
        await eventually(lambda: _is(database, "plan_answered", 400))
    assert await count(database, "rejected") == 0
    async with auditor(database) as connection:
        proofs = await verify(connection)
    assert [p.broken for p in proofs if p.broken] == []


async def test_an_outage_of_postgres_pauses_and_loses_nothing(
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database, postgres_url: str
) -> None:
    async with running(settings):
        await publish(kafka_bootstrap, topics.audit, [event(uuid4())])
        await eventually(lambda: _is(database, "plan_answered", 1))
        admin = await asyncpg.connect(postgres_url)
        try:
            await admin.execute(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS false")
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", database.name
            )
            await publish(kafka_bootstrap, topics.audit, [event(uuid4()) for _ in range(20)])
        finally:
            await admin.execute(f"ALTER DATABASE {database.name} ALLOW_CONNECTIONS true")
            await admin.close()
        await eventually(lambda: _is(database, "plan_answered", 21), seconds=30)
    assert await count(database, "rejected") == 0


async def test_checkpoints_are_signed_and_hold_against_the_trail(
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database
) -> None:
    await publish(kafka_bootstrap, topics.audit, [event(uuid4()) for _ in range(60)], partition=0)
    async with running(settings):
        await eventually(lambda: _is(database, "plan_answered", 60))
        await eventually(lambda: _has_checkpoint(database))
    async with auditor(database) as connection:
        note = await connection.fetchval("SELECT note FROM audit.checkpoint ORDER BY size DESC LIMIT 1")
        anchor = open_note(note, KEY.public_key())
        assert anchor.size >= 10
        assert all(p.broken is None for p in await verify(connection, [anchor]))


async def _has_checkpoint(database: Database) -> bool:
    return await count(database, "checkpoint") > 0


APPEND_ONLY = [
    "UPDATE audit.plan_answered SET body = body", "DELETE FROM audit.plan_answered", "TRUNCATE audit.plan_answered",
    "DELETE FROM audit.event", "UPDATE audit.rejected SET reason = 'conflict'", "DROP TABLE audit.plan_answered",
    "ALTER TABLE audit.plan_answered DISABLE TRIGGER ALL",
    "INSERT INTO audit.plan_answered (chain_id, seq, event_id, tenant_id, src_offset, body, prev_hash, row_hash, recorded_at) "
    "VALUES (0, 0, gen_random_uuid(), gen_random_uuid(), 0, '', sha256(''), sha256(''), now())",
]  # fmt: skip


@pytest.mark.parametrize("statement", APPEND_ONLY)
async def test_the_sink_can_only_append(database: Database, statement: str) -> None:
    connection = await asyncpg.connect(database.sink_url)
    try:
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.execute(statement)
    finally:
        await connection.close()


async def test_a_row_with_a_wrong_hash_is_refused_by_the_table(database: Database) -> None:
    connection = await asyncpg.connect(database.sink_url)
    try:
        with pytest.raises(asyncpg.CheckViolationError):
            await connection.execute(
                "INSERT INTO audit.plan_answered (chain_id, seq, event_id, tenant_id, src_offset, body, prev_hash, row_hash) "
                "VALUES (0, 0, gen_random_uuid(), gen_random_uuid(), 0, 'x', sha256('a'), sha256('b'))"
            )
    finally:
        await connection.close()


async def test_even_a_replica_session_of_a_superuser_can_not_edit(
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database
) -> None:
    await _filled(settings, kafka_bootstrap, topics, database, 3)
    admin = await asyncpg.connect(database.admin_url)
    try:
        await admin.execute("SET session_replication_role = replica")
        for statement in ("UPDATE audit.plan_answered SET body = 'x'", "DELETE FROM audit.plan_answered"):
            with pytest.raises(asyncpg.InsufficientPrivilegeError):
                await admin.execute(statement)
    finally:
        await admin.close()


async def _filled(
    settings: configuration.Settings, bootstrap: str, topics: Topics, database: Database, rows: int
) -> Checkpoint:
    """A trail of `rows` in chain 0, and its checkpoint as somebody outside would keep it."""
    await publish(bootstrap, topics.audit, [event(uuid4()) for _ in range(rows)], partition=0)
    async with running(settings):
        await eventually(lambda: _is(database, "plan_answered", rows))
    async with auditor(database) as connection:
        (proof,) = [p for p in await verify(connection) if p.chain_id == 0]
    assert proof.broken is None
    return Checkpoint(0, rows, proof.root)


async def _narrow(database: Database, width: int) -> None:
    """Ranges of `width` rows in the place of a million."""
    admin = await asyncpg.connect(database.admin_url)
    try:
        await admin.execute(
            "ALTER TABLE audit.plan_answered_0 RENAME TO wide; ALTER TABLE audit.plan_answered DETACH PARTITION audit.wide"
        )
        for n in range(4):
            await admin.execute(
                f"CREATE TABLE audit.plan_answered_n{n} PARTITION OF audit.plan_answered FOR VALUES FROM ({n * width}) TO ({(n + 1) * width})"
            )
    finally:
        await admin.close()


async def test_what_retention_detached_leaves_a_trail_that_verifies_and_grows(
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database
) -> None:
    await _narrow(database, 10)
    anchor = await _filled(settings, kafka_bootstrap, topics, database, 25)
    admin = await asyncpg.connect(database.admin_url)
    try:
        assert await retain(admin, datetime.now(UTC) - timedelta(days=1)) == []
        gone = await retain(admin, datetime.now(UTC) + timedelta(days=1))
        assert [(r.range.first, r.range.end) for r in gone] == [(0, 10), (10, 20)]
        assert await retain(admin, datetime.now(UTC) + timedelta(days=1)) == []
        kept = f"SELECT count(*) FROM audit.{gone[0].kept}"  # noqa: S608 a name of ours
        assert await admin.fetchval(kept) == 10
    finally:
        await admin.close()
    async with auditor(database) as connection:
        assert [(p.rows, p.broken) for p in await verify(connection, [anchor]) if p.chain_id == 0] == [(5, None)]
    await publish(kafka_bootstrap, topics.audit, [event(uuid4()) for _ in range(5)], partition=0)
    await publish(kafka_bootstrap, topics.audit, [event(uuid4()) for _ in range(3)], partition=1)
    async with running(settings):
        await eventually(lambda: _is(database, "plan_answered", 13))
    async with auditor(database) as connection:
        assert [(p.chain_id, p.rows, p.broken) for p in await verify(connection)] == [(0, 10, None), (1, 3, None)]


async def test_retention_detaches_nothing_that_does_not_verify(
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database
) -> None:
    await _narrow(database, 10)
    await _filled(settings, kafka_bootstrap, topics, database, 25)
    admin = await asyncpg.connect(database.admin_url)
    try:
        await admin.execute(
            "ALTER TABLE audit.plan_answered DISABLE TRIGGER ALL; ALTER TABLE audit.plan_answered_n1 DISABLE TRIGGER ALL; ALTER TABLE audit.plan_answered DROP CONSTRAINT row_hash_is_recomputed"
        )
        await admin.execute("UPDATE audit.plan_answered SET body = 'x' WHERE seq = 12")
        with pytest.raises(PlannerError, match="broken at row 12"):
            await retain(admin, datetime.now(UTC) + timedelta(days=1))
        assert await admin.fetchval("SELECT count(*) FROM audit.plan_answered") == 15
    finally:
        await admin.close()


FREE = """
ALTER TABLE audit.plan_answered DISABLE TRIGGER ALL; ALTER TABLE audit.plan_answered_0 DISABLE TRIGGER ALL;
ALTER TABLE audit.plan_answered DROP CONSTRAINT row_hash_is_recomputed;
"""
"""What an owner of the database can do to be free to edit."""
TAMPERINGS: list[tuple[str, str, bool, Fault]] = [
    ("an edited body", "UPDATE audit.plan_answered SET body = 'x' WHERE seq = 5", False, Fault.EDITED),
    ("an edited hash", "UPDATE audit.plan_answered SET row_hash = sha256('x') WHERE seq = 5", False, Fault.EDITED),
    ("a deleted row", "DELETE FROM audit.plan_answered WHERE seq = 5", False, Fault.GAP),
    ("a deleted tail", "DELETE FROM audit.plan_answered WHERE seq >= 15", False, Fault.TRUNCATED),
    ("a deleted tail, its head moved", "DELETE FROM audit.plan_answered WHERE seq >= 15; UPDATE audit.head SET size = 15, "
     "head_hash = (SELECT row_hash FROM audit.plan_answered WHERE seq = 14)", True, Fault.TRUNCATED),
    ("two rows swapped", "UPDATE audit.plan_answered SET seq = 900 WHERE seq = 5; UPDATE audit.plan_answered SET seq = 5 "
     "WHERE seq = 6; UPDATE audit.plan_answered SET seq = 6 WHERE seq = 900", False, Fault.ORDER),
    ("all rows gone", "DELETE FROM audit.plan_answered; DELETE FROM audit.head", True, Fault.TRUNCATED),
    ("a row too many", "INSERT INTO audit.plan_answered (chain_id, seq, event_id, tenant_id, src_offset, body, prev_hash, "
     "row_hash) SELECT 0, 20, g, g, 99, 'x', p, sha256(p || int4send(0) || int8send(20) || uuid_send(g) || uuid_send(g) "
     "|| int8send(99) || sha256('x')) FROM (SELECT gen_random_uuid() AS g, row_hash AS p FROM audit.plan_answered WHERE "
     "seq = 19) AS t", False, Fault.EXTRA),
]  # fmt: skip


@pytest.mark.parametrize(("name", "sql", "anchored", "fault"), TAMPERINGS, ids=[t[0] for t in TAMPERINGS])
async def test_verification_names_what_an_owner_did(
    name: str, sql: str, anchored: bool, fault: Fault,
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database,
) -> None:  # fmt: skip
    anchor = await _filled(settings, kafka_bootstrap, topics, database, 20)
    admin = await asyncpg.connect(database.admin_url)
    try:
        await admin.execute(FREE)
        await admin.execute("ALTER TABLE audit.checkpoint DISABLE TRIGGER ALL; DELETE FROM audit.checkpoint")
        await admin.execute(sql)
    finally:
        await admin.close()
    async with auditor(database) as connection:
        alone = [p.broken for p in await verify(connection) if p.broken]
        proven = [p.broken for p in await verify(connection, [anchor]) if p.broken]
    if not anchored:
        assert [b.fault for b in alone] == [fault]
    assert [b.fault for b in proven] == [fault]


async def test_a_trail_rebuilt_from_scratch_shows_against_an_anchor(
    settings: configuration.Settings, kafka_bootstrap: str, topics: Topics, database: Database
) -> None:
    anchor = await _filled(settings, kafka_bootstrap, topics, database, 20)
    admin = await asyncpg.connect(database.admin_url)
    try:
        await admin.execute(FREE)
        await admin.execute("ALTER TABLE audit.checkpoint DISABLE TRIGGER ALL; DELETE FROM audit.checkpoint")
        await admin.execute(
            "DELETE FROM audit.plan_answered; DELETE FROM audit.head; ALTER TABLE audit.event DISABLE TRIGGER ALL; DELETE FROM audit.event"
        )
    finally:
        await admin.close()
    again = msgspec.structs.replace(settings, topic_audit=topics.answers, group=f"g{uuid4().hex[:8]}")
    await publish(kafka_bootstrap, topics.answers, [event(uuid4()) for _ in range(20)], partition=0)
    async with running(again):
        await eventually(lambda: _is(database, "plan_answered", 20))
    async with auditor(database) as connection:
        assert all(p.broken is None for p in await verify(connection))
        (broken,) = [p.broken for p in await verify(connection, [anchor]) if p.broken]
    assert broken.fault is Fault.ROOT
