"""Apache Kafka in KRaft mode as a child of ours: one broker to work against, or three whose loss tests can cause.

Every broker is controller as well, its data a folder of its own. Not for production: no authentication, loopback only.
"""

import asyncio
import shutil
import signal
import uuid
from base64 import urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError

from consumer.errors import Misconfigured
from consumer.stack import jars, process

HEAP_MB = 512
FORMAT_SECONDS = 60.0
READY_SECONDS = 90.0
READY_POLL_SECONDS = 0.1
STOP_SECONDS = 20.0
INTERNAL_PARTITIONS = 8  # of the offsets and transaction topics; the default 50 makes the first use slow


@dataclass
class Broker:
    """One broker of the cluster, which tests may kill, pause, resume and start again on its port and data."""

    node: int
    port: int
    folder: Path
    command: tuple[str, ...]
    running: process.Running | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        """The process id. Raises `RuntimeError` when it was never started."""
        return self._started().pid

    async def start(self) -> None:
        """Starts the process; `Cluster.ready` tells when it answers."""
        self.running = await process.start(f"kafka {self.node}", self.command, self.folder / "broker.log")

    async def kill(self) -> None:
        """kill -9: no goodbye to the controller, no flush."""
        await self._started().kill()

    def pause(self) -> None:
        """SIGSTOP: the sockets stay open and nothing answers, as behind a partitioned network."""
        self._started().send(signal.SIGSTOP)

    def resume(self) -> None:
        self._started().send(signal.SIGCONT)

    async def stop(self) -> None:
        """SIGTERM, a controlled shutdown; killed when it takes longer than STOP_SECONDS."""
        if self.running:
            await self.running.stop(signal.SIGTERM, STOP_SECONDS)

    def _started(self) -> process.Running:
        if self.running is None:
            raise RuntimeError(f"broker {self.node} was never started")
        return self.running


@dataclass
class Cluster:
    """Brokers that form one cluster."""

    brokers: tuple[Broker, ...] = field(default_factory=tuple)

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.address for broker in self.brokers)

    async def ready(self, seconds: float = READY_SECONDS) -> None:
        """Returns when every broker that runs knows every other one that runs and one of them is the controller.

        Raises `Misconfigured` with the end of the broker's log when one ended or the time is up.
        """
        up = [broker for broker in self.brokers if broker.running and broker.running.alive]
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(_answers(broker, len(up)) for broker in up))
        except TimeoutError:
            words = up[0].running.last_words() if up and up[0].running else "no broker runs"
            raise Misconfigured(f"Kafka did not answer within {seconds:g} s: {words}") from None

    async def stop(self) -> None:
        """Stops all brokers side by side."""
        await asyncio.gather(*(broker.stop() for broker in self.brokers))

    async def kill(self) -> None:
        await asyncio.gather(*(b.running.kill() for b in self.brokers if b.running and b.running.alive))


async def start(folder: Path, brokers: int = 1) -> Cluster:
    """Starts `brokers` brokers with their data under `folder` and waits until they answer.

    Raises `Misconfigured` without the embedded extra or when a broker does not start, `Unreachable` when its jars
    can't be fetched.
    """
    java = jars.java()
    class_path = ":".join(map(str, await asyncio.to_thread(jars.class_path)))
    cluster = Cluster(_brokers(folder, brokers, java, class_path))
    try:
        await asyncio.gather(*(_format(broker, java, class_path, folder) for broker in cluster.brokers))
        await asyncio.gather(*(broker.start() for broker in cluster.brokers))
        await cluster.ready()
    except BaseException:
        await asyncio.shield(cluster.kill())
        raise
    return cluster


