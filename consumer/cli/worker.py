"""`planner worker`: the process that answers questions."""

import asyncio
import gc
import signal

from consumer import service
from consumer.cli import Configured
from consumer.observe import health, logs, metrics
from consumer.settings import Settings
from consumer.stream.handler import handler
from consumer.stream.records import Handler, Routes
from consumer.stream.service import streaming


async def worker(*, settings: Configured) -> None:
    """Answers questions until SIGTERM or Ctrl-C, then finishes what is in flight and leaves.

    Reads PLANNER_TOPIC_QUESTIONS as the group PLANNER_GROUP, queries as PLANNER_DATABASE_URL, and serves /metrics,
    /livez and /readyz on PLANNER_HTTP_PORT.
    """
    logs.configure(settings.log_level)
    async with service.answerer(settings) as answerer:
        _settle_memory()
        handle = handler(answerer, Routes.of(settings), settings.max_question_bytes)
        await _serve(settings, answerer, handle)


def _settle_memory() -> None:
    """Takes the Registry and all modules out of the garbage collector's sight, and lets it look less often: a question
    leaves no cycles, so it mostly walked what lives as long as the process."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


async def _serve(settings: Settings, answerer: service.Answerer, handle: Handler) -> None:
    async with streaming(settings, handle) as running:
        loop = asyncio.get_running_loop()
        for name in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(name, running.stop)
        page = health.app(
            metrics.REGISTRY,
            lambda: running.facts().not_live(),
            lambda: [*running.facts().not_ready(), *answerer.tenancy.problems()],
        )
        async with health.serve(page, settings.http_host, settings.http_port):
            await running.run()
