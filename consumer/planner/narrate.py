"""Narration by a model (the deterministic rendering stands where there is none)."""

from typing import Protocol

from consumer.deadline import Deadline


class Narrator(Protocol):
    """Who writes the words of an answer."""

    async def narrate(self, prompt: str, deadline: Deadline) -> str:
        """The model's text. Raises Transient or TimeoutError when there is none."""
        ...