def _brokers(folder: Path, count: int, java: Path, class_path: str) -> tuple[Broker, ...]:
    ports = process.free_ports(2 * count)
    voters = ",".join(f"{node}@127.0.0.1:{ports[2 * node - 1]}" for node in range(1, count + 1))
    made: list[Broker] = []
    for node in range(1, count + 1):
        home = folder / f"kafka-{node}"
        home.mkdir(parents=True, exist_ok=True)
        port, controller = ports[2 * node - 2], ports[2 * node - 1]
        lines = (f"{name}={value}" for name, value in _properties(node, port, controller, voters, home, count).items())
        properties = home / "server.properties"
        properties.write_text("\n".join(lines) + "\n")
        made.append(Broker(node, port, home, (*_java(java, class_path), "kafka.Kafka", str(properties))))
    return tuple(made)


def _java(java: Path, class_path: str) -> tuple[str, ...]:
    return (
        str(java),
        f"-Xmx{HEAP_MB}m",
        "-Xms128m",
        "-XX:+UseSerialGC",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "--enable-native-access=ALL-UNNAMED",
        "-cp",
        class_path,
    )


def _properties(node: int, port: int, controller: int, voters: str, home: Path, count: int) -> Mapping[str, object]:
    """The settings of one broker. With three, every topic has three replicas and needs two to accept a write, so that
    losing one broker loses nothing and stops nothing."""
    replicas = min(3, count)
    insync = max(1, replicas - 1)
    return {
        "process.roles": "broker,controller",
        "node.id": node,
        "controller.quorum.voters": voters,
        "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "log.dirs": home / "data",
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": insync,
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": INTERNAL_PARTITIONS,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": insync,
        "transaction.state.log.num.partitions": INTERNAL_PARTITIONS,
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": insync,
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1_000,
        "log.cleaner.dedupe.buffer.size": 16_777_216,  # the default 128 MB is a quarter of the heap
        "broker.session.timeout.ms": 6_000,
        "broker.heartbeat.interval.ms": 1_000,
        "num.network.threads": 2,
        "num.io.threads": 4,
    }


async def _format(broker: Broker, java: Path, class_path: str, folder: Path) -> None:
    if (broker.folder / "data" / "meta.properties").exists():
        return
    command = (*_java(java, class_path), "kafka.tools.StorageTool", "format", "--cluster-id", _cluster_id(folder))
    log = broker.folder / "format.log"
    tool = await process.start(
        f"kafka format {broker.node}", (*command, "--config", str(broker.folder / "server.properties")), log
    )
    try:
        async with asyncio.timeout(FORMAT_SECONDS):
            code = await tool.process.wait()
    except TimeoutError:
        await tool.kill()
        raise Misconfigured(f"formatting {broker.folder} took longer than {FORMAT_SECONDS:g} s") from None
    if code != 0:
        shutil.rmtree(broker.folder / "data", ignore_errors=True)
        raise Misconfigured(f"Kafka could not format {broker.folder}: {tool.last_words()}")


def _cluster_id(folder: Path) -> str:
    """Kafka's form of a UUID: 16 bytes in URL safe base64. The same for all brokers under one folder."""
    return urlsafe_b64encode(uuid.uuid5(uuid.NAMESPACE_URL, str(folder)).bytes).decode().rstrip("=")


async def _answers(broker: Broker, expected: int) -> None:
    """Waits until the broker's own metadata names `expected` brokers and a controller."""
    while True:
        if broker.running is None or not broker.running.alive:
            words = broker.running.last_words() if broker.running else "never started"
            raise Misconfigured(f"Kafka broker {broker.node} ended at its start: {words}")
        if await _knows(broker.address, expected):
            return
        await asyncio.sleep(READY_POLL_SECONDS)


async def _knows(address: str, expected: int) -> bool:
    host, port = address.split(":")
    try:  # aiokafka logs an error for each refused connection, so knock first
        _, writer = await asyncio.open_connection(host, int(port))
        writer.close()
    except OSError:
        return False
    admin = AIOKafkaAdminClient(bootstrap_servers=address, request_timeout_ms=2_000)
    try:
        await admin.start()
        description = await admin.describe_cluster()
        return len(description["brokers"]) >= expected and description["controller_id"] >= 0
    except (KafkaError, OSError):
        return False
    finally:
        await admin.close()
