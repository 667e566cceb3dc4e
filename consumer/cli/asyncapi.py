"""`planner asyncapi`: the AsyncAPI document of the topics."""

import json

from consumer import __version__
from consumer.cli import Configured
from schemas.asyncapi import Topics, document


def asyncapi(*, settings: Configured) -> None:
    """Prints the AsyncAPI 3 document of the topics, generated from the Structs, as JSON."""
    topics = Topics(
        questions=settings.topic_questions,
        answers=settings.topic_answers,
        audit=settings.topic_audit,
        dead_letters=settings.topic_dlt,
    )
    print(json.dumps(document(topics, __version__), indent=2))
