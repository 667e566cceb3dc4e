"""One group of a bench has 7 people. Everything that leaves the service is searched for that number."""

import asyncio
import json
import os
import re
import socket
import sys
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any

import asyncpg
import httpx
import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families

from consumer.bench.snapshot import publish_tenant
from consumer.deadline import Deadline
from consumer.observe import tracing
from consumer.service import answerer
from consumer.settings import Settings
from consumer.stream.handler import Failure
from consumer.stream.records import Received
from schemas import Question
from schemas.codec import encode
from schemas.question import Principal
from tests.conftest import Topics
from tests.databases import Database
from tests.integration.test_bench_counts import LATTICE, RULE, put
from tests.integration.test_inference_http import serving
from tests.integration.test_narration import Server
from tests.streaming import publish, publisher, read, settings_of
from tests.support import ROOT, eventually

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

FEW = 7
WORDS = {FEW: "seven"}
OPEN = {"SECRET": 60, "TS": 35, "TS_SCI": 43}
"""Levels whose counts are published."""
TIMES = frozenset("answered_at occurred_at elapsed_ms at".split())
PASSING = TIMES | frozenset("question_id tenant_id event_id audit_event_id registry_digest service_version".split())
"""Fields of times, identities and versions."""
AS_OF = date(2026, 12, 1)
TENANT = uuid.UUID("66666666-1111-4111-8111-111111111111")
REQUIREMENT = uuid.UUID("0b8f0c1e-5c2d-4c55-9a1e-2f6d3c4b5a69")
QUESTIONS = [
    "How many DOE Q people do we have?",
    "How many DOE Q people do we have within 6 months?",
    "Do we have at least 5 DOE Q people?",
    "Bench by clearance",
    "When are DOE Q people available?",
    "Which cleared people do we have for requirement {requirement}?",
    "Capture picture for requirement {requirement} at \"Department of the Navy\" under 541512",
    "Who competes for 541512 at \"Department of the Navy\", and how many DOE Q people do we have?",
    "What share of our people hold DOE Q?",
    "Show the roster rows of DOE Q",
]  # fmt: skip
SCOPES = ("market:read", "graph:read", "bench:read", "docs:read")
ASKED: dict[str, Any] = {"tenant": TENANT, "principal": {"subject": "asker", "scopes": SCOPES}}


def texts() -> list[str]:
    return [text.format(requirement=REQUIREMENT) for text in QUESTIONS]


@pytest.fixture
async def seeded(database: Database) -> Database:
    """A roster with 7 people of DOE Q, published by the default rule, and a requirement that asks for them."""
    connection = await asyncpg.connect(database.admin_url)
    levels = [level for level, count in {**OPEN, "DOE_Q": FEW}.items() for _ in range(count)]
    rows = [(f"R{n:03d}", "Linguist", level, [], [], date(2027, 1, 1)) for n, level in enumerate(levels)]
    await put(connection, TENANT, rows)
    await publish_tenant(connection, TENANT, LATTICE, RULE, AS_OF)
    await connection.execute(
        "INSERT INTO graph.requirement VALUES ($1, $2, $3, NULL, 'Keep the pile', 'DOE_Q', '{radar}', 3)",
        TENANT, REQUIREMENT, uuid.uuid4(),
    )  # fmt: skip
    await connection.close()
    return database


def says(text: str, number: int) -> bool:
    """Whether the number stands by itself, in digits or in words; 78 and 7.5 are others."""
    return bool(
        re.search(rf"(?<![\w.,-]){number}(?![\w]|[.,-]\w)|\b{WORDS.get(number, number)}\b", text, re.IGNORECASE)
    )


def found(value: Any, number: int = FEW, path: str = "") -> Iterator[str]:
    """Where the number stands in a document."""
    match value:
        case dict():
            for name, one in value.items():
                if name not in PASSING:
                    yield from found(one, number, f"{path}.{name}")
        case list() | tuple():
            for place, one in enumerate(value):
                yield from found(one, number, f"{path}[{place}]")
        case bool() | None:
            return
        case int() | float():
            if value == number:
                yield f"{path}: {value}"
        case _:
            if says(str(value), number):
                yield f"{path}: {value}"


