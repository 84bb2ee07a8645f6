"""Adds that arrive together are written together, by one thread: they share a lock, a sync of
the folder and one way back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from commonplace.instructions.model import Actor
from commonplace.storage.group_commit import GroupCommitter, PendingWrite, resolve_writes

GROUP = 32


@dataclass(slots=True)
class Wanted:
    """One add on its way: what was asked, and what became of it."""

    id: str
    entry: Mapping[str, Any]
    overwrite: bool
    lax: bool
    expected_hash: str | None
    actor: Actor
    warnings: list[str] = field(default_factory=list)
    answer: dict[str, Any] | None = None
    failure: Exception | None = None

    def result(self) -> dict[str, Any]:
        if self.failure is not None:
            raise self.failure
        assert self.answer is not None
        return self.answer


@dataclass(slots=True, kw_only=True)
class _PendingAdd(PendingWrite):
    wanted: Wanted


class Adding:
    """The queue of adds, written in groups by one thread.

    `write` gives every add of a group its answer or its failure, and may raise for all that have
    neither.
    """

    def __init__(self, write: Callable[[Sequence[Wanted]], None]) -> None:
        self._write = write
        self._committer = GroupCommitter[_PendingAdd](
            self._commit, name="instructions-writer", max_group=GROUP
        )

    async def put(self, wanted: Wanted) -> dict[str, Any]:
        """Return the answer once it is durable. A caller that stops waiting undoes nothing."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._committer.submit(_PendingAdd(future=future, wanted=wanted))
        await future
        return wanted.result()

    def close(self) -> None:
        """Write what is queued, and end the thread. A later `put` starts a new one."""
        self._committer.close()

    def write(self, group: Sequence[Wanted]) -> None:
        """Write now, in the caller's thread."""
        try:
            self._write(group)
        except Exception as error:  # whatever it is, every caller must learn it
            for wanted in group:
                if wanted.answer is None and wanted.failure is None:
                    wanted.failure = error

    def _commit(self, group: Sequence[_PendingAdd]) -> None:
        self.write([pending.wanted for pending in group])
        resolve_writes(group)
