"""The chain and the tree over it, against the definitions of RFC 6962."""

from hashlib import sha256
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.audit.chain import GENESIS, Frontier, leaf_hash, node_hash, row_hash

HASHES = st.lists(st.binary(min_size=32, max_size=32), max_size=70)


def tree(rows: list[bytes]) -> bytes:
    """RFC 6962 section 2.1, spelled as it defines the root: split at the largest power of two below the size."""
    if not rows:
        return sha256().digest()
    if len(rows) == 1:
        return leaf_hash(rows[0])
    split = 1 << (len(rows) - 1).bit_length() - 1
    return node_hash(tree(rows[:split]), tree(rows[split:]))


def grown(rows: list[bytes]) -> Frontier:
    frontier = Frontier()
    for row in rows:
        frontier = frontier.append(row)
    return frontier


@given(HASHES)
def test_the_root_of_a_frontier_is_the_root_of_the_whole_tree(rows: list[bytes]) -> None:
    assert grown(rows).root() == tree(rows)


@given(HASHES)
def test_a_frontier_survives_its_bytes_and_stays_small(rows: list[bytes]) -> None:
    frontier = grown(rows)
    assert Frontier.from_bytes(frontier.to_bytes()) == frontier
    assert len(frontier.nodes) == len(rows).bit_count()


@pytest.mark.parametrize("data", [b"", bytes(7) + b"\x01", bytes(7) + b"\x02" + bytes(64), bytes(8) + bytes(31)])
def test_bytes_that_are_no_frontier_are_refused(data: bytes) -> None:
    if data == b"":
        assert Frontier.from_bytes(data) == Frontier()
        return
    with pytest.raises(ValueError, match="frontier"):
        Frontier.from_bytes(data)


def test_every_field_of_a_row_changes_its_hash() -> None:
    base = (GENESIS, 1, 2, UUID(int=3), UUID(int=4), 5, bytes(32))
    changes = (b"\x01" + GENESIS[1:], 2, 3, UUID(int=4), UUID(int=5), 6, bytes(31) + b"\x01")
    hashes = {row_hash(*base)}
    for place, change in enumerate(changes):
        hashes.add(row_hash(*base[:place], change, *base[place + 1 :]))  # type: ignore[arg-type]
    assert len(hashes) == len(changes) + 1
