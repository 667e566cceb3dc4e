"""The offsets of one partition that are settled out of order.

Kafka commits one number a partition: everything below is done. A slow question would hold that number back and let a
crash repeat all that finished after it. So the number committed is the lowest offset still pending, and the commit's
metadata, in the same transaction, carries which offsets above it are pending and which are settled.

Invariants: `pending` is in ascending order; `end` is one past the highest offset read; an offset below `end` that is
not pending is settled, or never was a record (transaction markers and aborted records take offsets too).
"""

import base64
import binascii
from collections import deque

VERSION = "1"
MAX_METADATA_BYTES = 4_096
"""The broker's default `offset.metadata.max.bytes`; a longer one is refused with the whole commit."""
MAX_PENDING = 600
"""Reading stops here, which keeps the metadata short whatever settles first: a pending offset costs at most a run of
one (1 byte) and the gap before it (4 bytes below 2^28), so 600 of them 3,000 bytes, or 4,000 characters of base64."""


class Ledger:
    """State of one partition while we own it. `read` and `settle` take O(1) each, on average."""

    def __init__(self, watermark: int, pending: tuple[int, ...] = (), end: int | None = None) -> None:
        self.end = watermark if end is None else end
        self.pending = dict.fromkeys(pending)
        self._unread = deque(pending)

    @classmethod
    def resume(cls, watermark: int, metadata: str) -> "Ledger":
        """The ledger that an earlier owner committed. Metadata of another tool, or none, means all above is unread."""
        runs = _decode(metadata)
        pending: list[int] = []
        offset = watermark
        for place, length in enumerate(runs):
            if place % 2 == 0:
                pending.extend(range(offset, offset + length))
            offset += length
        return cls(watermark, tuple(pending), offset)

    @property
    def watermark(self) -> int:
        """The offset to commit: the lowest that is pending, or the end."""
        return next(iter(self.pending), self.end)

    def read(self, offset: int) -> bool:
        """Notes that the record at `offset` arrived, in ascending order; whether it is to be answered now.

        One that is settled, or that arrived before and is still pending, is not.
        """
        while self._unread and self._unread[0] < offset:
            # It was pending and the log no longer has it (retention): nobody can answer it.
            self.pending.pop(self._unread.popleft(), None)
        if self._unread and self._unread[0] == offset:
            self._unread.popleft()
            return True
        if offset < self.end:
            return False
        self.pending[offset] = None
        self.end = offset + 1
        return True

    def settle(self, offset: int) -> None:
        """Notes that the record at `offset` has its answer or dead letter."""
        self.pending.pop(offset, None)

    def metadata(self) -> str:
        """What goes beside the watermark: lengths of runs, pending and settled in turn, as base64 of varints."""
        if not self.pending:
            return ""
        runs = [0]
        expected = self.watermark
        for offset in self.pending:
            if offset != expected:
                runs += [offset - expected, 0]
            runs[-1] += 1
            expected = offset + 1
        if self.end > expected:
            runs.append(self.end - expected)
        return _encode(runs)

    @property
    def full(self) -> bool:
        """Whether reading must wait until some of what is pending settles."""
        return len(self.pending) >= MAX_PENDING

    @property
    def position(self) -> int:
        """The offset to read next: the first that an earlier owner left pending and we have not read, or the end."""
        return self._unread[0] if self._unread else self.end


def _encode(runs: list[int]) -> str:
    data = bytearray()
    for run in runs:
        value = run
        while value > 0x7F:
            data.append(value & 0x7F | 0x80)
            value >>= 7
        data.append(value)
    return f"{VERSION}:{base64.b64encode(bytes(data)).decode().rstrip('=')}" if runs else ""


def _decode(metadata: str) -> list[int]:
    version, _, text = metadata.partition(":")
    if version != VERSION:
        return []
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except binascii.Error:
        return []
    runs: list[int] = []
    value = shift = 0
    for byte in data:
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            runs.append(value)
            value = shift = 0
    return runs if shift == 0 else []
