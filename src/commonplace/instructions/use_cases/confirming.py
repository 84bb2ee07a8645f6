"""Wait until the catalogue has every change that other servers acknowledged."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future

from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.kernel.errors import CommonplaceError

CONFIRM_SECONDS = 2.5  # then the answer is from memory, and says so


class CatalogueConfirmation:
    """Confirms, before a call reads, that the catalogue is as new as the storage.

    Its methods return a warning for the answer if the storage cannot be reached.
    """

    def __init__(self, store: CatalogueStore) -> None:
        self._store = store
        self.begin = store.catch_up

    async def wait(self, pending: Future[None]) -> str | None:
        """Wait for what `begin` returned."""
        try:
            await asyncio.wait_for(asyncio.wrap_future(pending), CONFIRM_SECONDS)
        except (TimeoutError, CommonplaceError) as error:
            return self._describe_outage(error)
        return None

    def load(self) -> str | None:
        """Load the catalogue and confirm it, in a thread."""
        self._store.open()
        pending = self.begin()
        if pending is None:
            return None
        try:
            pending.result(CONFIRM_SECONDS)
        except (TimeoutError, CommonplaceError) as error:
            return self._describe_outage(error)
        return None

    def _describe_outage(self, error: TimeoutError | CommonplaceError) -> str:
        if isinstance(error, CommonplaceError) and not error.retryable:
            raise error
        return (
            f"The database cannot be reached. This answer is from memory and may lack changes "
            f"since {self._store.confirmed_at}."
        )
