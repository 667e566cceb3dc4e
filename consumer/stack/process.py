"""A server of ours as a process: started on a leash in its own process group, paused, killed and awaited by tests."""

import asyncio
import os
import random
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from consumer.stack import leash

LEASH = Path(leash.__file__)
KILL_WAIT_SECONDS = 10.0


@dataclass(frozen=True)
class Running:
    """One started server. Its process group is its own, so a signal to it reaches its children and not us."""

    name: str
    process: asyncio.subprocess.Process
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def alive(self) -> bool:
        return self.process.returncode is None

    def send(self, number: signal.Signals) -> None:
        """Sends a signal to the whole group; to one that already ended it does nothing."""
        if self.alive:
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:
                return

    async def kill(self) -> None:
        """kill -9 of the whole group, and waits until it is gone. Works on a stopped one too."""
        self.send(signal.SIGKILL)
        async with asyncio.timeout(KILL_WAIT_SECONDS):
            await self.process.wait()

    async def stop(self, number: signal.Signals, seconds: float) -> None:
        """Asks the server itself to end, and kills the group when it has not after `seconds`."""
        if not self.alive:
            return
        self.send(signal.SIGCONT)
        self.process.send_signal(number)
        try:
            async with asyncio.timeout(seconds):
                await self.process.wait()
        except TimeoutError:
            await self.kill()

    def last_words(self, lines: int = 5) -> str:
        """The end of its log, for the message when it does not start."""
        try:
            text = self.log.read_text(encoding="utf-8", errors="replace")
        except OSError:
            return "it wrote no log"
        return " | ".join(text.strip().splitlines()[-lines:]) or "its log is empty"


async def start(
    name: str,
    command: Sequence[str | Path],
    log: Path,
    death_signal: signal.Signals = signal.SIGKILL,
    uid: int = leash.KEEP_USER,
    variables: Mapping[str, str] | None = None,
) -> Running:
    """Starts `command` so that it gets `death_signal` when this process is gone, however it went. It inherits our
    environment, `variables` added.

    Must be called from the main thread: the kernel ties the leash to the thread that started the child.
    """
    arguments = [str(part) for part in command]
    holder = [sys.executable, "-I", "-S", str(LEASH), str(os.getpid()), str(int(death_signal)), str(uid)]
    with log.open("ab") as output:
        process = await asyncio.create_subprocess_exec(
            *holder,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            env={**os.environ, **(variables or {})},
        )
    return Running(name, process, log)


def free_ports(count: int) -> list[int]:
    """Loopback ports that nobody listens on, below the range from which the kernel picks ports of outgoing connections
    (32768 and up on Linux), so that a server that is killed finds its port still free when it starts again."""
    found: list[int] = []
    held: list[socket.socket] = []
    candidates = random.Random(os.urandom(8)).sample(range(20_000, 32_000), 500)
    for port in candidates:
        if len(found) == count:
            break
        probe = socket.socket()
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            probe.close()
            continue
        held.append(probe)
        found.append(port)
    for probe in held:
        probe.close()
    return found


def is_free(port: int) -> bool:
    """Whether a server could listen on `port` of loopback now; 0 never counts as one."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: TIME_WAIT is no hindrance
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return port != 0
