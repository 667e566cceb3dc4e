"""A real Prometheus scrapes the worker and the sink: expressions return, and an outage raises its alert alone."""

import asyncio
import contextlib
import json
import shutil
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from consumer import topics
from consumer.stack import embedded_stack, process, sample
from consumer.stack.local import Service, services
from tests import databases
from tests.chart.test_dashboards import FILES, RULES, panels, rules
from tests.streaming import publisher, question
from tests.support import eventually

PROMETHEUS = shutil.which("prometheus")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(300),
    pytest.mark.skipif(PROMETHEUS is None, reason="prometheus is not installed"),
]

ASKED = "Who competes for 541512?"


class Prometheus:
    """The server's HTTP interface, version 1."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self.client = client

    async def data(self, path: str, **parameters: str) -> Any:
        """Raises AssertionError with what the server says when it refuses."""
        reply = await self.client.get(f"/api/v1/{path}", params=parameters)
        assert reply.is_success, reply.text  # one that is still starting says so in plain words
        return reply.json()["data"]

    async def query(self, expression: str) -> list[Any]:
        return (await self.data("query", query=expression))["result"]

    async def up(self) -> bool:
        with contextlib.suppress(httpx.TransportError):
            return [one["value"][1] for one in await self.query("up")] == ["1", "1"]
        return False

    async def alerts(self) -> set[str]:
        return {one["labels"]["alertname"] for one in (await self.data("alerts"))["alerts"]}


@contextlib.asynccontextmanager
async def prometheus(folder: Path, targets: Sequence[Service]) -> AsyncGenerator[Prometheus]:
    """One that scrapes and evaluates every second."""
    (port,) = process.free_ports(1)
    jobs = [
        {"job_name": f"planner-{one.name}", "static_configs": [{"targets": [one.url.removeprefix("http://")]}]}
        for one in targets
    ]
    config = folder / "prometheus.yml"
    every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    rules_file = folder / "rules.yml"
    rules_file.write_text(json.dumps(each_second(yaml.safe_load(RULES.read_text()))))
    config.write_text(json.dumps({"global": every, "rule_files": [str(rules_file)], "scrape_configs": jobs}))
    command = (
        str(PROMETHEUS), f"--config.file={config}", f"--storage.tsdb.path={folder / 'tsdb'}",
        f"--web.listen-address=127.0.0.1:{port}",
    )  # fmt: skip
    running = await process.start("prometheus", command, folder / "prometheus.log")
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=10) as client:
            yield Prometheus(client)
    finally:
        await running.kill()


def each_second(groups: dict[str, Any]) -> dict[str, Any]:
    """The same rules without an evaluation interval of their own."""
    for group in groups["groups"]:
        group.pop("interval", None)
    return groups


async def test_every_expression_returns_and_an_outage_of_postgres_raises_its_alert_alone(tmp_path: Path) -> None:
    async with embedded_stack() as stack:
        database = await databases.fresh(stack.postgres_url)
        settings = database.settings(stack.kafka_bootstrap, http_port=0)
        await topics.create_missing(settings)
        await sample.load(settings)
        async with (
            services(settings, tmp_path) as running,
            prometheus(tmp_path, running) as server,
            publisher(stack.kafka_bootstrap) as producer,
        ):
            await eventually(server.up, 30)

            async def ask() -> None:
                _, value = question(ASKED, sample.TENANT, deadline_ms=120_000)
                await producer.send_and_wait(settings.topic_questions, value, key=sample.TENANT.bytes)

            async def settled() -> bool:
                found = await server.query("sum(planner_questions_total)")
                return bool(found) and float(found[0]["value"][1]) >= 5

            for _ in range(5):
                await ask()
            await eventually(settled, 30)
            for rule in rules():
                await server.query(rule["expr"])
            await eventually(lambda: shown(server), 30)  # a rate needs a second sample
            assert await server.alerts() == set()

            await stack.postgres.kill()
            for _ in range(5):
                await ask()
            await eventually(server.alerts, 60)
            await asyncio.sleep(5)  # for others to be raised too, were they wrong
            assert await server.alerts() == {"PlannerDatabaseAway"}


async def shown(server: Prometheus) -> bool:
    """Each dashboard shows the running service in some panel; a wrong label would leave it empty."""
    for file in FILES:
        wanted = [target["expr"] for panel in panels(file) for target in panel["targets"]]
        found = [await server.query(filled(expression)) for expression in wanted]
        assert any(found), file.name
    return True


def filled(expression: str) -> str:
    """With values in the place of the dashboard's variables."""
    return expression.replace("$__rate_interval", "5m").replace("$job", ".*")
