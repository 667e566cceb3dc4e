"""Which proposer and narrator the settings name."""

from contextlib import AbstractAsyncContextManager

import pytest

import registry
from consumer import settings
from consumer.errors import Misconfigured
from consumer.inference import EmbeddedProposer, Inference, OpenAIProposer, open_inference
from consumer.planner.classify import Vocabulary

SERVER = {
    "PLANNER_INFERENCE": "openai",
    "PLANNER_INFERENCE_URL": "http://127.0.0.1:9/v1",
    "PLANNER_INFERENCE_MODEL": "m",
}
REGISTRY = registry.load()
VOCABULARY = Vocabulary(REGISTRY.intents)


def opened(environ: dict[str, str]) -> AbstractAsyncContextManager[Inference]:
    return open_inference(settings.load(environ), REGISTRY, VOCABULARY)


async def test_the_embedded_proposer_needs_nothing() -> None:
    async with opened({}) as inference:
        assert isinstance(inference.proposer, EmbeddedProposer)
        assert inference.narrator is None


@pytest.mark.parametrize(("narrate", "narrates"), [("true", True), ("false", False)])
async def test_a_model_server_proposes_and_narrates_if_wanted(narrate: str, narrates: bool) -> None:
    async with opened({**SERVER, "PLANNER_NARRATE": narrate}) as inference:
        assert isinstance(inference.proposer, OpenAIProposer)
        assert (inference.narrator is not None) == narrates


WRONG = (
    ("PLANNER_INFERENCE_URL", "", "PLANNER_INFERENCE_URL is empty"),
    ("PLANNER_INFERENCE_MODEL", "", "PLANNER_INFERENCE_MODEL is empty"),
    ("PLANNER_INFERENCE_URL", "http://[::1", "not a URL"),
    ("PLANNER_INFERENCE_URL", "localhost:8000/v1", "not a URL"),
)


@pytest.mark.parametrize(("variable", "value", "message"), WRONG)
async def test_a_server_that_is_not_named_is_said_so(variable: str, value: str, message: str) -> None:
    with pytest.raises(Misconfigured, match=message):
        async with opened({**SERVER, variable: value}):
            pass
