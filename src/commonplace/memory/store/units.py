"""Units of work: how the store runs its transactions on a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from commonplace.kernel.auth import Tenant
from commonplace.storage.relational import SqlConnection

Result = TypeVar("Result")
LOCK_SECONDS = 10  # processes may share the database: wait rather than refuse an entry
BULK_SECONDS = 60  # an import or a rebuild may hold the lock for long


class UnitsOfWork(Protocol):
    """Runs units of work on a database."""

    async def look(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a bounded read."""
        ...

    async def scan(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a read of several statements, or of many rows, in one snapshot."""
        ...

    async def commit(
        self, work: Callable[[SqlConnection], Result], tenant: Tenant, seconds: float
    ) -> Result:
        """Run a change while no other change of this tenant runs; wait that long for it."""
        ...

    async def count(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a change of counters only, beside other changes."""
        ...

    def count_now(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a change of counters without an event loop."""
        ...

    async def overwrite_freed_space(self) -> bool:
        """Overwrite what deleted rows left in files; returns False if that must wait.

        Only files that this program writes: PostgreSQL reuses its space by itself.
        """
        ...
