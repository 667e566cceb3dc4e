"""The public keys that sign tokens: a JSON Web Key Set (RFC 7517) in a file or behind a URL, kept fresh.

Keys rotate without a restart: a file is read again when it changes, a URL when what it gave has aged or a token names a
key that is not there. A key that left the set is forgotten with the next read. When the URL is away the keys last read
serve for a while, and then nobody is let in: questions wait, none is lost.

Each key is tied to the one algorithm that its type allows here, so that a token can't choose how it is verified
(RFC 8725 section 3.1). Symmetric keys are ignored: who may verify with one may also sign.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from msgspec import Struct

from consumer.deadline import Deadline
from consumer.errors import Misconfigured, Transient

log = logging.getLogger(__name__)

FRESH_SECONDS = 300.0
"""Age at which a set is read again."""
STALE_SECONDS = 3_600.0
"""Age to which the last set serves while its source is away."""
AGAIN_SECONDS = 2.0
"""Shortest time between two reads, whatever the tokens name."""
READ_SECONDS = 5.0
GRACE_SECONDS = 0.25
"""How long a question waits for a set that has aged, before it goes on with the old one."""
MAX_BYTES = 262_144
RSA_BITS = 2_048  # NIST SP 800-131A: shorter ones no longer sign

ALGORITHMS: Mapping[tuple[str, str], str] = {
    ("OKP", "Ed25519"): "EdDSA",
    ("EC", "P-256"): "ES256",
    ("RSA", ""): "RS256",
}
"""By key type and curve."""


class Key(Struct, frozen=True):
    """A public key and the one algorithm that it verifies. `kid` is empty where the set does not name it."""

    kid: str
    algorithm: str
    public: Any


Keys = tuple[Key, ...]


class InvalidKeys(Exception):
    """What the source gave is no key set, or holds no key of use. The message says why, without its content."""


def parse(content: bytes) -> Keys:
    """The usable keys of a set. Raises InvalidKeys when there are none."""
    if len(content) > MAX_BYTES:
        raise InvalidKeys(f"larger than {MAX_BYTES} bytes")
    try:
        entries = json.loads(content)["keys"]
        found = tuple(key for entry in entries if (key := _key(entry)) is not None)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise InvalidKeys("not a JSON Web Key Set") from None
    if not found:
        raise InvalidKeys("no Ed25519, P-256 or RSA key for signatures in it")
    return found


def _key(entry: Mapping[str, Any]) -> Key | None:
    """The key of one entry, or None for one that does not verify tokens here."""
    algorithm = ALGORITHMS.get((entry["kty"], entry.get("crv", "")))
    operations = entry.get("key_ops", ["verify"])
    if algorithm is None or entry.get("use", "sig") != "sig" or "verify" not in operations:
        return None
    if entry.get("alg", algorithm) != algorithm:
        return None
    try:
        public = jwt.PyJWK({name: v for name, v in entry.items() if name != "d"}, algorithm).key
    except jwt.PyJWTError:
        return None
    if isinstance(public, RSAPublicKey) and public.key_size < RSA_BITS:
        return None
    return Key(str(entry.get("kid", "")), algorithm, public)


Read = Callable[[], Awaitable[Keys]]
"""Reads the source. Raises InvalidKeys, OSError or httpx.HTTPError."""


class KeySet:
    """The keys of one source. Reads happen one at a time, apart from the questions: a source that hangs holds back
    those alone whose key is not known."""

    def __init__(self, read: Read, fresh_seconds: float = FRESH_SECONDS) -> None:
        self._read = read
        self._fresh_seconds = fresh_seconds
        self._keys: Keys = ()
        self._good_at = self._tried_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def find(self, kid: str, algorithm: str, since: float, deadline: Deadline) -> Key | None:
        """The key that a token names by `kid` and `algorithm`; without a `kid`, the only one of its algorithm.

        None says that there is no such key, after a look at the source no older than `since` (seconds of the loop's
        clock). Raises Transient when the source can't be asked now.
        """
        if _now() - self._good_at >= self._fresh_seconds and not self._is_reading():
            await asyncio.wait({self._reread()}, timeout=min(GRACE_SECONDS, deadline.remaining()))
        key = self._match(kid, algorithm)
        if key is None and self._good_at < since:
            await asyncio.wait({self._reread()}, timeout=deadline.remaining())
            key = self._match(kid, algorithm)
        if _now() - self._good_at > STALE_SECONDS or (key is None and self._good_at < since):
            raise Transient("the key set can't be read")
        return key

    async def load(self) -> None:
        """Reads the source for the first time. Raises InvalidKeys, OSError, TimeoutError or httpx.HTTPError."""
        async with asyncio.timeout(READ_SECONDS):
            await self._take()

    async def close(self) -> None:
        """Ends a read that still runs."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait({self._reading})

    def _match(self, kid: str, algorithm: str) -> Key | None:
        alike = [key for key in self._keys if key.algorithm == algorithm and (not kid or key.kid == kid)]
        return alike[0] if len(alike) == 1 else None

    def _is_reading(self) -> bool:
        return self._reading is not None and not self._reading.done()

    def _reread(self) -> asyncio.Task[None]:
        """The read that runs, or a new one."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read_again())
        return self._reading

    async def _read_again(self) -> None:
        """Never sooner after the last read than AGAIN_SECONDS: a flood of unknown keys is no flood of reads."""
        await asyncio.sleep(max(0.0, self._tried_at + AGAIN_SECONDS - _now()))
        try:
            await self.load()
        except (InvalidKeys, OSError, TimeoutError, httpx.HTTPError) as error:
            log.warning("the key set can't be read", extra={"error": type(error).__name__})

    async def _take(self) -> None:
        began = self._tried_at = _now()
        self._keys = await self._read()
        self._good_at = began


def _now() -> float:
    return asyncio.get_running_loop().time()


def from_file(path: Path) -> KeySet:
    """The set in a file, read again every few seconds at most: a secret that is mounted changes in place."""

    async def read() -> Keys:
        return parse(await asyncio.to_thread(path.read_bytes))

    return KeySet(read, AGAIN_SECONDS)


def from_url(url: str, client: httpx.AsyncClient) -> KeySet:
    """The set behind a URL, read without following redirects."""

    async def read() -> Keys:
        async with client.stream("GET", url) as response:
            response.raise_for_status()
            content = b""
            async for piece in response.aiter_bytes():
                content += piece
                if len(content) > MAX_BYTES:
                    break
        return parse(content)

    return KeySet(read)


def is_url(source: str) -> bool:
    """Whether the setting names a URL. Raises Misconfigured for one whose keys anybody on the way could replace."""
    try:
        parts = urlsplit(source)
    except ValueError as error:
        raise Misconfigured(f"PLANNER_JWT_JWKS is no URL: {error}") from None
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise Misconfigured("PLANNER_JWT_JWKS is fetched over plain http; use https, or a file")
    return parts.scheme in ("http", "https")
