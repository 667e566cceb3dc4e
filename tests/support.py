"""What many tests share and is no fixture: where the shared input lies, and waiting for a condition."""

import asyncio
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
"""Files beside the checkout that tests may read; absent on most machines (take the fixture `shared`, which skips)."""


async def eventually(condition: Callable[[], Any], seconds: float = 15.0, every: float = 0.02) -> Any:
    """Calls `condition` (plain or async) until what it returns is true, and returns that.

    Raises `AssertionError` with the last value when the time is up. An AssertionError of the condition counts as false,
    so a condition may assert.
    """
    loop = asyncio.get_running_loop()
    end = loop.time() + seconds
    while True:
        try:
            last = condition()
            if inspect.isawaitable(last):
                last = await last
        except AssertionError as error:
            last, doubt = None, error
        else:
            doubt = None
        if last:
            return last
        if loop.time() >= end:
            raise AssertionError(f"not within {seconds:g} s: {doubt or f'last value {last!r}'}")
        await asyncio.sleep(every)


async def answers(client: httpx.AsyncClient, url: str) -> bool:
    """Whether a server is there and content."""
    try:
        return (await client.get(url)).is_success
    except httpx.TransportError:
        return False
