"""Credentials on their way from a caller to a worker: sealed envelopes with a short life, and
the store that keeps them.

Nobody but `Handover` sees a key in the clear, and no store ever holds one.
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

MAX_ENVELOPES = 100_000  # in memory; the oldest go first, and their jobs wait for the next call


class CredentialsUnavailableError(Exception):
    """The store of envelopes cannot be reached. A caller may retry."""


class EnvelopeStore(Protocol):
    """Keeps envelopes by reference for a while. Knows nothing of what is in them."""

    async def put(self, envelopes: Mapping[str, str], ttl_seconds: int) -> None: ...

    async def get(self, reference: str) -> str | None: ...

    async def delete(self, references: Sequence[str]) -> None: ...


class MemoryEnvelopes:
    """For a single process.

    Thread-safe: calls and the index worker run on different event loops.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[float, str]] = {}
        self._guard = threading.Lock()

    async def put(self, envelopes: Mapping[str, str], ttl_seconds: int) -> None:
        now = self._clock()
        with self._guard:
            self._kept = {name: kept for name, kept in self._kept.items() if kept[0] > now}
            self._kept.update(
                {name: (now + ttl_seconds, envelope) for name, envelope in envelopes.items()}
            )
            for name in list(self._kept)[: max(0, len(self._kept) - MAX_ENVELOPES)]:
                del self._kept[name]

    async def get(self, reference: str) -> str | None:
        with self._guard:
            until, envelope = self._kept.get(reference, (0.0, ""))
            return envelope if until > self._clock() else None

    async def delete(self, references: Sequence[str]) -> None:
        with self._guard:
            for reference in references:
                self._kept.pop(reference, None)


@dataclass(frozen=True, slots=True)
class Purpose:
    """What a credential may be used for, and for nothing else: it is authenticated with the
    envelope.
    """

    tenant: str
    project: str
    path: str


class Handover:
    """Seals a caller's key for one job and opens it for the worker that does that job."""

    def __init__(
        self, keyring: Keyring, store: EnvelopeStore, prefix: str, ttl_seconds: int
    ) -> None:
        self._keyring = keyring
        self._store = store
        self._prefix = prefix
        self._ttl_seconds = ttl_seconds

    def fingerprint(self, key: str) -> str:
        """Name a key without revealing it: only who holds the newest key-encryption key can tell
        whether two are equal.
        """
        return self._keyring.fingerprint(key)

    async def deposit(self, purposes: Sequence[Purpose], key: str) -> list[str]:
        """Seal the key once for each job; returns the references that the jobs carry."""
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

    async def collect(self, purpose: Purpose, reference: str) -> str | None:
        """The key for this very job, or None where it is gone, expired, or was sealed for
        something else.
        """
        try:
            return await self.open(purpose, reference)
        except EnvelopeError:
            return None

    async def open(self, purpose: Purpose, reference: str) -> str | None:
        """The same; `EnvelopeError` says why an envelope that is there cannot be opened."""
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
        """The job is done, or given up: its envelope goes."""
        await self._store.delete(references)

    def _reference(self, purpose: Purpose) -> str:
        return f"{self._prefix}:{purpose.tenant}:{purpose.project}:{purpose.path}:{secrets.token_hex(16)}"


def _context(purpose: Purpose, reference: str) -> bytes:
    """Additional authenticated data.

    JSON, because a project name may hold any separator; the reference is the job's own.
    """
    return orjson.dumps(
        [purpose.tenant, purpose.project, purpose.path, reference.rpartition(":")[2]]
    )
