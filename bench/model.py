"""A model server of the bench: chat completions over real HTTP that take their time and name what they are offered.

Its samples agree but for a share of them, which leave a name out, as a model's do at a low temperature.
"""

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncGenerator
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from consumer.observe import health

HOST = "127.0.0.1"
NAMES = 3


class Model:
    """Answers each call after `seconds`, and `slow_share` of the questions after `slow_seconds`; one sample in `of`
    differs, none for 0. Counts its calls."""

    def __init__(self, seconds: float, slow_seconds: float = 0.0, slow_share: float = 0.0, of: int = 0) -> None:
        self.seconds, self.slow_seconds, self.slow_share, self.of = seconds, slow_seconds, slow_share, of
        self.calls = 0

    async def complete(self, request: Request) -> JSONResponse:
        self.calls += 1
        body: dict[str, Any] = await request.json()
        asked = hashlib.sha256(body["messages"][-1]["content"].encode()).digest()
        await asyncio.sleep(self.slow_seconds if asked[0] < 256 * self.slow_share else self.seconds)
        offered = body["response_format"]["json_schema"]["schema"]["properties"]["intents"]["items"]["enum"]
        differs = self.of > 0 and (asked[1] + body["seed"]) % self.of == 0
        names = offered[: NAMES - differs]
        message = {"role": "assistant", "content": json.dumps({"intents": names})}
        return JSONResponse({"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})


@contextlib.asynccontextmanager
async def serving(model: Model) -> AsyncGenerator[str]:
    """Serves the model on a free port; yields its base URL."""
    page = Starlette(routes=[Route("/v1/chat/completions", model.complete, methods=["POST"])])
    async with health.serve(page, HOST, 0) as port:
        yield f"http://{HOST}:{port}/v1"
