"""Units of work: how the store runs its transactions on a database."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from commonplace.kernel.auth import Tenant
from commonplace.storage.relational import SqlConnection

Result = TypeVar("Result")
LOCK_SECONDS = 10  # processes may share the database: wait rather than refuse an entry
BULK_SECONDS = 60  # so long does an import or a rebuild wait


class UnitsOfWork(Protocol):
    """Runs units of work on a database."""

    async def look(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a bounded read."""
        ...

    async def scan(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a read of several statements, or of many rows, in one snapshot."""
        ...

    async def commit(self, work: Callable[[SqlConnection], Result], tenant: Tenant) -> Result:
        """Run a change while no other change of this tenant runs."""
        ...

    async def commit_bulk(self, work: Callable[[SqlConnection], Result], tenant: Tenant) -> Result:
        """Run a change of any number of rows like `commit`, such as an import or a rebuild."""
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