class Worker:
    """A real worker process of its own topics."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path, port: int) -> None:
        self.process, self.log, self.url = process, log, f"http://127.0.0.1:{port}"

    async def page(self, path: str) -> tuple[int, str]:
        async with httpx.AsyncClient(trust_env=False) as client:
            try:
                answer = await client.get(self.url + path, timeout=5)
            except httpx.HTTPError:
                assert self.process.returncode is None, self.log.read_text()
                return 0, ""
            return answer.status_code, answer.text

    async def sevens(self) -> set[str]:
        """Names of the series that stand at the number, or say it in a label; buckets say their bounds."""
        _, text = await self.page("/metrics")
        return {
            f"{sample.name}{sorted(sample.labels.items())}"
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.value == FEW or any(says(v, FEW) for n, v in sample.labels.items() if n != "le")
        }


@asynccontextmanager
async def working(bootstrap: str, topics: Topics, database: Database, model: str, log: Path) -> AsyncGenerator[Worker]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    settings = settings_of(
        bootstrap, topics, database_url=database.worker_url, http_port=port, log_level="debug", inference="openai",
        inference_url=model, inference_model="slots",
    ) | {"PLANNER_HTTP_PORT": str(port)}  # fmt: skip
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("PLANNER_")}
    with log.open("wb") as lines:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "consumer", "worker", cwd=ROOT, env=inherited | settings, stdout=lines, stderr=lines
        )
    try:
        yield Worker(process, log, port)
    finally:
        if process.returncode is None:
            process.terminate()
        await asyncio.wait_for(process.wait(), 60)


async def test_no_output_of_the_worker_holds_the_number(
    kafka_bootstrap: str, topics: Topics, seeded: Database, tmp_path: Path
) -> None:
    log = tmp_path / "worker.log"
    async with serving(Server()) as model, publisher(kafka_bootstrap) as producer:
        assert isinstance(model, Server)
        model.narrate = model.honest
        model.intents = ("market.competitors", "bench.cleared_count")
        async with working(kafka_bootstrap, topics, seeded, model.url, log) as worker:
            await eventually(lambda: _ready(worker), 60)
            sent = await publish(producer, topics.questions, texts(), **ASKED)
            sent += await publish(producer, topics.questions, ["Bench by clearance"], **ASKED, deadline_ms=1)
            await producer.send_and_wait(topics.questions, b'{"question": "Bench by clearance"', key=b"broken")
            answers = await read(kafka_bootstrap, topics.answers, len(sent))
            letters = await read(kafka_bootstrap, topics.dlt, 1)
            before = await worker.sevens()
            sent += await publish(producer, topics.questions, texts()[:4], **ASKED)
            await read(kafka_bootstrap, topics.answers, len(sent))
            stuck = before & await worker.sevens()  # a counter that was there by chance went on
        events = [msgspec.json.decode(record.value or b"") for record in answers]
        audit = await read(kafka_bootstrap, topics.audit, 1, 20)
        assert len(events) == len(sent) - 4 and letters and audit
        assert any("suppressed to protect privacy" in event["answer"] for event in events)
        assert any(event["rationale_source"] == "model" for event in events)
        assert any(event["status"] == "failed" for event in events)
        assert list(found(events)) == []
        assert all(list(found(events, count)) for count in OPEN.values()), "the search finds what is there"
        assert list(found([msgspec.json.decode(record.value or b"") for record in audit])) == []
        assert list(found([(letter.value or b"").decode() for letter in letters])) == []
        headers = [value.decode("latin-1") for r in (*answers, *audit, *letters) for _, value in r.headers]
        assert list(found(headers)) == []
        assert list(found([json.loads(line) for line in log.read_text().splitlines()])) == []
        assert stuck == set()
        assert model.prompts and list(found(model.prompts)) == []


async def _ready(worker: Worker) -> bool:
    return (await worker.page("/readyz"))[0] == 200


async def test_no_row_that_the_worker_can_read_holds_the_number(seeded: Database) -> None:
    connection = await asyncpg.connect(seeded.worker_url)
    try:
        tables = await connection.fetch(
            "SELECT c.oid::regclass::text AS name FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
            "WHERE c.relkind IN ('r', 'p', 'v', 'm') AND n.nspname !~ '^(pg_|information_schema)' "
            "AND has_table_privilege(c.oid, 'SELECT')"
        )
        assert "bench.cell" in {table["name"] for table in tables}
        for table in [*(t["name"] for t in tables), "pg_stats", "pg_stats_ext"]:
            async with connection.transaction(readonly=True):
                await connection.execute("SELECT set_config('app.tenant_id', $1, true)", str(TENANT))
                only = " WHERE schemaname = 'bench'" if table.startswith("pg_") else ""
                rows = await connection.fetch(f"SELECT to_jsonb(t)::text FROM {table} AS t{only}")  # noqa: S608
            assert list(found([json.loads(row[0]) for row in rows])) == [], table
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch("SELECT count(*) FROM bench.person")
    finally:
        await connection.close()


async def test_no_span_and_no_error_holds_the_number(seeded: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("opentelemetry.sdk.trace")
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing.trace, "get_tracer", provider.get_tracer)
    monkeypatch.setattr(tracing.trace, "get_tracer_provider", lambda: provider)
    said: list[str] = []
    async with answerer(Settings(database_url=seeded.worker_url)) as made:
        for offset, text in enumerate(texts()):
            asked = Question(
                question_id=uuid.uuid4(), tenant_id=TENANT, question=text,
                principal=Principal(subject="asker", scopes=SCOPES),
            )  # fmt: skip
            received = Received("q", 0, 100 + offset, 0, None, b"{}", (), asyncio.get_running_loop().time())
            for seconds in (10.0, 0.0001):
                try:
                    await made.answer(asked, received, Deadline.after(seconds))
                except Exception as error:  # noqa: BLE001 whatever it is, its text is read
                    said += [str(error), repr(error), repr(error.__cause__)]
            said += [encode(made.failed(asked, received, failure)).decode() for failure in Failure]
    spans = [json.loads(span.to_json()) for span in exporter.get_finished_spans()]
    assert len(spans) > len(QUESTIONS)
    told = [
        {"name": s["name"], "attributes": s["attributes"], "events": s["events"], "status": s["status"]} for s in spans
    ]
    assert list(found(told)) == []
    assert (
        said
        and list(found([re.sub(r'"answered_at":"[^"]*"|[0-9a-f-]{36}|[0-9a-f]{64}', "", one) for one in said])) == []
    )
