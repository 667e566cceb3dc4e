"""Telling new events from duplicates, conflicts and records that can never be stored."""

from uuid import UUID

import pytest
from msgspec import Struct

from consumer.audit.append import Entry, Reason, Rejected, read, sort_out

TENANT = UUID(int=9)
GOOD = (
    b'{"event":"aedt.ai.plan_answered","event_id":"00000000-0000-0000-0000-000000000001",'
    b'"tenant_id":"00000000-0000-0000-0000-000000000009","occurred_at":"2026-12-01T00:00:00Z",'
    b'"intents":["market.competitors"],"param_kinds":["agency"],"node_count":1,"suppressed_cells":0,'
    b'"faithfulness":"passed","self_consistency":{"samples":3,"outcome":"stable"},'
    b'"registry_digest":"sha256:00","service_version":"0"}'
)


class Record(Struct):
    offset: int
    value: bytes | None


def entry(offset: int, event: int, body: bytes = b"a") -> Entry:
    return Entry(offset, UUID(int=event), TENANT, body, body * 32)


def test_an_event_is_read_with_its_exact_bytes() -> None:
    found = read(Record(7, GOOD))
    assert isinstance(found, Entry)
    assert (found.offset, found.event_id, found.tenant_id, found.body) == (7, UUID(int=1), TENANT, GOOD)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, Reason.UNDECODABLE),
        (b"", Reason.UNDECODABLE),
        (b"\xff", Reason.UNDECODABLE),
        (b"{}", Reason.UNDECODABLE),
        (b"[" * 3_000, Reason.UNDECODABLE),
        (GOOD[:-1] + b',"question":"who?"}', Reason.UNDECODABLE),
        (GOOD.replace(b"2026-12-01T00:00:00Z", b"2026-12-01T00:00:00"), Reason.UNDECODABLE),
        (GOOD + b" " * 4_096, Reason.TOO_LARGE),
    ],
)
def test_a_record_that_is_no_event_says_why(value: bytes | None, reason: Reason) -> None:
    found = read(Record(0, value))
    assert isinstance(found, Rejected)
    assert found.reason == reason
    assert len(found.body) <= 4_096


def test_a_batch_sorts_new_duplicate_and_conflicting_events() -> None:
    known = {UUID(int=1): b"a" * 32, UUID(int=2): b"a" * 32}
    records = [entry(3, 9), entry(5, 1), entry(6, 2, b"b"), entry(7, 3), entry(8, 3), entry(9, 3, b"c")]
    batch = sort_out(records, known, next_offset=4)
    assert [e.offset for e in batch.entries] == [7]
    assert batch.duplicates == 2
    assert [(r.offset, r.reason) for r in batch.rejected] == [(6, Reason.CONFLICT), (9, Reason.CONFLICT)]
    assert batch.next_offset == 10


def test_records_below_the_next_offset_move_nothing() -> None:
    batch = sort_out([entry(1, 1)], {}, next_offset=4)
    assert (batch.entries, batch.rejected, batch.duplicates, batch.next_offset) == ((), (), 0, 4)
