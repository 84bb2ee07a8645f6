"""How the units of work of the file stores run on either database."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol, TypeVar

from commonplace.storage.relational import SqlConnection

Result = TypeVar("Result")


def microseconds() -> int:
    return time.time_ns() // 1000


class FileUnits(Protocol):
    """Units of work on files."""

    async def look(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a bounded read."""
        ...

    async def scan(
        self, work: Callable[[SqlConnection], Result], *, rows: int | None = None
    ) -> Result:
        """Run a read of several statements in one snapshot; `rows` is its size, if known."""
        ...

    async def commit(self, work: Callable[[SqlConnection], Result], lock: str | None) -> Result:
        """Run a change under a named lock; BusyError if it is not free in time."""
        ...


class IndexUnits(Protocol):
    """Units of work on the index, which is derived data.

    A change that a power failure undoes leaves its job queued, and is done again.
    """

    async def look(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a bounded read in one snapshot."""
        ...

    async def scan(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a read that may be long, in one snapshot."""
        ...

    async def commit(self, work: Callable[[SqlConnection], Result]) -> Result:
        """Run a change; wait longer for the database than a caller would."""
        ...
