"""What a caller is told about the projects that were searched where none was named."""

from __future__ import annotations

import asyncio

import pytest

from commonplace.bootstrap.sources.projects import choose_projects
from commonplace.files.model import Project
from commonplace.kernel.auth import ALL_SCOPES, AuthContext, Tenant

CALLER = AuthContext(Tenant("team-a"), ALL_SCOPES, "alice")


class Ranked:
    """A tenant with a number of projects."""

    def __init__(self, total: int) -> None:
        self._total = total

    async def likeliest_projects(
        self, caller: AuthContext, query: str, most: int
    ) -> tuple[list[Project], int]:
        names = [Project(f"p{number}") for number in range(min(most, self._total))]
        return names, self._total


@pytest.mark.parametrize(
    ("total", "note"),
    [
        (8, ""),
        (9, "only the 8 likeliest of 9 projects were searched; name one"),
        (64, "only the 8 likeliest of 64 projects were searched; name one"),
        (65, "only the 8 likeliest of the first 64 of 65 projects were searched; name one"),
    ],
)
def test_a_note_says_of_how_many_projects_the_likeliest_were_chosen(total: int, note: str) -> None:
    chosen = asyncio.run(choose_projects(CALLER, Ranked(total), "unload a pallet"))
    assert chosen.note == note
