"""Who asks. With PLANNER_AUTH=jwt a question carries a signed token, and what it says of the asker replaces what the
event says; an event that says otherwise is no question of that asker.

The token is a JWT (RFC 7519) in the record's header `authorization: Bearer …`, held to RFC 8725: three signature
algorithms, each tied to its kind of key; audience, issuer and expiry checked; no key taken from the token itself.
Neither the token nor a claim of it is logged or put into an error.
"""

import contextlib
import logging
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import httpx
import jwt
import msgspec
from msgspec import Struct

from consumer import keyset
from consumer.deadline import Deadline
from consumer.errors import DeadLetterReason, Misconfigured, Permanent
from consumer.settings import Settings
from consumer.stream.records import Received
from schemas import Question
from schemas.question import Principal

log = logging.getLogger(__name__)

HEADER = "authorization"
MAX_TOKEN_BYTES = 16_384
SCOPE_CLAIMS = ("scope", "scp", "scopes")
"""Where issuers put scopes: RFC 9068 as one string with spaces, others as `scp` or as a list."""


class Identity(Struct, frozen=True):
    """What a verified token says of the asker."""

    tenant_id: UUID
    subject: str
    scopes: tuple[str, ...]


class Authorize(Protocol):
    async def __call__(self, question: Question, received: Received, deadline: Deadline) -> Question:
        """The question with the principal to be trusted. Raises Permanent for one that must not be answered,
        Transient when that can't be told now."""
        ...


async def trust(question: Question, received: Received, deadline: Deadline) -> Question:
    """PLANNER_AUTH=none: who may write to the topic may say who asks."""
    del received, deadline
    return question


class Authority:
    """Verifies the token of each question."""

    def __init__(self, keys: keyset.KeySet, settings: Settings) -> None:
        self._keys = keys
        self._settings = settings

    async def __call__(self, question: Question, received: Received, deadline: Deadline) -> Question:
        return agreed(question, await self.identify(bearer(received), received.read_at, deadline))

    async def identify(self, token: str, since: float, deadline: Deadline) -> Identity:
        """The identity in a token that holds. Raises Permanent (unauthenticated) otherwise, Transient when the keys
        can't be read. `since` is when the token came in: an unknown key is looked for in a set no older."""
        try:
            header = jwt.get_unverified_header(token)
            if "crit" in header or len(token) > MAX_TOKEN_BYTES:
                raise _unauthenticated()
            kid, algorithm = header.get("kid", ""), header["alg"]
            if not isinstance(kid, str) or algorithm not in keyset.ALGORITHMS.values():
                raise _unauthenticated()
            key = await self._keys.find(kid, algorithm, since, deadline)
            if key is None:
                raise _unauthenticated()
            return self._identity(self._claims(token, key))
        except (jwt.PyJWTError, ValueError, TypeError, LookupError, OverflowError, RecursionError):
            raise _unauthenticated() from None

    def _claims(self, token: str, key: keyset.Key) -> Mapping[str, Any]:
        settings = self._settings
        return jwt.decode(
            token,
            key.public,
            algorithms=[key.algorithm],
            audience=settings.jwt_audience,
            issuer=settings.jwt_issuer or None,
            leeway=settings.jwt_leeway_seconds,
            options={"require": ["exp", "aud", "sub", settings.jwt_tenant_claim]},
        )

    def _identity(self, claims: Mapping[str, Any]) -> Identity:
        principal = msgspec.convert({"subject": claims["sub"], "scopes": _scopes(claims)}, Principal)
        tenant_id = msgspec.convert(claims[self._settings.jwt_tenant_claim], UUID)
        return Identity(tenant_id, principal.subject, principal.scopes)


def bearer(received: Received) -> str:
    """The token of a record. Raises Permanent when it has none, or more than one: which would count?"""
    values = [value for name, value in received.headers if name.lower() == HEADER]
    if len(values) != 1 or values[0] is None:
        raise _unauthenticated()
    scheme, _, token = values[0].decode("ascii", "replace").partition(" ")
    if scheme.lower() != "bearer" or not token:
        raise _unauthenticated()
    return token.strip()


def agreed(question: Question, identity: Identity) -> Question:
    """The question as its verified asker asks it. Raises Permanent when the event names another tenant or subject."""
    claimed = question.principal
    if question.tenant_id != identity.tenant_id or (claimed is not None and claimed.subject != identity.subject):
        raise Permanent(DeadLetterReason.IDENTITY_MISMATCH)
    principal = Principal(subject=identity.subject, scopes=identity.scopes)
    return msgspec.structs.replace(question, principal=principal)


@contextlib.asynccontextmanager
async def open_authority(settings: Settings) -> AsyncGenerator[Authorize, None]:
    """Who decides who asks. Raises Misconfigured for a key set that is not named, not there or none.

    A URL that does not answer now is no reason not to start: questions wait for it.
    """
    if settings.auth == "none":
        yield trust
        return
    source = settings.jwt_jwks
    if not source:
        raise Misconfigured("PLANNER_JWT_JWKS is not set; PLANNER_AUTH=jwt needs the file or URL of the keys")
    async with httpx.AsyncClient(timeout=keyset.READ_SECONDS, follow_redirects=False) as client:
        remote = keyset.is_url(source)
        keys = keyset.from_url(source, client) if remote else keyset.from_file(Path(source))
        try:
            await keys.load()
        except (keyset.InvalidKeys, OSError, TimeoutError, httpx.HTTPError, httpx.InvalidURL) as error:
            if not remote or isinstance(error, httpx.InvalidURL):
                raise Misconfigured(f"PLANNER_JWT_JWKS: {source} holds no keys: {error}") from None
            log.warning("the key set can't be read yet", extra={"error": type(error).__name__})
        try:
            yield Authority(keys, settings)
        finally:
            await keys.close()


def _scopes(claims: Mapping[str, Any]) -> list[Any]:
    """The scopes of the first claim that holds any; none means none, not the default ones."""
    for name in SCOPE_CLAIMS:
        match claims.get(name):
            case str() as text:
                return text.split()
            case list() as found:
                return found
            case _:
                continue
    return []


def _unauthenticated() -> Permanent:
    return Permanent(DeadLetterReason.UNAUTHENTICATED)
