"""Bytes that are a question, bytes that are none and why, and the stable bytes of what we write."""

import contextlib
import time
from datetime import UTC, datetime
from uuid import UUID

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas import Answer
from schemas.answer import Faithfulness, RationaleSource, Route, Status
from schemas.codec import Flaw, Undecodable, decode_question, encode

LIMIT = 65_536
PLAIN = (
    b'{"question_id":"8d8a8d5e-6b9f-4a57-9f0b-0d6f2f6b7a11","tenant_id":"11111111-1111-4111-8111-111111111111",'
    b'"question":"who competes?"'
)

TAKEN = [
    ("the least", PLAIN + b"}"),
    ("unknown fields", PLAIN + b',"x":{"y":[1,{"z":null}]}}'),
    ("an unknown field twice", PLAIN + b',"x":1,"x":2}'),
    ("the name of a field as a value", PLAIN + b',"x":"tenant_id","y":["question"]}'),
    ("a field's name deep inside another", PLAIN + b',"x":{"question":"no","tenant_id":"no"}}'),
    ("a principal", PLAIN + b',"principal":{"subject":"a","scopes":["market:read"]}}'),
    ("blanks around", b" \n" + PLAIN + b"} "),
    ("an escaped quote and a backslash", PLAIN.replace(b"who", b'\\"who\\\\') + b"}"),
    ("a pair of surrogates", PLAIN.replace(b"who", b"\\ud83d\\ude00") + b"}"),
    ("brackets in the words", PLAIN.replace(b"who", b"[" * 200) + b"}"),
    ("64 levels", PLAIN + b',"x":' + b"[" * 63 + b"]" * 63 + b"}"),
]
REFUSED = [
    ("65 levels", PLAIN + b',"x":' + b"[" * 64 + b"]" * 64 + b"}", Flaw.TOO_DEEP),
    ("levels behind a string of brackets", PLAIN + b',"y":"]]]]","x":' + b"[" * 64 + b"]" * 64 + b"}", Flaw.TOO_DEEP),
    ("an escaped duplicate", PLAIN + b',"q\\u0075estion":"other"}', Flaw.DUPLICATE_KEY),
    ("a duplicate in the principal", PLAIN + b',"principal":{"subject":"a","subject":"b"}}', Flaw.DUPLICATE_KEY),
    ("a duplicate of null", PLAIN + b',"intent":null,"intent":null}', Flaw.DUPLICATE_KEY),
    ("a NUL escaped in an unknown field", PLAIN + b',"x":"\\u0000"}', Flaw.NUL_BYTE),
    ("nothing", None, Flaw.TOMBSTONE),
    ("one byte too many", PLAIN + b"}" + b" " * LIMIT, Flaw.TOO_LARGE),
]


def test_a_question_is_read() -> None:
    for what, value in TAKEN:
        assert decode_question(value, LIMIT).tenant_id == UUID("11111111-1111-4111-8111-111111111111"), what


def test_what_is_no_question_is_refused_with_its_flaw() -> None:
    for what, value, flaw in REFUSED:
        with pytest.raises(Undecodable) as caught:
            decode_question(value, LIMIT)
        assert caught.value.flaw is flaw, what


@given(st.binary(max_size=400) | st.text(max_size=400).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_raise_anything_else(value: bytes) -> None:
    for whole in (value, PLAIN + value, PLAIN + b',"x":' + value + b"}"):
        with contextlib.suppress(Undecodable):
            decode_question(whole, LIMIT)


def test_hostile_bytes_take_time_that_grows_with_their_length_alone() -> None:
    for value in (b"[" * LIMIT, PLAIN + b',"x":"' + b"\\\\" * 30_000 + b'"}', b'{"a":' * 13_000, b"\\u" * 30_000):
        started = time.thread_time()
        with pytest.raises(Undecodable):
            decode_question(value, LIMIT) and decode_question(b"", LIMIT)
        assert time.thread_time() - started < 1


def test_equal_answers_are_equal_bytes_in_declared_order() -> None:
    def made() -> Answer:
        return Answer(
            question_id=UUID(int=1), tenant_id=UUID(int=2), status=Status.ANSWERED, route=Route.INTENT, answer="a",
            rationale_source=RationaleSource.DETERMINISTIC, faithfulness=Faithfulness.PASSED,
            registry_digest="sha256:0", answered_at=datetime(2026, 1, 1, tzinfo=UTC), elapsed_ms=1,
        )  # fmt: skip

    assert encode(made()) == encode(made())
    assert list(msgspec.json.decode(encode(made())))[:3] == ["question_id", "tenant_id", "status"]
    assert b'"plan"' not in encode(made())
