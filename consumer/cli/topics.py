"""`planner topics`: create what is missing."""

import json as json_text
from typing import Annotated

import msgspec

from consumer import topics as kafka_topics
from consumer.cli import Configured, Flag, output


async def topics(*, json: Annotated[bool, Flag] = False, settings: Configured) -> None:
    """Creates the topics that are missing: questions, answers, audit events, dead letters.

    Names, partitions, replicas and retention are settings (PLANNER_TOPIC_*). What exists stays as it is, save a dead
    letter topic with fewer partitions than the questions, which is grown.

    Parameters
    ----------
    json
        Print one JSON document.
    """
    found = await kafka_topics.create_missing(settings)
    if json:
        print(json_text.dumps({"topics": msgspec.to_builtins(found)}))
        return
    output.table(
        ("topic", "partitions", "replicas", ""),
        [(one.topic, str(one.partitions), str(one.replicas), one.done.value) for one in found],
    )
