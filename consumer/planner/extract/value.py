"""What extraction finds: a value with its span and status."""

from collections.abc import Mapping
from enum import StrEnum

from msgspec import Struct

Value = str | int | tuple[str, ...] | tuple[int, ...]
Span = tuple[int, int]


class Status(StrEnum):
    OK = "ok"
    MISSING = "missing"
    AMBIGUOUS = "ambiguous"
    INVALID = "invalid"


class Extracted(Struct, frozen=True):
    """One kind of parameter in one question.

    Only a value whose status is `ok` may bind. `spans` are all places that gave it, `span` the first. `role` tells
    uuids of opportunities from those of requirements, and windows that look back from those that look ahead. `note`
    says, for a value that can't be used, what is wrong and how to give it; for one that can, what a reader should
    know (a retired code). `by_role` holds the values of a question that gives one for each of several roles.
    """

    status: Status
    value: Value | None = None
    spans: tuple[Span, ...] = ()
    note: str | None = None
    role: str | None = None
    by_role: Mapping[str, Value] = {}

    def value_for(self, role: str | None) -> Value | None:
        """The value for a parameter of this role, None where the question gives it for another role alone. A value
        without a role serves any, and a parameter without a role takes any single value."""
        if self.by_role:
            return self.by_role.get(role or "")
        return self.value if None in (role, self.role) or role == self.role else None

    @property
    def span(self) -> Span | None:
        return self.spans[0] if self.spans else None

    @property
    def usable(self) -> bool:
        return self.status is Status.OK


MISSING = Extracted(Status.MISSING)
Params = Mapping[str, Extracted]


def ambiguous(note: str, spans: tuple[Span, ...], value: Value | None = None) -> Extracted:
    return Extracted(Status.AMBIGUOUS, value, spans, note)


def invalid(note: str, spans: tuple[Span, ...], value: Value | None = None) -> Extracted:
    return Extracted(Status.INVALID, value, spans, note)
