# ruff: noqa: E501, ASYNC240 one case a line; its own small files
"""Tokens over Kafka, with a real worker: whose token holds is answered, every other is a dead letter with its reason,
and keys rotate while the worker runs."""

import asyncio
import os
import signal
import sys
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from uuid import uuid4

import asyncpg
import jwt
import msgspec
import pytest

from consumer.asker import Asker, Undeliverable, asker
from consumer.deadline import Deadline
from consumer.settings import Settings, variable
from schemas import Answer, Question
from schemas.answer import Status
from schemas.question import Principal
from tests.conftest import Topics
from tests.databases import Database
from tests.support import ROOT
from tests.tenants import MARKS, A, B, fill
from tests.tokens import ISSUER, Signer, key_set

pytestmark = pytest.mark.integration
TEXT = 'Who competes for 541512 at "Department of the Navy"?'
FIRST, SECOND, STRANGER = Signer("first"), Signer("second"), Signer("first")


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(key_set(FIRST))
    return path


@pytest.fixture
async def asking(
    kafka_bootstrap: str, topics: Topics, database: Database, keys: Path, tmp_path: Path
) -> AsyncGenerator[Asker]:
    """Asks a worker, a process of its own, that takes tokens alone."""
    connection = await asyncpg.connect(database.admin_url)
    await fill(connection)
    await connection.close()
    settings = Settings(
        kafka_bootstrap=kafka_bootstrap, group=topics.questions, topic_questions=topics.questions,
        topic_answers=topics.answers, topic_audit=topics.audit, topic_dlt=topics.dlt, database_url=database.worker_url,
        auth="jwt", jwt_jwks=str(keys), jwt_issuer=ISSUER, http_port=0, log_level="debug",
    )  # fmt: skip
    default = Settings()
    changed = {
        f: str(getattr(settings, f)) for f in Settings.__struct_fields__ if getattr(settings, f) != getattr(default, f)
    }
    log = (tmp_path / "worker.log").open("wb")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "consumer", "worker", cwd=ROOT, stdout=log, stderr=log,
        env={"PATH": os.environ["PATH"], **{variable(field): value for field, value in changed.items()}},
    )  # fmt: skip
    try:
        async with asker(settings) as made:
            yield made
    finally:
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 40) == 0
        log.close()


async def ask(asking: Asker, token: str | None, question: Question | None = None) -> Answer | str:
    """The answer, or the reason of the dead letter."""
    event = question or Question(question_id=uuid4(), tenant_id=A, question=TEXT)
    headers = [] if token is None else [("authorization", f"Bearer {token}".encode())]
    try:
        return (await asking.ask(event, Deadline.after(60), headers)).answer
    except Undeliverable as letter:
        return str(letter).partition("(")[2].partition(")")[0]


def event(**fields: object) -> Question:
    return msgspec.structs.replace(Question(question_id=uuid4(), tenant_id=A, question=TEXT), **fields)


async def test_a_question_is_answered_for_whom_its_token_names_and_nobody_else(
    asking: Asker, keys: Path, tmp_path: Path
) -> None:
    now = int(time.time())
    answered = await ask(asking, FIRST.token(A))
    assert isinstance(answered, Answer), answered
    assert answered.status is Status.ANSWERED
    assert MARKS[A] in answered.answer
    assert MARKS[B] not in msgspec.json.encode(answered).decode()

    other = Principal(subject="somebody.else", scopes=("market:read",))
    cases: list[tuple[str, str | None, Question | None, str]] = [
        ("none", None, None, "unauthenticated"),
        ("forged", STRANGER.token(A), None, "unauthenticated"),
        ("expired", FIRST.token(A, exp=now - 100), None, "unauthenticated"),
        ("another audience", FIRST.token(A, aud="console"), None, "unauthenticated"),
        ("another issuer", FIRST.token(A, iss="https://evil.example.test"), None, "unauthenticated"),
        ("another algorithm", jwt.encode({"sub": "x"}, "s" * 32, "HS256", headers={"kid": "first"}), None, "unauthenticated"),
        ("another tenant", FIRST.token(B), None, "identity_mismatch"),
        ("another tenant in the event", FIRST.token(A), event(tenant_id=B), "identity_mismatch"),
        ("another subject in the event", FIRST.token(A), event(principal=other), "identity_mismatch"),
        ("a key that is not there yet", SECOND.token(A), None, "unauthenticated"),
    ]  # fmt: skip
    ends = await asyncio.gather(*(ask(asking, token, question) for _, token, question, _ in cases))
    assert [(case[0], end) for case, end in zip(cases, ends, strict=True)] == [(case[0], case[3]) for case in cases]

    keys.write_text(key_set(SECOND))
    rotated = await ask(asking, SECOND.token(A))
    assert isinstance(rotated, Answer), rotated
    assert await ask(asking, FIRST.token(A)) == "unauthenticated"

    few = await ask(
        asking,
        SECOND.token(A, scope="docs:read"),
        event(principal=Principal(subject="capture.manager", scopes=("market:read",))),
    )
    assert isinstance(few, Answer), few
    assert not any(piece.plane == "market" for piece in few.evidence), "scopes are the token's, not the event's"

    said = (tmp_path / "worker.log").read_text()
    for secret in (TEXT, MARKS[A], MARKS[B], str(A), "capture.manager", "eyJ"):
        assert secret not in said, f"{secret} is in the log"
