"""Turns: a tenant's flood leaves the others their turn, and nothing is lost or reordered within a tenant."""

from hypothesis import given
from hypothesis import strategies as st

from consumer.stream.queue import Queue
from consumer.stream.records import Received


def record(key: bytes | None, offset: int) -> Received:
    return Received("t", 0, offset, 0, key, b"v" * (offset % 7), ())


@given(st.lists(st.sampled_from([b"a", b"b", b"c", None]), max_size=60))
def test_all_comes_out_in_order_within_its_key(keys: list[bytes | None]) -> None:
    queue = Queue()
    for offset, key in enumerate(keys):
        queue.put(record(key, offset))
    taken = [queue.take() for _ in keys]
    assert (len(queue), queue.bytes) == (0, 0)
    for key in set(keys):
        assert [r.offset for r in taken if r.key == key] == [o for o, k in enumerate(keys) if k == key]


def test_a_flood_of_one_tenant_lets_the_next_one_in_after_one() -> None:
    queue = Queue()
    for offset in range(500):
        queue.put(record(b"flood", offset))
    queue.put(record(b"quiet", 500))
    assert [queue.take().key for _ in range(3)] == [b"flood", b"quiet", b"flood"]
