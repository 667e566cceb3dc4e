"""Spans for OpenTelemetry, where its API is installed (the extra `tracing`); else nothing at no cost.

Names and attributes follow the messaging conventions (semconv, development): the topic, partition and offset, the
route and the stage. Never a question, a value, a key or a tenant: a trace store has other readers.
"""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, NamedTuple

try:
    from opentelemetry import trace
    from opentelemetry.propagate import extract
except ImportError:  # the extra is not installed
    trace = extract = None

NOTHING = nullcontext()


class Origin(NamedTuple):
    """Where a question was read from, and the trace context that its record carries."""

    topic: str
    partition: int
    offset: int
    carrier: Mapping[str, str]


@contextmanager
def question(origin: Origin) -> Generator[None, None, None]:
    """The span of one question, child of the publisher's where the record carries a trace context."""
    if trace is None or extract is None or isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        yield  # nobody installed a provider: spans would go nowhere, and are not free
        return
    attributes = {
        "messaging.system": "kafka",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": origin.topic,
        "messaging.destination.partition.id": str(origin.partition),
        "messaging.kafka.offset": origin.offset,
    }
    context = extract(origin.carrier)
    with trace.get_tracer("planner").start_as_current_span(
        f"process {origin.topic}", context=context, kind=trace.SpanKind.CONSUMER, attributes=attributes
    ):
        yield


def stage(name: str) -> AbstractContextManager[Any]:
    """The span of one stage, for a `with`; none where its question has none."""
    if trace is None or trace.get_current_span() is trace.INVALID_SPAN:
        return NOTHING
    return trace.get_tracer("planner").start_as_current_span(f"planner.{name}")
