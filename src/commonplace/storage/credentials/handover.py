"""Hand a caller's model key to a background worker, in sealed envelopes with a short life.

Only `CredentialHandover` sees keys in clear text; no store ever holds one.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import orjson

from commonplace.storage.credentials.envelope import EnvelopeError, Keyring

MAX_ENVELOPES = 100_000  # the oldest are dropped; their jobs wait for the next call


class CredentialsUnavailableError(Exception):
    """The store of envelopes cannot be reached; a caller may retry."""


class EnvelopeStore(Protocol):
    """A store that keeps envelopes by reference for a limited time."""

    async def put(self, envelopes: Mapping[str, str], ttl_seconds: int) -> None: ...

    async def get(self, reference: str) -> str | None: ...

    async def delete(self, references: Sequence[str]) -> None: ...


class MemoryEnvelopeStore:
    """An envelope store for a single process.

    Thread-safe: calls and the index worker run on different event loops.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._envelopes: dict[str, tuple[float, str]] = {}
        self._lock = threading.Lock()

    async def put(self, envelopes: Mapping[str, str], ttl_seconds: int) -> None:
        now = self._clock()
        with self._lock:
            self._envelopes = {
                name: entry for name, entry in self._envelopes.items() if entry[0] > now
            }
            self._envelopes.update(
                {name: (now + ttl_seconds, envelope) for name, envelope in envelopes.items()}
            )
            for name in list(self._envelopes)[: max(0, len(self._envelopes) - MAX_ENVELOPES)]:
                del self._envelopes[name]

    async def get(self, reference: str) -> str | None:
        with self._lock:
            until, envelope = self._envelopes.get(reference, (0.0, ""))
            return envelope if until > self._clock() else None

    async def delete(self, references: Sequence[str]) -> None:
        with self._lock:
            for reference in references:
                self._envelopes.pop(reference, None)


@dataclass(frozen=True, slots=True)
class CredentialPurpose:
    """The one job that a credential is for; it is authenticated with the envelope."""

    tenant: str
    project: str
    path: str


class CredentialHandover:
    """Seal a caller's key for one job, and open it for the worker that does the job."""

    def __init__(
        self, keyring: Keyring, store: EnvelopeStore, prefix: str, ttl_seconds: int
    ) -> None:
        self._keyring = keyring
        self._store = store
        self._prefix = prefix
        self._ttl_seconds = ttl_seconds

    def fingerprint(self, key: str) -> str:
        """Return a keyed digest that identifies a key without revealing it."""
        return self._keyring.fingerprint(key)

    async def deposit(self, purposes: Sequence[CredentialPurpose], key: str) -> list[str]:
        """Seal the key once for each job; return the references for the jobs."""
        sealed: dict[str, str] = {}
        for purpose in purposes:
            reference = self._reference(purpose)
            expires_at = int(time.time()) + self._ttl_seconds
            context = _context(purpose, reference)
            envelope = {
                "envelope": self._keyring.seal(key, context),
                "aad": context.decode(),
                "expires_at": expires_at,
            }
            sealed[reference] = orjson.dumps(envelope).decode()
        await self._store.put(sealed, self._ttl_seconds)
        return list(sealed)

    async def collect(self, purpose: CredentialPurpose, reference: str) -> str | None:
        """Return the key for a job, or None if it is missing, expired or for another job."""
        try:
            return await self.open(purpose, reference)
        except EnvelopeError:
            return None

    async def open(self, purpose: CredentialPurpose, reference: str) -> str | None:
        """Do the same, but raise EnvelopeError for an envelope that cannot be opened."""
        kept = await self._store.get(reference)
        if kept is None:
            return None
        try:
            return self._keyring.open(
                str(orjson.loads(kept)["envelope"]), _context(purpose, reference)
            )
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise EnvelopeError("it is not an envelope") from None

    async def discard(self, references: Sequence[str]) -> None:
        """Delete the envelopes of jobs that are finished or were given up."""
        await self._store.delete(references)

    def _reference(self, purpose: CredentialPurpose) -> str:
        parts = (self._prefix, purpose.tenant, purpose.project, purpose.path)
        return ":".join((*parts, secrets.token_hex(16)))


def _context(purpose: CredentialPurpose, reference: str) -> bytes:
    """Return the additional authenticated data: JSON, as a project name may hold any separator."""
    return orjson.dumps(
        [purpose.tenant, purpose.project, purpose.path, reference.rpartition(":")[2]]
    )
