"""A caller's key for external models on its way to the index worker: sealed for every file of
the caller that waits for one.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from commonplace.files.model import FilePath, Project, VectorCounts
from commonplace.files.store.protocol import VectorJobStore
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.handover import (
    CredentialHandover,
    CredentialPurpose,
    CredentialsUnavailableError,
)

log = logging.getLogger("commonplace.files.deposit")

BATCH = 500
COMPLAIN_SECONDS = 10.0


class KeyDeposit:
    """`offer` is part of every call that brings a key: what waited for it goes on."""

    def __init__(
        self, jobs: VectorJobStore, handover: CredentialHandover, wake: Callable[[], None]
    ) -> None:
        self._jobs = jobs
        self._handover = handover
        self._wake = wake
        self._silent_until = 0.0

    async def counts(self) -> VectorCounts:
        """Of all tenants, for the operator."""
        return await self._jobs.counts()

    async def offer(self, auth: AuthContext, at: tuple[Project, FilePath] | None = None) -> None:
        """`at` is where this call changed something.

        A failure costs vectors for now, never the call.
        """
        if auth.model_key is None:
            return
        tenant = auth.apikey_hash
        key = self._handover.fingerprint(auth.model_key)
        try:
            while files := await self._jobs.wanting(tenant, at, BATCH, key):
                references = await self._handover.deposit(
                    [CredentialPurpose(tenant, *file) for file in files], auth.model_key
                )
                await self._jobs.attach(
                    tenant,
                    [(*file, reference) for file, reference in zip(files, references, strict=True)],
                )
                self._wake()
                if len(files) < BATCH:
                    return
        except (CredentialsUnavailableError, CommonplaceError) as unavailable:
            self._complain(unavailable)

    def _complain(self, unavailable: Exception) -> None:
        now = time.monotonic()
        if now >= self._silent_until:  # every call tries; one line in a while says it
            self._silent_until = now + COMPLAIN_SECONDS
            log.warning(
                "keys cannot be handed over; files wait for their tenant's next call: %s",
                unavailable,
            )
