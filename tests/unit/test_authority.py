# ruff: noqa: E501 one token a line reads best
"""Who asks: a token that does not hold, or speaks of somebody else, is a dead letter with a stable reason."""

import asyncio
import base64
import hashlib
import hmac
import json
import time
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from consumer import keyset
from consumer.authority import open_authority, trust
from consumer.deadline import Deadline
from consumer.errors import DeadLetterReason, Misconfigured, Permanent, Transient
from consumer.settings import Settings
from consumer.stream.records import Received
from schemas import Question
from schemas.question import Principal

TENANT, OTHER = UUID("7c1f0d52-94a6-4c0f-8d0b-0a5b1f1d3e10"), UUID("b2a9e1f4-50c7-4a4e-9a77-6f3c2d1e0b98")
ISSUER = "https://login.example.test"
ED, EC, RSA = (
    ed25519.Ed25519PrivateKey.generate(),
    ec.generate_private_key(ec.SECP256R1()),
    rsa.generate_private_key(65_537, 2_048),
)
STRANGER = ed25519.Ed25519PrivateKey.generate()
SHORT = rsa.generate_private_key(65_537, 1_024)
SIGNERS = {"ed": (ED, "EdDSA"), "ec": (EC, "ES256"), "rsa": (RSA, "RS256")}
HOLDS = "holds"
UNAUTHENTICATED, MISMATCH = DeadLetterReason.UNAUTHENTICATED, DeadLetterReason.IDENTITY_MISMATCH


def jwk(private: Any, algorithm: str, kid: str, **more: Any) -> dict[str, Any]:
    handler = jwt.get_algorithm_by_name(algorithm)
    return {**handler.to_jwk(private.public_key(), as_dict=True), "kid": kid, **more}


def key_set(**keys: tuple[Any, str]) -> bytes:
    return json.dumps({"keys": [jwk(private, algorithm, kid) for kid, (private, algorithm) in keys.items()]}).encode()


def claims(**changed: Any) -> dict[str, Any]:
    now = int(time.time())
    base = {
        "sub": "capture.manager",
        "tenant_id": str(TENANT),
        "aud": "planner",
        "iss": ISSUER,
        "iat": now,
        "exp": now + 300,
        "scope": "market:read bench:read",
    }
    return {name: value for name, value in {**base, **changed}.items() if value is not None}


def token(signer: str = "ed", headers: dict[str, Any] | None = None, **changed: Any) -> str:
    private, algorithm = SIGNERS[signer]
    return jwt.encode(claims(**changed), private, algorithm, headers={"kid": signer, **(headers or {})})


def raw(header: dict[str, Any], body: dict[str, Any], sign: Callable[[bytes], bytes]) -> str:
    """A token that no library would write."""

    def part(content: bytes) -> str:
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    signed = f"{part(json.dumps(header).encode())}.{part(json.dumps(body).encode())}"
    return f"{signed}.{part(sign(signed.encode()))}"


def with_hmac(secret: bytes) -> Callable[[bytes], bytes]:
    return lambda signed: hmac.new(secret, signed, hashlib.sha256).digest()


def pem(private: Any) -> bytes:
    return private.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def record(*headers: tuple[str, bytes | None]) -> Received:
    return Received("q", 0, 0, 0, None, b"{}", headers, read_at=asyncio.get_running_loop().time())


def asked(text: str) -> Received:
    return record(("authorization", f"Bearer {text}".encode()))


def question(tenant: UUID = TENANT, principal: Principal | None = None) -> Question:
    return Question(question_id=TENANT, tenant_id=tenant, question="Who competes?", principal=principal)


def settings(source: str, **changed: Any) -> Settings:
    return Settings(auth="jwt", jwt_jwks=source, **{"jwt_issuer": ISSUER, **changed})


@pytest.fixture
def keys_file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_bytes(key_set(**SIGNERS))
    return path


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyset, "AGAIN_SECONDS", 0.05)


class Server:
    """A key server of one address: gives `body` with `status`, and counts."""

    def __init__(self) -> None:
        self.body, self.status, self.asked, self.hang = key_set(**SIGNERS), 200, 0, False
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        self.asked += 1
        if self.hang:
            await reader.read()
        head = f"HTTP/1.1 {self.status} X\r\ncontent-length: {len(self.body)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + self.body)
        writer.close()


@pytest.fixture
async def server() -> AsyncGenerator[Server]:
    made = Server()
    listening = await asyncio.start_server(made.answer, "127.0.0.1", 0)
    made.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/jwks"
    yield made
    listening.close()


