"""What waits in one lane, served fairly."""

from collections import deque

from consumer.stream.records import Received


class Queue:
    """Records of one lane that wait, served in turn by key, so that one tenant's flood does not starve another.

    A record without a key has a turn like any key has. `bytes` and `len` count what waits.
    """

    def __init__(self) -> None:
        self._by_key: dict[bytes | None, deque[Received]] = {}
        self._turns: deque[bytes | None] = deque()
        self._length = 0
        self.bytes = 0

    def __len__(self) -> int:
        return self._length

    def put(self, received: Received) -> None:
        waiting = self._by_key.get(received.key)
        if waiting is None:
            waiting = self._by_key[received.key] = deque()
            self._turns.append(received.key)
        waiting.append(received)
        self._length += 1
        self.bytes += received.size_bytes

    def take(self) -> Received:
        """Raises IndexError when nothing waits."""
        key = self._turns.popleft()
        waiting = self._by_key[key]
        received = waiting.popleft()
        if waiting:
            self._turns.append(key)
        else:
            del self._by_key[key]
        self._length -= 1
        self.bytes -= received.size_bytes
        return received
