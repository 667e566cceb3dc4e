# ruff: noqa: E501 records read best a line each
"""The console's pages: nothing of the data is markup, nothing comes from elsewhere, every page is data too."""

from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

import httpx
import pytest

from consumer import service
from consumer import settings as configuration
from consumer.asker import Asker
from consumer.console import pages
from consumer.console.app import Parts, console
from consumer.deadline import Deadline
from consumer.explanation import explain
from schemas import Answer, Column, Evidence
from schemas.answer import Faithfulness, RationaleSource, Route, Status

TENANT = UUID(int=7)
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=y>"


@pytest.fixture
async def client() -> AsyncGenerator[httpx.AsyncClient, None]:
    async def trail() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        event = {
            "recorded_at": "now", "chain_id": 0, "seq": 1, "intents": [HOSTILE], "param_kinds": [], "suppressed_cells": 0,
            "faithfulness": "passed", "outcome": "stable",
        }  # fmt: skip
        return [event], [{"chain_id": 0, "size": 2, "head": "ab"}]

    async with service.judge(configuration.load({})) as judge:
        # pages that are only read need no Kafka; asking is tested against a real one
        parts = Parts(judge, cast(Asker, None), trail, TENANT, "", ("market:read",))
        transport = httpx.ASGITransport(console(parts))
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as made:
            yield made


PAGES = ["/", "/registry", "/registry/market.competitors", "/audit"]


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_whole_guarded_and_takes_nothing_from_elsewhere(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)
    assert response.status_code == 200
    assert response.headers["content-security-policy"].startswith("default-src 'none'")
    assert response.headers["x-content-type-options"] == "nosniff"
    assert "<script" not in response.text and " style=" not in response.text
    assert "http://" not in response.text and "https://" not in response.text
    assert '<html lang="en">' in response.text and "<h1>" in response.text


@pytest.mark.parametrize("path", ["/registry.json", "/registry/market.competitors.json", "/audit.json"])
async def test_a_page_is_data_too(client: httpx.AsyncClient, path: str) -> None:
    response = await client.get(path)
    assert response.status_code == 200
    assert response.json()


async def test_a_form_of_another_site_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.post("/", data={"question": "x"}, headers={"sec-fetch-site": "cross-site"})
    assert response.status_code == 403


async def test_what_is_no_question_says_so(client: httpx.AsyncClient) -> None:
    response = await client.post("/", data={"question": " "})
    assert response.status_code == 400
    assert 'role="alert"' in response.text
    assert (await client.post("/ask.json", content=b"[")).status_code == 400
    assert (await client.get("/registry/eeo.person")).status_code == 404


async def test_nothing_of_question_or_data_is_markup() -> None:
    async with service.judge(configuration.load({})) as judge:
        judged = await judge.judge(HOSTILE, None, frozenset(), Deadline.after(5))
        explanation = explain(HOSTILE, judged, judge)
    evidence = Evidence(
        id="e1", intent="x", plane="market", columns=(Column(name="vendor", type="entity"), Column(name="share", type="percent")),
        rows=((HOSTILE, "12.5"), ("B", "withheld")), complete=True, suppressed_cells=1,
    )  # fmt: skip
    answer = Answer(
        question_id=UUID(int=1), tenant_id=TENANT, status=Status.ANSWERED, route=Route.INTENT, answer=HOSTILE,
        rationale_source=RationaleSource.MODEL, evidence=(evidence,), faithfulness=Faithfulness.PASSED,
        registry_digest="sha256:00", answered_at=datetime.now(UTC), elapsed_ms=1,
    )  # fmt: skip
    html = pages.page(HOSTILE, HOSTILE, pages.answered(answer, explanation))
    assert "<script" not in html and "<img" not in html
    assert '<td class="withheld">withheld</td>' in html
    assert 'value="12.5"' in html
