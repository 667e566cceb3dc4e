"""Fixtures of every test: the real parts, fresh topics, fresh migrated databases, the shared input.

`topics` and `database` belong to one test alone, so tests run side by side and in any order.
"""

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from consumer.stack import reach
from tests import databases, parts
from tests.databases import Database
from tests.support import SHARED

PARTITIONS = 4


class Topics(NamedTuple):
    """Names of a test's own topics."""

    questions: str
    answers: str
    audit: str
    dlt: str


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--chart-e2e", action="store_true", help="send the chart to a real Kubernetes API server")


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput"):
        factory = getattr(session.config, "_tmp_path_factory", None)
        if factory is not None:
            parts.stop(Path(factory.getbasetemp()))


@pytest.fixture(scope="session")
def real_parts(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> parts.Parts:
    """Kafka and PostgreSQL: named by the environment, in containers, or embedded; one pair a session."""
    if given := parts.named():
        return given
    base = tmp_path_factory.getbasetemp()
    worker = hasattr(request.config, "workerinput")
    return parts.shared(base.parent if worker else base, os.getppid() if worker else os.getpid())


@pytest.fixture(scope="session")
def kafka_bootstrap(real_parts: parts.Parts) -> str:
    return real_parts.kafka_bootstrap


@pytest.fixture(scope="session")
def postgres_url(real_parts: parts.Parts) -> str:
    """The superuser's URL."""
    return real_parts.postgres_url


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of shared input beside the checkout."""
    if not (SHARED / "data").is_dir():
        pytest.skip(f"{SHARED} is not there")
    return SHARED


@pytest.fixture
def open_folder() -> Generator[Path]:
    """A folder that other users may enter, unlike tmp_path: embedded Postgres runs as nobody when we are root."""
    made = Path(tempfile.mkdtemp(dir=reach.base()))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
async def make_topics(kafka_bootstrap: str) -> AsyncGenerator[Callable[..., Coroutine[Any, Any, Topics]]]:
    """`await make_topics(partitions=6)` gives a set of fresh topics, which go when the test does."""
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    made: list[str] = []

    async def make(partitions: int = PARTITIONS) -> Topics:
        stem = f"t{uuid.uuid4().hex[:10]}"
        topics = Topics(
            *(f"{stem}.{kind}.v1" for kind in ("questions", "answers", "audit")), f"{stem}.questions.v1-dlt"
        )
        await admin.create_topics([NewTopic(name, partitions, 1) for name in topics])
        made.extend(topics)
        return topics

    try:
        yield make
        if made:
            await admin.delete_topics(made)
    finally:
        await admin.close()


@pytest.fixture
async def topics(make_topics: Callable[..., Coroutine[Any, Any, Topics]]) -> Topics:
    """The four topics of one test, PARTITIONS partitions each."""
    return await make_topics()


@pytest.fixture
def database(postgres_url: str) -> Generator[Database]:
    """A fresh migrated database of one test."""
    made = databases.run(databases.fresh(postgres_url))
    yield made
    databases.run(databases.drop(postgres_url, made))


@pytest.fixture(scope="module")
def module_database(postgres_url: str) -> Generator[Database]:
    """A fresh migrated database that the tests of one file share."""
    made = databases.run(databases.fresh(postgres_url))
    yield made
    databases.run(databases.drop(postgres_url, made))


@pytest.fixture(scope="session")
def market_database(postgres_url: str, shared: Path) -> Database:
    """The files of shared/data loaded once: read it, never write it. Tenants are those of tests.market."""
    return databases.run(databases.market(postgres_url))