def write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def tokens() -> list[tuple[str, str, str]]:
    """What is wrong with it, the token, how it must end."""
    now = int(time.time())
    body = claims()
    return [
        ("nothing, EdDSA", token("ed"), HOLDS),
        ("nothing, ES256", token("ec"), HOLDS),
        ("nothing, RS256", token("rsa"), HOLDS),
        ("no key named, the only one of its algorithm", jwt.encode(body, ED, "EdDSA"), HOLDS),
        ("one of several audiences", token(aud=["other", "planner"]), HOLDS),
        ("expired within the leeway", token(exp=now - 10), HOLDS),
        ("scopes as a list", token(scope=None, scp=["market:read", "bench:read"]), HOLDS),
        ("another tenant", token(tenant_id=str(OTHER)), MISMATCH),
        ("expired", token(exp=now - 60), UNAUTHENTICATED),
        ("not valid yet", token(nbf=now + 120), UNAUTHENTICATED),
        ("issued in the future", token(iat=now + 120), UNAUTHENTICATED),
        ("expiry is infinite", token(exp=1e999), UNAUTHENTICATED),
        ("expiry is text", token(exp="tomorrow"), UNAUTHENTICATED),
        ("no expiry", token(exp=None), UNAUTHENTICATED),
        ("wrong audience", token(aud="console"), UNAUTHENTICATED),
        ("no audience", token(aud=None), UNAUTHENTICATED),
        ("wrong issuer", token(iss="https://evil.example.test"), UNAUTHENTICATED),
        ("no issuer", token(iss=None), UNAUTHENTICATED),
        ("no subject", token(sub=None), UNAUTHENTICATED),
        ("empty subject", token(sub=""), UNAUTHENTICATED),
        ("no tenant", token(tenant_id=None), UNAUTHENTICATED),
        ("tenant is no UUID", token(tenant_id="the navy"), UNAUTHENTICATED),
        ("tenant is a list", token(tenant_id=[str(TENANT)]), UNAUTHENTICATED),
        ("scope is no text", token(scope=[1, 2]), UNAUTHENTICATED),
        ("another's key", jwt.encode(body, STRANGER, "EdDSA", headers={"kid": "ed"}), UNAUTHENTICATED),
        ("unknown key", jwt.encode(body, STRANGER, "EdDSA", headers={"kid": "new"}), UNAUTHENTICATED),
        ("no signature", raw({"alg": "none", "kid": "ed"}, body, lambda _: b""), UNAUTHENTICATED),
        ("no signature, other spelling", raw({"alg": "nOnE"}, body, lambda _: b""), UNAUTHENTICATED),
        ("signed with the public key as a secret", raw({"alg": "HS256", "kid": "rsa"}, body, with_hmac(pem(RSA))), UNAUTHENTICATED),
        ("signed with the set as a secret", raw({"alg": "HS256", "kid": "ed"}, body, with_hmac(key_set(**SIGNERS))), UNAUTHENTICATED),
        ("an algorithm of another key", raw({"alg": "RS256", "kid": "ed"}, body, ED.sign), UNAUTHENTICATED),
        ("an algorithm that is not taken", jwt.encode(body, RSA, "RS512", headers={"kid": "rsa"}), UNAUTHENTICATED),
        ("an algorithm that is not taken, PSS", jwt.encode(body, RSA, "PS256", headers={"kid": "rsa"}), UNAUTHENTICATED),
        ("an empty ECDSA signature (CVE-2022-21449)", raw({"alg": "ES256", "kid": "ec"}, body, lambda _: bytes(64)), UNAUTHENTICATED),
        ("a key inside the token", raw({"alg": "EdDSA", "kid": "x", "jwk": jwk(STRANGER, "EdDSA", "x")}, body, STRANGER.sign), UNAUTHENTICATED),
        ("a key behind a URL of the token", raw({"alg": "EdDSA", "kid": "x", "jku": "http://127.0.0.1/"}, body, STRANGER.sign), UNAUTHENTICATED),
        ("a demand that is not understood", token(headers={"crit": ["x"], "x": 1}), UNAUTHENTICATED),
        ("a body that is not encoded", raw({"alg": "EdDSA", "kid": "ed", "b64": False, "crit": ["b64"]}, body, ED.sign), UNAUTHENTICATED),
        ("a key name that is a path", raw({"alg": "EdDSA", "kid": "../../dev/null"}, body, with_hmac(b"")), UNAUTHENTICATED),
        ("a key name that is no text", raw({"alg": "EdDSA", "kid": 7}, body, ED.sign), UNAUTHENTICATED),
        ("a body that was changed", token()[:40] + "x" + token()[41:], UNAUTHENTICATED),
        ("too large", token(more="x" * 20_000), UNAUTHENTICATED),
        ("two parts", "a.b", UNAUTHENTICATED),
        ("no token", "", UNAUTHENTICATED),
        ("not even text", "\x00\xff", UNAUTHENTICATED),
        ("deep", base64.urlsafe_b64encode(b"[" * 9_000).decode() + ".e30.e30", UNAUTHENTICATED),
    ]  # fmt: skip


