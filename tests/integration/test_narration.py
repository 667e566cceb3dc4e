"""The words of a model over real HTTP and real rows: true slots ship, and of all the ways to lie none does."""

import json
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import date
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from consumer.deadline import Deadline
from consumer.evaluate import Case, read_cases
from consumer.planner.answer import Asked
from consumer.service import Answerer, answerer
from consumer.settings import Settings
from schemas import Answer
from schemas.answer import Faithfulness, RationaleSource
from tests import lies, slots
from tests.databases import Database
from tests.integration.test_inference_http import Model, serving
from tests.market import TENANT
from tests.support import ROOT

pytestmark = pytest.mark.integration

SCOPES = frozenset({"market:read", "graph:read", "bench:read", "docs:read"})
EACH = 8
"""Questions that a way to lie is tried on."""
Narrate = Callable[[str], str]


class Server(Model):
    """Proposes the labelled intents, and narrates as the test says from the prompt it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.intents: Sequence[str] = ()
        self.narrate: Narrate = str
        self.prompts: list[str] = []
        self.rng = random.Random(20)

    async def reply(self, request: Request) -> Response:
        body: dict[str, Any] = await request.json()
        if "response_format" in body:
            offered = body["response_format"]["json_schema"]["schema"]["properties"]["intents"]["items"]["enum"]
            text = json.dumps({"intents": [name for name in self.intents if name in offered]})
        else:
            self.prompts.append(body["messages"][0]["content"])
            text = self.narrate(self.prompts[-1])
        message = {"role": "assistant", "content": text}
        return JSONResponse({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})

    def honest(self, prompt: str) -> str:
        return slots.honest(prompt, self.rng)


@asynccontextmanager
async def narrated(database: Database) -> AsyncGenerator[tuple[Server, Answerer]]:
    async with serving(Server()) as server:
        assert isinstance(server, Server)
        settings = Settings(
            database_url=database.worker_url, inference="openai", inference_url=server.url, inference_model="slots"
        )
        async with answerer(settings) as made:
            yield server, made


async def ask(made: Answerer, question: str) -> Answer:
    asked = Asked(
        question_id=uuid4(), tenant_id=TENANT, event_id=uuid4(), question=question, intent=None, scopes=SCOPES,
        as_of=date(2026, 12, 1),
    )  # fmt: skip
    answer, _ = await made.planner.answer(asked, Deadline.after(30))
    return answer


def labelled(shared: Path) -> Iterator[Case]:
    for file in (ROOT / "tests" / "cases" / "questions.jsonl", shared / "cases" / "questions.jsonl"):
        yield from (case for case in read_cases(file) if case.expect == "answer" and case.intents)


async def test_true_slots_ship_and_no_lie_does(market_database: Database, shared: Path) -> None:
    shipped: Counter[str] = Counter()
    told: Counter[str] = Counter()
    accepted: list[tuple[str, str, str]] = []
    async with narrated(market_database) as (server, made):
        for case in labelled(shared):
            server.intents = case.intents or ()
            server.narrate = server.honest
            answer = await ask(made, case.question)
            if not answer.evidence:
                continue
            shipped[answer.rationale_source.value] += 1
            server.narrate = lambda _: ""
            rendered = await ask(made, case.question)
            for lie in false(made, rendered):
                if told[lie.way] < EACH:
                    told[lie.way] += 1
                    server.narrate = lambda _, text=lie.text: text
                    answer = await ask(made, case.question)
                    assert answer.faithfulness in (Faithfulness.REPLACED, Faithfulness.PASSED)
                    if answer.rationale_source is not RationaleSource.DETERMINISTIC or answer.answer != rendered.answer:
                        accepted.append((lie.way, lie.text, answer.answer))
    print(f"{shipped['model']} of {shipped.total()} narrations shipped, {len(accepted)} of {told.total()} lies")
    assert accepted == []
    assert len(told) > 50, "ways to lie"
    assert shipped["model"] >= 0.95 * shipped.total() > 100


def false(made: Answerer, answer: Answer) -> Iterator[lies.Lie]:
    for evidence in answer.evidence:
        if evidence.rows:
            intent = made.planner.registry.by_name[evidence.intent]
            yield from lies.lies(lies.material(evidence, intent.noun[0], intent.columns), answer.answer)
