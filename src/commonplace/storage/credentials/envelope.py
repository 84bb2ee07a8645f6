"""Envelope encryption, a new data key for each (docs/reference/contracts/files.md, 12.3).

The data key is derived from a key-encryption key. The format is that of the reference's in-memory
KMS, so that both can read each other's envelopes:
base64(version u8 | length of dek_id u16 | kek_id u16 | dek_id | nonce | ciphertext | tag),
little-endian; KEK = SHA-256(secret), data key = HKDF-SHA256(KEK, salt = dek_id), AES-256-GCM.
`cryptography` is imported when the first envelope is made or opened.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass

VERSION = 0
DEK_ID_BYTES = 128
DATA_KEY_BYTES = 32
NONCE_BYTES = 12
_HEAD = struct.Struct("<BHH")


class EnvelopeError(Exception):
    """An envelope cannot be opened: wrong context, missing key, or invalid format.

    The message does not reveal the content.
    """


@dataclass(frozen=True, slots=True)
class Sealed:
    """The parts of an envelope."""

    kek_id: int
    dek_id: bytes
    ciphertext: bytes  # nonce, encrypted text, tag

    def text(self) -> str:
        """Encode the envelope."""
        packed = _HEAD.pack(VERSION, len(self.dek_id), self.kek_id) + self.dek_id + self.ciphertext
        return base64.b64encode(packed).decode("ascii")

    @classmethod
    def parse(cls, text: str) -> Sealed:
        """Decode an envelope. Raises EnvelopeError."""
        try:
            packed = base64.b64decode(text, validate=True)
            version, length, kek_id = _HEAD.unpack_from(packed)
        except (binascii.Error, ValueError, struct.error):
            raise EnvelopeError("not an envelope") from None
        if version != VERSION or len(packed) < _HEAD.size + length:
            raise EnvelopeError("not an envelope")
        return cls(kek_id, packed[_HEAD.size : _HEAD.size + length], packed[_HEAD.size + length :])


class Keyring:
    """Key-encryption keys by id: the highest id seals, all of them open.

    To rotate, add a key; remove the old one later.
    """

    def __init__(self, secrets_by_id: Mapping[int, str]) -> None:
        if not secrets_by_id:
            raise ValueError("a keyring needs a key")
        self._keys = {
            kek_id: hashlib.sha256(secret.encode()).digest()
            for kek_id, secret in secrets_by_id.items()
        }
        self.newest = max(self._keys)

    def __repr__(self) -> str:
        return f"Keyring(ids={sorted(self._keys)})"

    def seal(self, plaintext: str, context: bytes) -> str:
        """Encrypt a text. The envelope opens only with the same additional authenticated data."""
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        dek_id, nonce = secrets.token_bytes(DEK_ID_BYTES), secrets.token_bytes(NONCE_BYTES)
        encrypted = AESGCM(self._data_key(self.newest, dek_id)).encrypt(
            nonce, plaintext.encode(), context
        )
        return Sealed(self.newest, dek_id, nonce + encrypted).text()

    def open(self, envelope: str, context: bytes) -> str:
        """Decrypt an envelope. Raises EnvelopeError."""
        from cryptography.exceptions import InvalidTag
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        sealed = Sealed.parse(envelope)
        if sealed.kek_id not in self._keys:
            known = ", ".join(str(kek_id) for kek_id in sorted(self._keys))
            raise EnvelopeError(
                f"it was sealed with key {sealed.kek_id}, and this process has {known} in "
                f"settings.mcp.files.security.encryption_keks"
            )
        nonce, encrypted = sealed.ciphertext[:NONCE_BYTES], sealed.ciphertext[NONCE_BYTES:]
        try:
            return (
                AESGCM(self._data_key(sealed.kek_id, sealed.dek_id))
                .decrypt(nonce, encrypted, context)
                .decode()
            )
        except (InvalidTag, ValueError):
            raise EnvelopeError(
                f"it was sealed with key {sealed.kek_id}, and the secret of that id in this "
                "process does not open it "
                "(another secret, another file, or the envelope was changed)"
            ) from None

    def fingerprint(self, text: str) -> str:
        """Return a keyed digest of a text, to compare texts without storing them."""
        return hmac.new(
            self._keys[self.newest], text.encode("utf-8", "surrogatepass"), hashlib.sha256
        ).hexdigest()[:32]

    def _data_key(self, kek_id: int, dek_id: bytes) -> bytes:
        from cryptography.hazmat.primitives.hashes import SHA256
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF

        return HKDF(SHA256(), DATA_KEY_BYTES, dek_id, None).derive(self._keys[kek_id])
