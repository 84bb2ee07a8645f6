"""How full a project is and how far its search index is: shown above the files, kept current."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from commonplace.console.page import Page
from commonplace.console.pages.files.places import Place
from commonplace.kernel.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class ProjectState:
    """Figures of a project."""

    usage: JsonObject
    index: JsonObject

    @property
    def percent(self) -> float:
        """Share of the quota that is used."""
        share = 100 * int(self.usage["size_bytes"]) / max(1, int(self.usage["limit_bytes"]))
        return round(min(100.0, share), 1)

    @property
    def waiting(self) -> int:
        """Files that wait for the search index."""
        return int(self.index["pending"]) + int(self.index["processing"])


async def read_state(page: Page, place: Place) -> ProjectState:
    """Ask for the figures of a project. Raises CallFailed."""
    project = {"project": place.project}
    usage, index = await asyncio.gather(
        page.ask("file_usage", project), page.ask("file_index_status", project)
    )
    return ProjectState(usage, index)
