"""Bytes to Structs and back: what a question record may be, and the stable bytes of what we write.

Decoding refuses what JSON decoders disagree about, because two readers of one record must see one question: a
duplicate key of a known field (the last one wins silently, msgspec#648), a NUL, a lone surrogate, nesting that
overflows a stack (msgspec#1033). Every refusal is one of a closed list of reasons.
"""

import re
from enum import StrEnum
from typing import TypeVar

import msgspec
from msgspec import Struct

from schemas.answer import Answer
from schemas.audit import PlanAnswered
from schemas.question import Principal, Question

MAX_DEPTH = 64
MAX_INTEGER_DIGITS = 32


class Flaw(StrEnum):
    """Why a value is no question."""

    TOMBSTONE = "tombstone"
    TOO_LARGE = "too_large"
    BAD_UTF8 = "bad_utf8"
    BAD_JSON = "bad_json"
    TOO_DEEP = "too_deep"
    DUPLICATE_KEY = "duplicate_key"
    NUL_BYTE = "nul_byte"
    WRONG_TYPE = "wrong_type"
    MISSING_FIELD = "missing_field"


class Undecodable(Exception):
    """The value can never be read as a question; `flaw` says why, without a word of it."""

    def __init__(self, flaw: Flaw) -> None:
        super().__init__(flaw.value)
        self.flaw = flaw


_question = msgspec.json.Decoder(Question).decode
_encoder = msgspec.json.Encoder()
_KNOWN = frozenset((*Question.__struct_fields__, *Principal.__struct_fields__))
_NUL = re.compile(rb"\\u0000|\x00")
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")
_ESCAPED_LETTER = re.compile(rb"\\u00[3-7]")
"""Any letter, digit or underscore of a field's name can hide behind such an escape."""


def decode_question(value: bytes | None, max_bytes: int) -> Question:
    """The question of a record's value. Raises Undecodable."""
    if value is None:
        raise Undecodable(Flaw.TOMBSTONE)
    if len(value) > max_bytes:
        raise Undecodable(Flaw.TOO_LARGE)
    if _NUL.search(value):
        raise Undecodable(Flaw.NUL_BYTE)
    _check_depth(value)
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        raise Undecodable(Flaw.BAD_UTF8) from None
    _check_surrogates(value)
    try:
        question = _question(value)
    except msgspec.ValidationError as error:
        _check_duplicates(value, text)
        missing = "missing required field" in str(error)
        raise Undecodable(Flaw.MISSING_FIELD if missing else Flaw.WRONG_TYPE) from None
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise Undecodable(Flaw.BAD_JSON) from None
    _check_duplicates(value, text)
    if not question.question.strip():
        raise Undecodable(Flaw.WRONG_TYPE)
    return question


def _check_depth(value: bytes) -> None:
    """Refuses deep nesting before a recursive decoder meets it. Brackets inside strings may refuse a question too
    early, never too late: 64 of them in a row of questions is no question of a person."""
    if value.count(b"{") + value.count(b"[") <= MAX_DEPTH:
        return
    depth = deepest = 0
    quoted = escaped = False
    for byte in value:
        if quoted:
            quoted = byte != 0x22 or escaped
            escaped = byte == 0x5C and not escaped
        elif byte == 0x22:
            quoted = True
        elif byte in b"{[":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"}]":
            depth -= 1
    if deepest > MAX_DEPTH:
        raise Undecodable(Flaw.TOO_DEEP)


def _check_surrogates(value: bytes) -> None:
    """A surrogate escape must be one half of a pair: alone it is text that can't be written back."""
    if _SURROGATE.search(value) is None:
        return
    rest = re.sub(rb"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}", b"", value)
    if _SURROGATE.search(rest):
        raise Undecodable(Flaw.BAD_UTF8)


def _check_duplicates(value: bytes, text: str) -> None:
    """Refuses a known key that stands twice in one object.

    The common record pays one count a field; only one that could hold a duplicate is parsed again with its pairs.
    """
    suspicious = any(value.count(b'"%s"' % name.encode()) > 1 for name in _KNOWN) or _ESCAPED_LETTER.search(value)
    if not suspicious:
        return
    import json  # noqa: PLC0415 rare: the standard decoder shows the pairs of each object

    def pairs(items: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in items if key in _KNOWN]
        if len(keys) != len(set(keys)):
            raise Undecodable(Flaw.DUPLICATE_KEY)
        return dict(items)

    try:
        json.loads(text, object_pairs_hook=pairs, parse_int=str)
    except (ValueError, RecursionError):
        raise Undecodable(Flaw.BAD_JSON) from None


T = TypeVar("T", bound=Struct)


def encode(event: Answer | PlanAnswered) -> bytes:
    """The event's bytes: fields in declared order, so that equal events are equal bytes."""
    return _encoder.encode(event)