@pytest.mark.parametrize("flaw", [name for name, _, _ in tokens()])
async def test_a_token_with_a_flaw_is_a_dead_letter(keys_file: Path, flaw: str) -> None:
    # Made anew: the ones of collection may have expired by now, minutes later in a full run.
    text, ends = next((text, ends) for name, text, ends in tokens() if name == flaw)
    async with open_authority(settings(str(keys_file))) as authorize:
        try:
            got = await authorize(question(), asked(text), Deadline.after(5))
        except Permanent as error:
            assert error.reason == ends
            assert text not in str(error) or not text
        else:
            assert ends == HOLDS
            assert got.principal == Principal(subject="capture.manager", scopes=("market:read", "bench:read"))


async def test_the_token_replaces_what_the_event_claims(keys_file: Path) -> None:
    claimed = Principal(subject="capture.manager", scopes=("market:read", "bench:read", "graph:read", "docs:read"))
    async with open_authority(settings(str(keys_file))) as authorize:
        got = await authorize(question(principal=claimed), asked(token(scope="market:read")), Deadline.after(5))
        bare = await authorize(question(), asked(token(scope=None)), Deadline.after(5))
    assert got.principal == Principal(subject="capture.manager", scopes=("market:read",))
    assert bare.principal == Principal(subject="capture.manager", scopes=())


async def test_another_subject_or_tenant_in_the_event_is_a_mismatch(keys_file: Path) -> None:
    events = [question(tenant=OTHER), question(principal=Principal(subject="somebody.else"))]
    async with open_authority(settings(str(keys_file))) as authorize:
        for event in events:
            with pytest.raises(Permanent) as refused:
                await authorize(event, asked(token()), Deadline.after(5))
            assert refused.value.reason is MISMATCH


async def test_one_header_counts_and_only_one(keys_file: Path) -> None:
    good = f"Bearer {token()}".encode()
    refused: list[tuple[tuple[str, bytes | None], ...]] = [
        (),
        (("authorization", None),),
        (("authorization", good), ("authorization", good)),
        (("authorization", good), ("Authorization", b"Bearer x")),
        (("authorization", b"Basic " + good[7:]),),
        (("authorization", good[7:]),),
    ]
    async with open_authority(settings(str(keys_file))) as authorize:
        for headers in refused:
            with pytest.raises(Permanent) as error:
                await authorize(question(), record(*headers), Deadline.after(5))
            assert error.value.reason is UNAUTHENTICATED
        for name, value in (("Authorization", good), ("authorization", b"bearer  " + good[7:])):
            assert await authorize(question(), record((name, value)), Deadline.after(5))


async def test_keys_of_a_file_rotate_without_a_restart(keys_file: Path) -> None:
    async with open_authority(settings(str(keys_file))) as authorize:
        await authorize(question(), asked(token("ed")), Deadline.after(5))
        write(keys_file, key_set(fresh=(STRANGER, "EdDSA")))
        after = jwt.encode(claims(), STRANGER, "EdDSA", headers={"kid": "fresh"})
        await authorize(question(), asked(after), Deadline.after(5))
        with pytest.raises(Permanent):  # the old key is gone with its set
            await authorize(question(), asked(token("ed")), Deadline.after(5))


async def test_keys_of_a_url_rotate_without_a_restart(server: Server) -> None:
    async with open_authority(settings(server.url)) as authorize:
        await authorize(question(), asked(token("ed")), Deadline.after(5))
        server.body = key_set(fresh=(STRANGER, "EdDSA"))
        after = jwt.encode(claims(), STRANGER, "EdDSA", headers={"kid": "fresh"})
        await authorize(question(), asked(after), Deadline.after(5))
        assert server.asked == 2
        with pytest.raises(Permanent):
            await authorize(question(), asked(token("ed")), Deadline.after(5))


