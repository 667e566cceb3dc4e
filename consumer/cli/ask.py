"""`planner ask`: one question over Kafka, its answer in the terminal."""

import sys
from pathlib import Path
from typing import Annotated
from uuid import UUID, uuid4

import msgspec
from cyclopts import Parameter
from cyclopts.validators import Number

from consumer.asker import Replied, asker
from consumer.cli import ANSWERED, FAILED, REFUSED, SILENT, Configured, Flag, output
from consumer.deadline import Deadline
from consumer.errors import Misconfigured
from schemas import Principal, Question
from schemas.answer import Status

DEADLINE_SHARE = 0.9
"""The question's own deadline, as a share of our patience: an answer that says `failed` still arrives in time."""

ALL_SCOPES = ("market:read", "graph:read", "bench:read", "docs:read")

CODES = {Status.ANSWERED: ANSWERED, Status.REFUSED: REFUSED, Status.FAILED: FAILED}


async def ask(
    question: str,
    /,
    *,
    tenant: UUID,
    scope: Annotated[tuple[str, ...], Parameter(negative_iterable="")] = (),
    intent: str | None = None,
    seconds: Annotated[float, Parameter("--timeout", validator=Number(gt=0, lte=600))] = 30.0,
    token_file: Path | None = None,
    json: Annotated[bool, Flag] = False,
    settings: Configured,
) -> int:
    """Publishes one question to Kafka and waits for its answer.

    Exit code 0 answered, 3 refused, 4 no answer in time, 5 Kafka can't be reached, 1 failed or dead lettered.

    Parameters
    ----------
    question
        What to ask, in plain words.
    tenant
        UUID of the tenant who asks.
    scope
        A scope of the asker, such as bench:read; give it once for each. Without one, every plane's: whoever
        can write to the questions topic may name any.
    intent
        Name of a Registry intent, for the fast path that needs no plan.
    seconds
        Seconds to wait.
    token_file
        A file that holds a bearer token, where PLANNER_AUTH is jwt.
    json
        Print the answer event as it stands on the topic.
    """
    event = _event(question, tenant, scope, intent, seconds)
    headers = [("authorization", _bearer(token_file))] if token_file else []
    async with asker(settings) as kafka:
        try:
            reply = await kafka.ask(event, Deadline.after(seconds), headers)
        except TimeoutError:
            print(
                f"planner: no answer within {seconds:g} s; is a worker of group {settings.group} running? "
                "`planner doctor` checks the rest",
                file=sys.stderr,
            )
            return SILENT
    _show(reply, json)
    return CODES[reply.answer.status]


def _event(question: str, tenant: UUID, scopes: tuple[str, ...], intent: str | None, seconds: float) -> Question:
    """Raises `Misconfigured` when the text is empty or longer than an event may carry."""
    event = Question(
        question_id=uuid4(),
        tenant_id=tenant,
        question=question,
        principal=Principal(subject="planner ask", scopes=scopes or ALL_SCOPES),
        intent=intent,
        deadline_ms=max(1, int(seconds * 1000 * DEADLINE_SHARE)),
    )
    try:
        return msgspec.convert(msgspec.to_builtins(event), Question)
    except msgspec.ValidationError as error:
        raise Misconfigured(f"the question can't be asked: {str(error)[:1].lower()}{str(error)[1:]}") from None


def _bearer(path: Path) -> bytes:
    try:
        return b"Bearer " + path.read_bytes().strip()
    except OSError as error:
        raise Misconfigured(f"the token file {path} can't be read: {error.strerror}") from None


def _show(reply: Replied, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(reply.raw.decode() + "\n")
    else:
        output.answer(reply.answer)
