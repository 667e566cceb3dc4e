"""Signed checkpoints of a chain, in the note format of C2SP (signed-note, tlog-checkpoint).

A checkpoint says "chain N had this many rows with this root". Kept outside the database, on a topic with other
access rights and in the log, it shows what no table can show of itself: a cut tail, a chain rebuilt from scratch,
a restored backup. Ed25519 (FIPS 186-5).
"""

import base64
import binascii
from hashlib import sha256
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from msgspec import Struct

from consumer.errors import Misconfigured

ORIGIN = "planner-audit"
ED25519 = b"\x01"  # the signature type byte of C2SP signed-note
SIGNATURE_PREFIX = "\N{EM DASH} "  # fixed by the note format


class Checkpoint(Struct, frozen=True):
    """Chain `chain_id` had `size` rows whose tree has `root`."""

    chain_id: int
    size: int
    root: bytes

    def text(self) -> str:
        return f"{origin(self.chain_id)}\n{self.size}\n{base64.b64encode(self.root).decode()}\n"


def origin(chain_id: int) -> str:
    return f"{ORIGIN}/{chain_id}"


def key_id(name: str, public: Ed25519PublicKey) -> bytes:
    raw = public.public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
    return sha256(name.encode() + b"\n" + ED25519 + raw).digest()[:4]


def sign(checkpoint: Checkpoint, key: Ed25519PrivateKey) -> str:
    """The note: the checkpoint's text, an empty line, one signature line."""
    name, text = origin(checkpoint.chain_id), checkpoint.text()
    signature = key_id(name, key.public_key()) + key.sign(text.encode())
    return f"{text}\n{SIGNATURE_PREFIX}{name} {base64.b64encode(signature).decode()}\n"


def parse(note: str) -> Checkpoint:
    """The checkpoint of a note, its signature not looked at. Raises ValueError when it is none."""
    lines = note.split("\n")
    name, _, chain = (lines[0] if lines else "").rpartition("/")
    if len(lines) < 3 or name != ORIGIN or not chain.isdecimal() or not lines[1].isdecimal():
        raise ValueError("not a checkpoint of this audit trail")
    try:
        root = base64.b64decode(lines[2], validate=True)
    except binascii.Error:
        raise ValueError("the checkpoint's root is not base64") from None
    return Checkpoint(int(chain), int(lines[1]), root)


def open_note(note: str, public: Ed25519PublicKey) -> Checkpoint:
    """The checkpoint of a note whose signature holds. Raises ValueError when it does not."""
    checkpoint = parse(note)
    name = origin(checkpoint.chain_id)
    prefix = f"{SIGNATURE_PREFIX}{name} "
    for line in note.split("\n\n", 1)[-1].splitlines():
        if not line.startswith(prefix):
            continue
        try:
            signature = base64.b64decode(line.removeprefix(prefix), validate=True)
            if signature[:4] == key_id(name, public):
                public.verify(signature[4:], checkpoint.text().encode())
                return checkpoint
        except (binascii.Error, InvalidSignature):
            break
    raise ValueError(f"no valid signature on the checkpoint of chain {checkpoint.chain_id} at {checkpoint.size}")


def read_private_key(path: str) -> Ed25519PrivateKey:
    """Raises Misconfigured when the file is no unencrypted Ed25519 key in PEM."""
    try:
        key = serialization.load_pem_private_key(Path(path).read_bytes(), password=None)
    except (OSError, ValueError, TypeError) as error:
        raise Misconfigured(
            f"PLANNER_AUDIT_SIGNING_KEY: {path} can't be read as a PEM key ({type(error).__name__})"
        ) from None
    if not isinstance(key, Ed25519PrivateKey):
        raise Misconfigured(f"PLANNER_AUDIT_SIGNING_KEY: {path} is not an Ed25519 key")
    return key


def read_public_key(path: str) -> Ed25519PublicKey:
    """Raises Misconfigured when the file is no Ed25519 public key in PEM."""
    try:
        key = serialization.load_pem_public_key(Path(path).read_bytes())
    except (OSError, ValueError, TypeError) as error:
        raise Misconfigured(f"{path} can't be read as a PEM public key ({type(error).__name__})") from None
    if not isinstance(key, Ed25519PublicKey):
        raise Misconfigured(f"{path} is not an Ed25519 public key")
    return key
