"""The hash chain of one audit partition, and the Merkle tree over it. Pure: bytes in, bytes out.

A row's hash covers the hash before it, its coordinates and the exact bytes that were consumed, so an edited,
removed or reordered row breaks the chain at that row. The tree is RFC 6962's (section 2.1): its root at a size
commits to every row up to that size in 32 bytes, small enough to publish outside the database. SHA-256 only
(FIPS 180-4). The database recomputes `row_hash` in a CHECK; both spellings must stay the same.
"""

import struct
from collections.abc import Iterable
from hashlib import sha256
from uuid import UUID

from msgspec import Struct

GENESIS = bytes(32)
"""What the first row of a chain links to."""


class Link(Struct, frozen=True):
    """The end of a chain: how many rows it has and the hash of the last one (`GENESIS` when empty)."""

    size: int = 0
    head: bytes = GENESIS


def row_hash(
    previous: bytes, chain_id: int, seq: int, event_id: UUID, tenant_id: UUID, offset: int, body_hash: bytes
) -> bytes:
    """SHA-256 over the fields in network byte order, as `int4send`, `int8send` and `uuid_send` write them."""
    fields = struct.pack(">iq16s16sq", chain_id, seq, event_id.bytes, tenant_id.bytes, offset)
    return sha256(previous + fields + body_hash).digest()


def leaf_hash(row: bytes) -> bytes:
    return sha256(b"\x00" + row).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    return sha256(b"\x01" + left + right).digest()


class Frontier(Struct, frozen=True):
    """The compact range of a tree: one hash for each set bit of `size`, largest subtree first.

    Invariant: `len(nodes) == size.bit_count()`. Adding a leaf costs O(1) hashes on average and the state is
    O(log size), so the sink keeps it beside the head and never rereads the chain.
    """

    size: int = 0
    nodes: tuple[bytes, ...] = ()

    def append(self, row: bytes) -> "Frontier":
        """The tree with one more row hash."""
        return self.extend((row,))

    def extend(self, rows: Iterable[bytes]) -> "Frontier":
        """The tree with these row hashes added in order."""
        nodes, size = list(self.nodes), self.size
        for row in rows:
            node, level = leaf_hash(row), size
            while level & 1:
                node = node_hash(nodes.pop(), node)
                level >>= 1
            nodes.append(node)
            size += 1
        return Frontier(size, tuple(nodes))

    def root(self) -> bytes:
        """The tree's root; of the empty tree the hash of nothing, as RFC 6962 has it."""
        if not self.nodes:
            return sha256().digest()
        root = self.nodes[-1]
        for node in reversed(self.nodes[:-1]):
            root = node_hash(node, root)
        return root

    def to_bytes(self) -> bytes:
        return self.size.to_bytes(8, "big") + b"".join(self.nodes)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Frontier":
        """Raises ValueError when the bytes are not a frontier."""
        size, nodes = int.from_bytes(data[:8], "big"), data[8:]
        if len(nodes) != 32 * size.bit_count():
            raise ValueError(f"a frontier of {size} rows has {size.bit_count()} nodes, not {len(nodes) / 32:g}")
        return cls(size, tuple(nodes[i : i + 32] for i in range(0, len(nodes), 32)))
