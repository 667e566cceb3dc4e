"""The closed Registry: every query the service can run, declared and proven. Imports schemas only."""

from registry.catalog import Registry, load
from registry.intent import Column, Edge, Intent, Param, Plane

__all__ = ["Column", "Edge", "Intent", "Param", "Plane", "Registry", "load"]
