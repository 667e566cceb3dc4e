"""Signed notes: what is signed is read back, what was touched is refused."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from consumer.audit.checkpoint import Checkpoint, open_note, parse, sign

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER = Ed25519PrivateKey.from_private_bytes(bytes(32))
CHECKPOINT = Checkpoint(3, 1_000, bytes(range(32)))
NOTE = sign(CHECKPOINT, KEY)


def test_a_signed_note_opens_to_its_checkpoint() -> None:
    assert open_note(NOTE, KEY.public_key()) == CHECKPOINT
    assert parse(NOTE) == CHECKPOINT


FORGERIES = {
    "another size": NOTE.replace("1000", "1001"),
    "another chain": NOTE.replace("/3", "/4"),
    "no signature": NOTE.split("\n\n")[0] + "\n\n",
    "a signature cut short": NOTE[:-10] + "\n",
    "nothing": "",
    "prose": "all is well",
    "another key": sign(CHECKPOINT, OTHER),
    "a negative size": NOTE.replace("1000", "-1"),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_note_is_refused(name: str) -> None:
    with pytest.raises(ValueError):
        open_note(FORGERIES[name], KEY.public_key())
