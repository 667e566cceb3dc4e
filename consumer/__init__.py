"""The planner service: a question on Kafka becomes an answer, an audit event and an offset in one transaction."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("planner")
except PackageNotFoundError:
    __version__ = "0+source"
