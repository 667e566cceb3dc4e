"""The AsyncAPI 3 document of the topics, generated from the Structs so that it can't drift from them."""

from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import Struct

from schemas.answer import Answer
from schemas.audit import PLAN_ANSWERED, PlanAnswered
from schemas.question import Question

VERSION = "3.1.0"
COMPONENTS = "#/components/schemas/{name}"
TEXT = {"type": "string"}

CLOUDEVENTS = {
    "ce_specversion": {"type": "string", "const": "1.0"},
    "ce_id": {"type": "string", "description": "derived from the question record, the same on a redelivery"},
    "ce_source": TEXT,
    "ce_type": TEXT,
    "ce_time": {"type": "string", "format": "date-time"},
    "content-type": {"type": "string", "const": "application/json"},
}
TRACE = {
    "traceparent": {"type": "string", "description": "W3C trace context, passed on as it came"},
    "tracestate": TEXT,
}
REPLY = {
    "kafka_replyTopic": {"type": "string", "description": "where the answer goes, if the allow list has it"},
    "kafka_replyPartition": {"type": "string", "description": "4 bytes, big endian: obeyed when present"},
    "kafka_correlationId": {"type": "string", "description": "opaque bytes, returned unchanged"},
    "reply_to": {"type": "string", "description": "the same as kafka_replyTopic, as FastStream sends it"},
    "correlation_id": TEXT,
    "authorization": {"type": "string", "description": "Bearer token, where PLANNER_AUTH is jwt"},
}
DEAD_LETTER = {
    "kafka_dlt-original-topic": TEXT,
    "kafka_dlt-original-partition": {"type": "string", "description": "int32, big endian"},
    "kafka_dlt-original-offset": {"type": "string", "description": "int64, big endian"},
    "kafka_dlt-original-timestamp": {"type": "string", "description": "int64, milliseconds, big endian"},
    "kafka_dlt-exception-fqcn": TEXT,
    "planner_dlt-reason": {"type": "string", "description": "a code of a closed list"},
}


class Topics(Struct, frozen=True, kw_only=True):
    """The topic names that a deployment uses."""

    questions: str
    answers: str
    audit: str
    dead_letters: str


def document(topics: Topics, version: str) -> dict[str, Any]:
    """The whole document, ready for JSON. `version` is the service's."""
    _, components = msgspec.json.schema_components((Question, Answer, PlanAnswered), ref_template=COMPONENTS)
    return {
        "asyncapi": VERSION,
        "info": {
            "title": "planner",
            "version": version,
            "description": "Questions in, answers and counts only audit events out, exactly once.",
        },
        "defaultContentType": "application/json",
        "channels": {
            "questions": _channel(topics.questions, "question", "Questions of tenants. Key: the tenant's id."),
            "answers": _channel(topics.answers, "answer", "One answer for each question, under the question's key."),
            "audit": _channel(topics.audit, "planAnswered", "One event for each planned answer. Key: the tenant's id."),
            "deadLetters": _channel(
                topics.dead_letters, "deadLetter", "Records that can never be answered, byte for byte, same partition."
            ),
        },
        "operations": {
            "receiveQuestion": {
                "action": "receive",
                "channel": {"$ref": "#/channels/questions"},
                "messages": [{"$ref": "#/channels/questions/messages/question"}],
                "reply": {
                    "channel": {"$ref": "#/channels/answers"},
                    "messages": [{"$ref": "#/channels/answers/messages/answer"}],
                },
            },
            "sendPlanAnswered": _send("audit", "planAnswered"),
            "sendDeadLetter": _send("deadLetters", "deadLetter"),
        },
        "components": {
            "schemas": components,
            "messages": {
                "question": _message("Question", {**TRACE, **REPLY}, "One question of one tenant."),
                "answer": _message("Answer", {**CLOUDEVENTS, **TRACE}, "The answer with its evidence."),
                "planAnswered": _message("PlanAnswered", {**CLOUDEVENTS, **TRACE}, f"The event {PLAN_ANSWERED}."),
                "deadLetter": {
                    "name": "deadLetter",
                    "summary": "The record as it came, with the reason in its headers.",
                    "contentType": "application/octet-stream",
                    "headers": {"type": "object", "properties": DEAD_LETTER},
                    "payload": {},
                },
            },
        },
    }


def _channel(address: str, message: str, description: str) -> dict[str, Any]:
    return {
        "address": address,
        "description": description,
        "messages": {message: {"$ref": f"#/components/messages/{message}"}},
        "bindings": {"kafka": {"bindingVersion": "0.5.0"}},
    }


def _send(channel: str, message: str) -> dict[str, Any]:
    return {
        "action": "send",
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{message}"}],
    }


def _message(schema: str, headers: Mapping[str, Any], summary: str) -> dict[str, Any]:
    return {
        "name": schema,
        "summary": summary,
        "contentType": "application/json",
        "headers": {"type": "object", "properties": dict(headers)},
        "payload": {"$ref": COMPONENTS.format(name=schema)},
    }
