"""Reads what a model server sent: the text of a completion, and the names in a text.

Servers differ: some ignore the schema, fence the JSON, put prose or reasoning round it, answer with a tool call, or
stream though nobody asked. Anything that can't be read is no names, never an error of the question.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, cast

import msgspec

MAX_TEXT = 65_536
"""Characters of a completion that are looked at."""
MAX_TRIES = 64
"""Places in a text where JSON is looked for."""
MAX_LISTED = 64
"""Entries of a list of names that are looked at; a plan takes six."""
MAX_NAME = 128

_REASONING = re.compile(r"<(think|thinking|reasoning)>.*?(</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_OPENING = re.compile(r"[{\[]")
_CUT_SHORT = ("length", "content_filter")


def completion(body: bytes) -> str:
    """The text of a chat completion; empty when it was refused, cut short, or is none.

    A tool call's arguments count as its text, as does a stream of deltas.
    """
    if body.lstrip().startswith(b"data:"):
        return _streamed(body)
    choice = _choice(body)
    return _text(choice.get("message"), choice.get("finish_reason"))


def _choice(body: bytes) -> dict[str, Any]:
    try:
        answer = _table(msgspec.json.decode(body))
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return {}
    choices = answer.get("choices")
    return _table(cast("list[Any]", choices)[0]) if isinstance(choices, list) and choices else {}


def _text(message: Any, finish: Any) -> str:
    said = _table(message)
    if finish in _CUT_SHORT or said.get("refusal"):
        return ""
    content = said.get("content")
    if isinstance(content, list):
        parts = [_table(part).get("text") for part in cast("list[Any]", content)]
        content = "".join(part for part in parts if isinstance(part, str))
    if isinstance(content, str) and content.strip():
        return content[:MAX_TEXT]
    calls = said.get("tool_calls")
    for call in cast("list[Any]", calls) if isinstance(calls, list) else []:
        arguments = _table(_table(call).get("function")).get("arguments")
        if isinstance(arguments, str):
            return arguments[:MAX_TEXT]
    return ""


def _streamed(body: bytes) -> str:
    """Joins the deltas of server sent events, as servers send that stream whatever the request said."""
    content: list[str] = []
    arguments: list[str] = []
    finish: Any = None
    for line in body.splitlines():
        data = line.removeprefix(b"data:").strip()
        if not line.startswith(b"data:") or data == b"[DONE]":
            continue
        choice = _choice(data)
        finish = choice.get("finish_reason") or finish
        delta = _table(choice.get("delta"))
        if isinstance(piece := delta.get("content"), str):
            content.append(piece)
        calls = delta.get("tool_calls")
        for call in cast("list[Any]", calls) if isinstance(calls, list) else []:
            if isinstance(piece := _table(_table(call).get("function")).get("arguments"), str):
                arguments.append(piece)
    return _text({"content": "".join(content) or "".join(arguments)}, finish)


def names(text: str) -> tuple[str, ...]:
    """The list of names in a text: `{"intents": [...]}` or a bare list, alone or among other words.

    The last such value counts, because reasoning comes before an answer. Entries that are no text are dropped.
    """
    plain = _REASONING.sub("", text[:MAX_TEXT])
    found: tuple[str, ...] = ()
    for value in _values(plain):
        listed = _table(value).get("intents") if isinstance(value, dict) else _bare(value)
        if isinstance(listed, list):
            entries = cast("list[Any]", listed)[:MAX_LISTED]
            found = tuple(entry.strip() for entry in entries if isinstance(entry, str) and len(entry) <= MAX_NAME)
    return found


def _bare(value: Any) -> list[Any] | None:
    """A list that is one of names; a footnote such as [1] is none."""
    entries = cast("list[Any]", value)
    return entries if entries and all(isinstance(entry, str) for entry in entries) else None


def _values(text: str) -> Iterator[Any]:
    """Every JSON object or list at the top level of a text."""
    decoder = json.JSONDecoder()
    at = 0
    for _ in range(MAX_TRIES):
        opening = _OPENING.search(text, at)
        if opening is None:
            return
        try:
            value, at = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError):
            at = opening.end()
        else:
            yield value


def _table(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}
