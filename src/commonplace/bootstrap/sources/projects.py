"""The projects that are searched where none is named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.files.model import Project
from commonplace.kernel.auth import AuthContext
from commonplace.search.partitions import MOST_COMPARED

MOST_PROJECTS = 8  # searched by words and meaning


class RankedProjects(Protocol):
    """A search over projects that can rank them for a query."""

    async def likeliest_projects(
        self, caller: AuthContext, query: str, most: int
    ) -> tuple[list[Project], int]: ...


@dataclass(frozen=True, slots=True)
class ChosenProjects:
    """Projects in the order of their names; `note` says that there are more."""

    names: Sequence[str]
    note: str = ""


async def choose_projects(
    caller: AuthContext, search: RankedProjects, query: str, named: str | None = None
) -> ChosenProjects:
    """Return the named project, or the likeliest ones for a query."""
    if named is not None:
        return ChosenProjects((named,))
    names, total = await search.likeliest_projects(caller, query, MOST_PROJECTS)
    if len(names) == total:
        return ChosenProjects(names)
    compared = f"the first {MOST_COMPARED} of {total}" if total > MOST_COMPARED else total
    note = f"only the {len(names)} likeliest of {compared} projects were searched; name one"
    return ChosenProjects(names, note)
