"""Spans: child of the publisher's, one a stage, and no word of a question in an attribute."""

import pytest

from consumer.observe import tracing

sdk = pytest.importorskip("opentelemetry.sdk.trace")
PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


def test_a_question_is_a_child_of_its_publishers_span_and_holds_its_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: PLC0415

    exporter = InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(tracing.trace, "get_tracer", provider.get_tracer)
    monkeypatch.setattr(tracing.trace, "get_tracer_provider", lambda: provider)
    with tracing.question(tracing.Origin("questions", 3, 17, {"traceparent": PARENT})), tracing.stage("guard"):
        pass
    stage, question = exporter.get_finished_spans()
    assert format(question.context.trace_id, "032x") == PARENT.split("-")[1]
    assert question.parent is not None and format(question.parent.span_id, "016x") == PARENT.split("-")[2]
    assert (question.name, stage.name) == ("process questions", "planner.guard")
    assert stage.parent is not None and stage.parent.span_id == question.context.span_id
    assert set(question.attributes) == {
        "messaging.system", "messaging.operation.name", "messaging.operation.type", "messaging.destination.name",
        "messaging.destination.partition.id", "messaging.kafka.offset",
    }  # fmt: skip


def test_a_broken_trace_context_starts_a_trace_of_its_own() -> None:
    with tracing.question(tracing.Origin("questions", 0, 0, {"traceparent": "nonsense"})):
        pass


def test_without_the_extra_nothing_is_traced_and_nothing_breaks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "trace", None)
    with tracing.question(tracing.Origin("questions", 0, 0, {})), tracing.stage("guard"):
        pass
