"""The console as a person meets it: a compound question in headless Chromium, in light and dark, checked by axe."""

import asyncio
import contextlib
import itertools
import json
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect

from consumer import topics
from consumer.settings import Settings
from consumer.stack import process, sample
from consumer.stack.local import Service, services, variables
from tests.conftest import Topics
from tests.databases import Database
from tests.support import answers, eventually

CHROMIUM = shutil.which("chromium")

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(240),
    pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed"),
]

ASKED = (
    'Who competes for 541512 at "Department of the Navy", what is up for recompete in 18 months, '
    "and do we have TS/SCI people for it?"
)
SUBMIT = "document.querySelector('[name=question]').value = {}; document.querySelector('main form').submit()"
TEXT = "document.body && document.body.innerText"
AXE = "axe-core@4"
SERIOUS = "axe.run().then(r => r.violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id))"


class Page:
    """One tab, over the browser's own protocol."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self.numbers = itertools.count(1)
        self.waiting: dict[int, asyncio.Future[Any]] = {}
        self.requested: list[str] = []
        self.reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        async for text in self.socket:
            said = json.loads(text)
            if said.get("method") == "Network.requestWillBeSent":
                self.requested.append(said["params"]["request"]["url"])
            if waiting := self.waiting.pop(said.get("id", 0), None):
                waiting.set_result(said)

    async def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        number = next(self.numbers)
        self.waiting[number] = asyncio.get_running_loop().create_future()
        await self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        said = await asyncio.wait_for(self.waiting[number], 60)
        assert "error" not in said, said
        return said["result"]

    async def evaluate(self, script: str) -> Any:
        found = await self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    async def shows(self, text: str) -> bool:
        return text in (await self.evaluate(TEXT) or "")

    async def screenshot(self, file: Path, scheme: str) -> bytes:
        await self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        made = b64decode((await self.call("Page.captureScreenshot", captureBeyondViewport=True))["data"])
        await asyncio.to_thread(file.write_bytes, made)
        return made


@contextlib.asynccontextmanager
async def browser(folder: Path) -> AsyncGenerator[Page]:
    (port,) = process.free_ports(1)
    command = (
        str(CHROMIUM), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
        "--disable-background-networking", f"--remote-debugging-port={port}", f"--user-data-dir={folder / 'profile'}",
        "--window-size=1200,1600", "about:blank",
    )  # fmt: skip
    running = await process.start("chromium", command, folder / "chromium.log")
    try:
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=5) as client:

            async def tab() -> str | None:
                with contextlib.suppress(httpx.TransportError):
                    tabs = (await client.get("/json")).json()
                    return next((one["webSocketDebuggerUrl"] for one in tabs if one["type"] == "page"), None)
                return None

            url = await eventually(tab, 60)
        async with connect(url, max_size=None) as socket:
            page = Page(socket)
            for domain in ("Page", "Network", "Runtime"):
                await page.call(f"{domain}.enable")
            yield page
            page.reading.cancel()
    finally:
        await running.kill()


@contextlib.asynccontextmanager
async def console(settings: Settings, folder: Path) -> AsyncGenerator[Service]:
    (port,) = process.free_ports(1)
    running = await process.start(
        "console",
        (sys.executable, "-m", "consumer", "console", f"--tenant={sample.TENANT}", f"--port={port}"),
        folder / "console.log",
        variables=variables(settings),
    )
    served = Service("console", running, f"http://127.0.0.1:{port}")
    try:
        async with httpx.AsyncClient(timeout=5) as client:
            await eventually(lambda: answers(client, served.url), 60)
        yield served
    finally:
        await running.kill()


@pytest.fixture
async def console_settings(kafka_bootstrap: str, topics: Topics, database: Database) -> Settings:
    made = database.settings(
        kafka_bootstrap, group=f"g.{topics.questions}", topic_questions=topics.questions,
        topic_answers=topics.answers, topic_audit=topics.audit, topic_dlt=topics.dlt, http_port=0,
    )  # fmt: skip
    await sample.load(made)
    return made


def axe(folder: Path) -> str | None:
    """The source of axe, where npm can get it."""
    npm = shutil.which("npm")
    command = [str(npm), "install", "--no-audit", "--no-fund", AXE]
    if npm and subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False).returncode == 0:
        return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    return None


async def test_a_compound_question_shows_plan_evidence_and_what_is_withheld(
    console_settings: Settings, tmp_path: Path
) -> None:
    await topics.create_missing(console_settings)
    checker = await asyncio.to_thread(axe, tmp_path)
    async with (
        services(console_settings, tmp_path),
        console(console_settings, tmp_path) as served,
        browser(tmp_path) as page,
    ):
        await page.call("Page.setBypassCSP", enabled=True)  # for axe; the page itself runs no script
        await page.call("Page.navigate", url=served.url)
        await eventually(lambda: page.evaluate("!!document.querySelector('[name=question]')"))
        await page.evaluate(SUBMIT.format(json.dumps(ASKED)))
        await eventually(lambda: page.shows("market.competitors"), 40)
        for text in ("market.recompetes", "bench.cleared_count", "QUILLHAVEN", "withheld", "TS/SCI", "541512"):
            assert await page.shows(text), text
        pictures = {await page.screenshot(tmp_path / f"{s}.png", s) for s in ("light", "dark")}
        assert len(pictures) == 2, "dark looks like light"
        if checker:
            await page.evaluate(checker)
            for scheme in ("light", "dark"):
                await page.screenshot(tmp_path / f"{scheme}.png", scheme)
                assert await page.evaluate(SERIOUS) == [], scheme
        strangers = {one for one in page.requested if urlsplit(one).hostname not in ("127.0.0.1", "", None)}
        assert strangers == set()