async def test_a_flood_of_unknown_keys_is_no_flood_of_reads(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyset, "AGAIN_SECONDS", 0.3)
    unknown = [jwt.encode(claims(), STRANGER, "EdDSA", headers={"kid": f"k{n}"}) for n in range(200)]
    async with open_authority(settings(server.url)) as authorize:
        work = [authorize(question(), asked(text), Deadline.after(5)) for text in unknown]
        ends = await asyncio.gather(*work, return_exceptions=True)
        assert {type(end) for end in ends} == {Permanent}
        assert server.asked == 2


async def test_a_key_server_that_is_away_costs_time_and_no_dead_letter(server: Server) -> None:
    server.status = 503
    async with open_authority(settings(server.url)) as authorize:
        with pytest.raises(Transient):
            await authorize(question(), asked(token()), Deadline.after(5))
        server.status = 200
        assert await authorize(question(), asked(token()), Deadline.after(5))
        for body in (b"<html>", b"{}", b'{"keys": []}', b"x" * 300_000):
            server.body = body
            with pytest.raises(Transient):
                await authorize(question(), asked(token("ed", {"kid": "later"})), Deadline.after(5))
        assert await authorize(question(), asked(token()), Deadline.after(5))


async def test_a_key_server_that_hangs_holds_back_nobody_with_a_known_key(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keyset, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(keyset, "GRACE_SECONDS", 0.02)
    async with open_authority(settings(server.url)) as authorize:
        server.hang = True
        async with asyncio.timeout(1):
            for _ in range(20):
                assert await authorize(question(), asked(token()), Deadline.after(5))


async def test_keys_serve_for_a_while_and_then_nobody_is_let_in(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_authority(settings(server.url)) as authorize:
        server.status = 500
        monkeypatch.setattr(keyset, "STALE_SECONDS", 0.0)
        with pytest.raises(Transient):
            await authorize(question(), asked(token()), Deadline.after(5))


IGNORED = [
    {"kty": "oct", "k": "c2VjcmV0", "kid": "ed"},
    jwk(SHORT, "RS256", "short"),
    jwk(ED, "EdDSA", "enc", use="enc"),
    jwk(ED, "EdDSA", "ops", key_ops=["sign"]),
    jwk(ED, "EdDSA", "alg", alg="RS256"),
    jwk(ec.generate_private_key(ec.SECP384R1()), "ES384", "p384"),
    {"kty": "OKP", "crv": "Ed25519", "x": "AA", "kid": "broken"},
]


def test_keys_that_must_not_verify_are_left_out() -> None:
    found = keyset.parse(json.dumps({"keys": [*IGNORED, jwk(ED, "EdDSA", "good")]}).encode())
    assert [(key.kid, key.algorithm) for key in found] == [("good", "EdDSA")]


async def test_two_keys_of_one_name_are_no_key(keys_file: Path) -> None:
    write(keys_file, json.dumps({"keys": [jwk(ED, "EdDSA", "ed"), jwk(STRANGER, "EdDSA", "ed")]}).encode())
    async with open_authority(settings(str(keys_file))) as authorize:
        with pytest.raises(Permanent):
            await authorize(question(), asked(token("ed")), Deadline.after(5))


SETUPS = [
    ("", "PLANNER_JWT_JWKS is not set"),
    ("/nowhere/keys.json", "holds no keys"),
    ("http://keys.example.test/jwks", "plain http"),
    ("https://[", "PLANNER_JWT_JWKS"),
]


@pytest.mark.parametrize(("source", "says"), SETUPS)
async def test_a_key_set_that_can_not_be_is_said_at_the_start(source: str, says: str) -> None:
    with pytest.raises(Misconfigured, match=says):
        async with open_authority(settings(source)):
            pass


async def test_a_file_without_keys_is_said_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    for content in (b"", b"{}", b'{"keys": 3}', json.dumps({"keys": IGNORED}).encode()):
        path.write_bytes(content)
        with pytest.raises(Misconfigured, match="holds no keys"):
            async with open_authority(settings(str(path))):
                pass


async def test_without_jwt_the_event_says_who_asks() -> None:
    async with open_authority(Settings()) as authorize:
        assert authorize is trust
        event = question(principal=Principal(subject="x", scopes=("market:read",)))
        assert msgspec.json.encode(await authorize(event, record(), Deadline.after(1))) == msgspec.json.encode(event)
