"""Signed tokens of tests, and key sets to verify them with."""

import json
import time
from typing import Any
from uuid import UUID

import jwt
from cryptography.hazmat.primitives.asymmetric import ed25519

ISSUER = "https://login.example.test"


class Signer:
    """An Ed25519 key with a name."""

    def __init__(self, kid: str) -> None:
        self.kid = kid
        self.private = ed25519.Ed25519PrivateKey.generate()

    def token(self, tenant: UUID, **changed: Any) -> str:
        """A token of `tenant` that holds for five minutes; a claim that is None is left out."""
        now = int(time.time())
        base: dict[str, Any] = {
            "sub": "capture.manager", "tenant_id": str(tenant), "aud": "planner", "iss": ISSUER, "iat": now,
            "exp": now + 300, "scope": "market:read graph:read bench:read docs:read",
        }  # fmt: skip
        claims = {name: value for name, value in {**base, **changed}.items() if value is not None}
        return jwt.encode(claims, self.private, "EdDSA", headers={"kid": self.kid})


def key_set(*signers: Signer) -> str:
    handler = jwt.get_algorithm_by_name("EdDSA")
    return json.dumps(
        {"keys": [{**handler.to_jwk(s.private.public_key(), as_dict=True), "kid": s.kid} for s in signers]}
    )
