"""The deterministic rendering: what a reader sees, and that the gate lets all of it through."""

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from consumer.planner.gate import gate
from consumer.planner.render import rendering
from registry.catalog import load
from tests import made

REGISTRY = load()
INTENTS = {intent.name: intent for intent in REGISTRY.intents}
SECONDS = 5.0
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


@pytest.mark.parametrize("name", sorted(INTENTS))
def test_the_gate_supports_the_rendering_of_any_evidence(name: str) -> None:
    intent = INTENTS[name]
    suppressed = REGISTRY.plane(intent.plane).suppressed

    @settings(max_examples=15, deadline=None, suppress_health_check=SLOW, derandomize=True, phases=[Phase.generate])
    @given(st.data())
    def holds(data: st.DataObject) -> None:
        found = data.draw(made.evidence(intent, suppressed))
        text = rendering([found])
        verdict = gate(text, [found], SECONDS)
        assert verdict.supported, (verdict, sentence(text, verdict.sentence), text)

    holds()


def sentence(text: str, number: int) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[number] if 0 <= number < len(lines) else ""
