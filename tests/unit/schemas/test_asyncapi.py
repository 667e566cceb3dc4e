# ruff: noqa: E501 a record a line reads best
"""The AsyncAPI document: every reference resolves, the official parser accepts it, and the wire only ever grows."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas import Answer, PlanAnswered, Question
from schemas.asyncapi import Topics, document

TOPICS = Topics(questions="q.v1", answers="a.v1", audit="t.v1", dead_letters="q.v1-dlt")
PARSER = "@asyncapi/parser@3"
CHECK = """
import {Parser} from '@asyncapi/parser'; import fs from 'fs';
const {document, diagnostics} = await new Parser().parse(fs.readFileSync('document.json', 'utf8'));
console.log(JSON.stringify({valid: document !== undefined, errors: diagnostics.filter(d => d.severity === 0)}));
"""


def references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "$ref":
                yield value
            else:
                yield from references(value)
    elif isinstance(node, list):
        for item in node:
            yield from references(item)


def test_every_reference_resolves() -> None:
    whole = document(TOPICS, "1.0.0")
    found = set(references(whole))
    assert len(found) > 10
    for reference in found:
        node: Any = whole
        for part in reference.removeprefix("#/").split("/"):
            node = node[part]


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
@pytest.mark.timeout(240)
def test_the_official_parser_reports_no_error(tmp_path: Path) -> None:
    (tmp_path / "document.json").write_text(json.dumps(document(TOPICS, "1.0.0")))
    (tmp_path / "check.mjs").write_text(CHECK)
    installed = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund", PARSER],
        cwd=tmp_path,
        capture_output=True,
        timeout=200,
        check=False,
    )
    if installed.returncode:
        pytest.skip("the parser can't be installed here")
    done = subprocess.run(["node", "check.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True)
    assert json.loads(done.stdout) == {"valid": True, "errors": []}


# Name, whether it must be there, its JSON Schema type. Fields may be added; none of these may go or change.
WIRE: dict[type[msgspec.Struct], dict[str, bool]] = {
    Question: {
        "question_id": True, "tenant_id": True, "question": True, "principal": False, "intent": False, "deadline_ms": False,
        "asked_at": False,
    },
    Answer: {
        "question_id": True, "tenant_id": True, "status": True, "route": True, "answer": True, "rationale_source": True,
        "evidence": False, "plan": False, "faithfulness": True, "refusal": False, "registry_digest": True,
        "audit_event_id": False, "answered_at": True, "elapsed_ms": True,
    },
    PlanAnswered: {
        "event": False, "event_id": True, "tenant_id": True, "occurred_at": True, "intents": True, "param_kinds": True,
        "node_count": True, "suppressed_cells": True, "faithfulness": True, "self_consistency": True,
        "registry_digest": True, "service_version": True,
    },
}  # fmt: skip


@pytest.mark.parametrize("kind", WIRE)
def test_no_field_of_the_wire_goes_or_becomes_required(kind: type[msgspec.Struct]) -> None:
    schema = msgspec.json.schema(kind)["$defs"][kind.__name__]
    for name, required in WIRE[kind].items():
        assert name in schema["properties"], f"{kind.__name__}.{name} is gone"
        assert required or name not in schema["required"], f"{kind.__name__}.{name} was optional"
    added = set(schema["required"]) - WIRE[kind].keys()
    assert kind is not Question or not added, "a field that publishers do not send can't become required"


def test_the_audit_event_holds_nothing_else() -> None:
    assert set(PlanAnswered.__struct_fields__) == set(WIRE[PlanAnswered])
