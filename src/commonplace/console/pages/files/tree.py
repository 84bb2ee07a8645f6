"""The tree of folders beside a file or folder: one page of entries for each level."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from commonplace.console.page import Page
from commonplace.console.pages.files.places import Place
from commonplace.kernel.json_types import JsonObject

LEVEL_ENTRIES = 200
DIRECTORY = "DIRECTORY"


@dataclass(frozen=True, slots=True)
class Branch:
    """A file or folder of the tree; an open folder has its entries."""

    name: str
    path: str
    is_folder: bool
    is_here: bool = False
    is_open: bool = False
    branches: Sequence[Branch] = field(default=())
    next_after: str | None = None  # the folder has more entries


async def read_tree(page: Page, place: Place, *, is_folder: bool) -> Branch:
    """Return the root of the tree, opened down to a place."""
    folders = [*place.parents(), *([place] if is_folder and place.path else [])]
    folders = folders or [place.at("")]
    levels = await asyncio.gather(*(read_level(page, folder) for folder in folders))
    opened: Branch | None = None
    for folder, level in zip(reversed(folders), reversed(levels), strict=True):
        opened = _open_branch(folder, level, place, opened)
    assert opened is not None
    return opened


async def read_level(page: Page, folder: Place, after: str = "") -> JsonObject:
    """Return one page of what is directly in a folder."""
    output: JsonObject = await page.ask(
        "file_browse", {**folder.arguments, "after": after, "limit": LEVEL_ENTRIES}
    )
    return output


def _open_branch(folder: Place, level: JsonObject, place: Place, below: Branch | None) -> Branch:
    branches = [
        below
        if below is not None and below.path == entry["path"]
        else make_branch(entry, place.path)
        for entry in level["entries"]
    ]
    wanted = below.path if below is not None else place.path
    is_missing = wanted and wanted != folder.path and all(one.path != wanted for one in branches)
    if is_missing:  # it is on a later page of a large folder
        here = Branch(place.at(wanted).name, wanted, below is not None, below is None)
        branches.append(below or here)
    return Branch(
        folder.name,
        folder.path,
        is_folder=True,
        is_here=folder.path == place.path,
        is_open=True,
        branches=branches,
        next_after=level["next"],
    )


def make_branch(entry: JsonObject, here: str) -> Branch:
    """Return a closed branch of the tree."""
    path = str(entry["path"])
    return Branch(str(entry["name"]), path, entry["type"] == DIRECTORY, path == here)
