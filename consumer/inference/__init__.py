"""Who proposes intents and who writes the words: embedded and deterministic, or a model server."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import httpx
from msgspec import Struct

from consumer.errors import Misconfigured
from consumer.inference.embedded import EmbeddedProposer
from consumer.inference.openai import ChatServer, OpenAINarrator, OpenAIProposer
from consumer.planner.classify import Vocabulary
from consumer.planner.propose import Proposer
from consumer.settings import Settings
from registry import Registry

__all__ = ["ChatServer", "EmbeddedProposer", "Inference", "OpenAINarrator", "OpenAIProposer", "open_inference"]


class Inference(Struct, frozen=True):
    """The proposer of a process, and its narrator where a model writes the words."""

    proposer: Proposer
    narrator: OpenAINarrator | None


@asynccontextmanager
async def open_inference(settings: Settings, registry: Registry, vocabulary: Vocabulary) -> AsyncGenerator[Inference]:
    """What the settings name, closed at the end. Raises `Misconfigured` when a model server isn't fully named."""
    if settings.inference == "embedded":
        yield Inference(EmbeddedProposer(vocabulary, registry.intents), None)
        return
    for name in ("inference_url", "inference_model"):
        if not getattr(settings, name):
            raise Misconfigured(f"PLANNER_{name.upper()} is empty; PLANNER_INFERENCE=openai needs it")
    if not settings.inference_url.startswith(("http://", "https://")):
        raise Misconfigured("PLANNER_INFERENCE_URL is not a URL, such as http://host/v1")
    try:
        server = ChatServer(
            settings.inference_url,
            settings.inference_model,
            settings.inference_api_key,
            settings.inference_timeout_ms / 1_000,
        )
    except httpx.InvalidURL:
        raise Misconfigured("PLANNER_INFERENCE_URL is not a URL, such as http://host/v1") from None
    try:
        yield Inference(OpenAIProposer(server), OpenAINarrator(server) if settings.narrate else None)
    finally:
        await server.close()
