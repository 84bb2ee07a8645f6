"""Envelope encryption and the handover of credentials."""

from __future__ import annotations

import asyncio
import base64
import hashlib

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from commonplace.storage.credentials.envelope import EnvelopeError, Keyring, Sealed
from commonplace.storage.credentials.handover import (
    CredentialHandover,
    CredentialPurpose,
    MemoryEnvelopeStore,
)

OLD, NEW = "the first secret, long", "the second secret, long"
KEY = "sk-caller-0123456789"
HERE = CredentialPurpose("t" * 64, "p", "/a.md")


def test_an_envelope_opens_only_with_its_context() -> None:
    ring = Keyring({1: OLD})
    envelope = ring.seal(KEY, b"here")
    assert ring.open(envelope, b"here") == KEY
    with pytest.raises(EnvelopeError):
        ring.open(envelope, b"there")


def test_every_envelope_has_its_own_data_key_and_hides_the_credential() -> None:
    ring = Keyring({1: OLD})
    made = [ring.seal(KEY, b"") for _ in range(50)]
    assert len({Sealed.parse(envelope).dek_id for envelope in made}) == 50
    assert not any(KEY.encode() in base64.b64decode(envelope) for envelope in made)


def test_the_newest_key_seals_and_all_open() -> None:
    before = Keyring({7: OLD}).seal(KEY, b"x")
    ring = Keyring({7: OLD, 8: NEW})
    assert ring.open(before, b"x") == KEY
    after = ring.seal(KEY, b"x")
    assert Sealed.parse(after).kek_id == 8
    retired = Keyring({8: NEW})
    assert retired.open(after, b"x") == KEY
    with pytest.raises(EnvelopeError, match="sealed with key 7"):
        retired.open(before, b"x")


def test_the_format_is_that_of_the_reference() -> None:
    """Taken apart by hand: header, HKDF without info, AES-256-GCM with the nonce in front."""
    packed = base64.b64decode(Keyring({513: OLD}).seal(KEY, b"aad"))
    assert packed[:5] == bytes([0, 128, 0, 1, 2])
    dek_id, nonce, rest = packed[5:133], packed[133:145], packed[145:]
    data_key = HKDF(SHA256(), 32, dek_id, None).derive(hashlib.sha256(OLD.encode()).digest())
    assert AESGCM(data_key).decrypt(nonce, rest, b"aad").decode() == KEY


@pytest.mark.parametrize(
    "broken", ["", "AAAA", "not base64!", base64.b64encode(b"\x01" * 200).decode(), "AP//AAA="]
)
def test_a_text_that_is_not_an_envelope_is_refused(broken: str) -> None:
    with pytest.raises(EnvelopeError):
        Keyring({1: OLD}).open(broken, b"")


def test_a_changed_byte_is_detected() -> None:
    ring = Keyring({1: OLD})
    packed = bytearray(base64.b64decode(ring.seal(KEY, b"")))
    for at in (6, 140, len(packed) - 1):
        changed = packed.copy()
        changed[at] ^= 1
        with pytest.raises(EnvelopeError):
            ring.open(base64.b64encode(bytes(changed)).decode(), b"")


def test_a_keyring_does_not_print_its_keys() -> None:
    assert OLD not in repr(Keyring({1: OLD}))


def test_a_credential_opens_only_for_its_job() -> None:
    async def story() -> None:
        store = MemoryEnvelopeStore()
        handover = CredentialHandover(Keyring({1: OLD}), store, "mcp:files:cred", 300)
        first, second = await handover.deposit([HERE, HERE], KEY)
        assert first.startswith(f"mcp:files:cred:{HERE.tenant}:p:/a.md:")
        assert await handover.collect(HERE, first) == KEY
        for other in (
            CredentialPurpose("u" * 64, "p", "/a.md"),
            CredentialPurpose(HERE.tenant, "q", "/a.md"),
            CredentialPurpose(HERE.tenant, "p", "/b.md"),
        ):
            assert await handover.collect(other, first) is None
        kept = await store.get(first)
        assert kept is not None
        assert KEY not in kept
        await store.put({second: kept}, 300)  # another job's envelope under this job's reference
        assert await handover.collect(HERE, second) is None
        await handover.discard([first])
        assert await handover.collect(HERE, first) is None

    asyncio.run(story())


def test_an_envelope_expires() -> None:
    async def story() -> None:
        now = 0.0
        handover = CredentialHandover(Keyring({1: OLD}), MemoryEnvelopeStore(lambda: now), "x", 300)
        (reference,) = await handover.deposit([HERE], KEY)
        now = 299.0
        assert await handover.collect(HERE, reference) == KEY
        now = 300.0
        assert await handover.collect(HERE, reference) is None

    asyncio.run(story())


def test_a_project_name_cannot_pass_for_another_path() -> None:
    async def story() -> None:
        handover = CredentialHandover(Keyring({1: OLD}), MemoryEnvelopeStore(), "x", 300)
        (reference,) = await handover.deposit([CredentialPurpose("t", "a:b", "/c")], KEY)
        assert await handover.collect(CredentialPurpose("t", "a", "b:/c"), reference) is None

    asyncio.run(story())
