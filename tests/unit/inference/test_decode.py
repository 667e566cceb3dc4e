"""What can be read out of a model server's answer."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer.inference.decode import completion, names

TWO = ("market.competitors", "bench.cleared_count")
PLAIN = json.dumps({"intents": TWO})

TEXTS = (
    ("the object asked for", PLAIN, TWO),
    ("a bare list", json.dumps(TWO), TWO),
    ("fenced", f"```json\n{PLAIN}\n```", TWO),
    ("prose round it", f"Sure! Here is the plan: {PLAIN} Let me know.", TWO),
    ("reasoning before it", f'<think>Maybe {{"intents": ["graph.partners"]}}?</think>{PLAIN}', TWO),
    ("reasoning that never ends", f"<think>so {PLAIN}", ()),
    ("an earlier draft", '{"intents": ["graph.partners"]} no, wait: ' + PLAIN, TWO),
    ("braces in prose", "{not json} [nor this " + PLAIN, TWO),
    ("entries that are no text", '{"intents": [1, null, {"name": "x"}, "market.competitors"]}', TWO[:1]),
    ("blanks round a name", '{"intents": [" market.competitors\\n"]}', TWO[:1]),
    ("a footnote after it", PLAIN + " as in [1], []", TWO),
    ("another key", '{"plan": ["market.competitors"]}', ()),
    ("a text and no list", '{"intents": "market.competitors"}', ()),
    ("cut short", PLAIN[:-5], ()),
    ("nothing", "", ()),
    ("prose only", "I would call market.competitors.", ()),
    ("deep nesting", "[" * 50_000, ()),
)


@pytest.mark.parametrize(("text", "expected"), [t[1:] for t in TEXTS], ids=[t[0] for t in TEXTS])
def test_names_are_read_out_of_any_wrapping(text: str, expected: tuple[str, ...]) -> None:
    assert names(text) == expected


def chat(message: object, finish: str = "stop") -> bytes:
    return json.dumps({"choices": [{"message": message, "finish_reason": finish}]}).encode()


CALL = [{"function": {"name": "plan", "arguments": PLAIN}}]
STREAM = b"".join(
    b"data: " + json.dumps({"choices": [{"delta": {"content": piece}}]}).encode() + b"\n\n"
    for piece in (PLAIN[:9], PLAIN[9:])
)
TOOL_STREAM = b"".join(
    b"data: " + json.dumps({"choices": [{"delta": {"tool_calls": [{"function": {"arguments": p}}]}}]}).encode() + b"\n"
    for p in (PLAIN[:9], PLAIN[9:])
)
BODIES = (
    ("plain", chat({"content": PLAIN}), PLAIN),
    ("parts", chat({"content": [{"type": "text", "text": PLAIN[:4]}, {"text": PLAIN[4:]}, {"image": 1}]}), PLAIN),
    ("a tool call", chat({"content": None, "tool_calls": CALL}), PLAIN),
    ("refused", chat({"content": None, "refusal": "no"}), ""),
    ("refused with content", chat({"content": PLAIN, "refusal": "no"}), ""),
    ("cut at the token limit", chat({"content": PLAIN}, "length"), ""),
    ("filtered", chat({"content": PLAIN}, "content_filter"), ""),
    ("no content", chat({"content": None}), ""),
    ("no message", chat(None), ""),
    ("no choices", b'{"choices": []}', ""),
    ("choices of another type", b'{"choices": {"a": 1}}', ""),
    ("an error object", b'{"error": {"message": "boom"}}', ""),
    ("truncated", chat({"content": PLAIN})[:-10], ""),
    ("no JSON", b"<html>gateway</html>", ""),
    ("no UTF-8", b'{"choices": "\xff\xfe"}', ""),
    ("empty", b"", ""),
    ("a stream nobody asked for", STREAM + b"data: [DONE]\n\n", PLAIN),
    ("a stream of tool call deltas", TOOL_STREAM + b"data: [DONE]\n\n", PLAIN),
    ("a stream cut at the limit", STREAM + b'data: {"choices": [{"delta": {}, "finish_reason": "length"}]}\n', ""),
)


@pytest.mark.parametrize(("body", "expected"), [b[1:] for b in BODIES], ids=[b[0] for b in BODIES])
def test_the_text_of_a_completion(body: bytes, expected: str) -> None:
    assert completion(body) == expected


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_error(body: bytes) -> None:
    assert isinstance(completion(body), str)
    assert isinstance(names(body.decode("utf-8", "replace")), tuple)


KEYS = st.sampled_from(["intents", "choices", "message", "content", "tool_calls", "function", "arguments", "refusal"])
LEAVES = st.none() | st.booleans() | st.integers() | st.text(max_size=5)


@given(st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(KEYS, inner)))
def test_any_json_is_read_without_an_error(value: object) -> None:
    text = json.dumps(value)
    assert all(isinstance(name, str) for name in names(text))
    assert isinstance(completion(text.encode()), str)
