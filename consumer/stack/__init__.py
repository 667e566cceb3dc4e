"""The embedded stack of demo, dev and tests: real Apache Kafka and real PostgreSQL, without Docker."""

from consumer.stack.stack import Stack, embedded_stack

__all__ = ["Stack", "embedded_stack"]
