"""Deposit of callers' keys for external models: sealed for every file that waits for one."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from commonplace.files.model import FilePath, Project, VectorCounts
from commonplace.files.store.protocol import VectorJobStore
from commonplace.kernel.auth import AuthContext
from commonplace.storage.credentials.handover import (
    CredentialHandover,
    CredentialPurpose,
)

log = logging.getLogger("commonplace.files.deposit")

BATCH = 500
LOG_SECONDS = 10.0


class KeyDeposit:
    """Takes the key of every call that brings one, for the files that wait for it."""

    def __init__(
        self, jobs: VectorJobStore, handover: CredentialHandover, wake: Callable[[], None]
    ) -> None:
        self._jobs = jobs
        self._handover = handover
        self._wake = wake
        self._silent_until = 0.0

    async def counts(self) -> VectorCounts:
        """Return the vectors to make of all tenants, for the operator."""
        return await self._jobs.counts()

    async def offer(self, auth: AuthContext, at: tuple[Project, FilePath] | None = None) -> None:
        """Deposit the caller's key for its files that wait; `at` is what this call changed.

        A failure delays vectors; it never fails the call.
        """
        if auth.model_key is None:
            return
        tenant = auth.apikey_hash
        key = self._handover.fingerprint(auth.model_key)
        try:
            while files := await self._jobs.files_without_key(tenant, at, BATCH, key):
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
        except Exception as unavailable:  # the change is made: whatever fails now is not its error
            self._log_failure(unavailable)

    def _log_failure(self, unavailable: Exception) -> None:
        now = time.monotonic()
        if now >= self._silent_until:  # every call tries: log at intervals
            self._silent_until = now + LOG_SECONDS
            log.warning(
                "keys cannot be handed over; files wait for their tenant's next call: %s",
                unavailable,
            )
