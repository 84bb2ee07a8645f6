"""What context needs of the domains; `bootstrap` plugs in the implementations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.context.engine.task import TaskReading
from commonplace.context.model import ContextCandidate
from commonplace.kernel.auth import AuthContext


@dataclass(frozen=True, slots=True)
class SourceAnswer:
    """What a source found, best first, and what a caller should know about the search."""

    candidates: Sequence[ContextCandidate] = ()
    notes: tuple[str, ...] = ()


class ContextSource(Protocol):
    """Finds what one section of a pack may contain, as far as the caller may see it."""

    async def find(self, caller: AuthContext, task: TaskReading) -> SourceAnswer: ...

    async def note_use(self, caller: AuthContext, ref: str) -> bool:
        """Count a use of what a reference names; False if there is no such thing."""
        ...


class TaskPreparer(Protocol):
    """Does once what all sources need, such as embedding the task."""

    async def prepare(self, text: str) -> None: ...
