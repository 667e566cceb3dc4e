"""From a record to its settlement: decode, answer inside the deadline, turn the answer into records.

Knows nothing of plans: an `Answerer` does. What a part that is away costs is time, up to the question's own deadline;
only then it is answered `failed`. Only a record that nobody could ever answer becomes a dead letter.
"""

import logging
from enum import StrEnum
from typing import Protocol

from msgspec import Struct
from tenacity import retry, retry_if_exception, wait_random_exponential

from consumer.deadline import Deadline
from consumer.errors import DeadLetterReason, DeadlineExceeded, Permanent, Transient
from consumer.stream.records import (
    Handler,
    Outcome,
    Received,
    Routes,
    Settlement,
    answer_record,
    audit_record,
    reply_address,
)
from schemas import Answer, PlanAnswered, Question
from schemas.answer import Status
from schemas.codec import Undecodable, decode_question

log = logging.getLogger(__name__)

FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS = 0.1, 2.0

OUTCOMES = {
    Status.ANSWERED: Outcome.ANSWERED,
    Status.REFUSED: Outcome.REFUSED,
    Status.FAILED: Outcome.FAILED,
}


class Failure(StrEnum):
    """Why a question was answered `failed`; the code of its `refusal`."""

    DEADLINE = "deadline_exceeded"
    UNAVAILABLE = "unavailable"
    INTERNAL = "internal"


class Answered(Struct, frozen=True):
    """The answer, and the audit event where the answer was planned."""

    answer: Answer
    audit: PlanAnswered | None = None


class Answerer(Protocol):
    """Who knows the answer."""

    async def answer(self, question: Question, received: Received, deadline: Deadline) -> Answered:
        """Raises Transient to be asked again inside the deadline, Permanent for a dead letter."""
        ...

    def failed(self, question: Question, received: Received, failure: Failure) -> Answer:
        """The answer that says that there is none."""
        ...


def handler(answerer: Answerer, routes: Routes, max_question_bytes: int) -> Handler:
    """A handler for the worker."""

    async def handle(received: Received) -> Settlement:
        question = decoded(received, max_question_bytes)
        reply_address(received, routes)  # one that may not be answered costs no work
        answered = await _in_time(answerer, question, received)
        records = [answer_record(received, answered.answer, routes)]
        if answered.audit is not None:
            records.append(audit_record(received, answered.audit, routes))
        return Settlement(OUTCOMES[answered.answer.status], tuple(records))

    return handle


def decoded(received: Received, max_bytes: int) -> Question:
    """Raises Permanent with the flaw as its reason."""
    try:
        return decode_question(received.value, max_bytes)
    except Undecodable as error:
        raise Permanent(DeadLetterReason(error.flaw.value)) from None


async def _in_time(answerer: Answerer, question: Question, received: Received) -> Answered:
    """The answer, or one that says `failed`, by the deadline. It counts from the read, so that waiting its turn is
    part of it."""
    deadline = Deadline(received.read_at + question.deadline_ms / 1_000)
    away = False
    scope = deadline.scope()
    try:
        async with scope:
            try:
                return await answerer.answer(question, received, deadline)
            except DeadlineExceeded:
                raise
            except Transient:
                away = True
            return await _again(answerer, question, received, deadline)
    except DeadlineExceeded:
        pass
    except Permanent:
        raise
    except Exception as error:  # noqa: BLE001 whatever it was, the asker gets an answer
        if not scope.expired():
            # Its message could hold what was asked: the type and the place must do.
            log.error("a question failed", extra={"error": type(error).__name__, "place": _place(error)})
            return Answered(answerer.failed(question, received, Failure.INTERNAL))
    return Answered(answerer.failed(question, received, Failure.UNAVAILABLE if away else Failure.DEADLINE))


# Only Transient is tried again: a predicate that takes more swallows cancellation (tenacity#529).
@retry(
    retry=retry_if_exception(lambda error: isinstance(error, Transient) and not isinstance(error, DeadlineExceeded)),
    wait=wait_random_exponential(FIRST_BACKOFF_SECONDS, LAST_BACKOFF_SECONDS),
    reraise=True,
)
async def _again(answerer: Answerer, question: Question, received: Received, deadline: Deadline) -> Answered:
    """After a first Transient: at once, then more and more seldom, until the caller's deadline."""
    return await answerer.answer(question, received, deadline)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else ""
