"""Three-way comparison of a folder and a database by the hashes of the last synchronisation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Side = Literal["folder", "database"]
Hashes = Mapping[str, str]
"""Hashes of contents by file name; a missing name means that there is no such file."""


@dataclass(frozen=True, slots=True)
class MirrorConflict:
    """A file that changed on both sides, in different ways."""

    name: str
    folder: str | None  # hash, or None if it was removed there
    database: str | None

    def describe(self) -> str:
        """Say what happened on each side."""
        folder = "removed" if self.folder is None else "changed"
        database = "removed" if self.database is None else "changed"
        return f"{folder} in the folder, {database} in the database"


@dataclass(frozen=True, slots=True)
class MirrorPlan:
    """What brings both sides into step. All lists are sorted by name."""

    to_database: tuple[str, ...]  # changed or new in the folder
    to_folder: tuple[str, ...]
    removed_from_database: tuple[str, ...]  # because the folder no longer has them
    removed_from_folder: tuple[str, ...]
    conflicts: tuple[MirrorConflict, ...]
    same: Hashes  # equal on both sides
    folder: Hashes  # the states that were compared
    database: Hashes

    @property
    def has_work(self) -> bool:
        """Tell whether a side must change."""
        return bool(
            self.to_database
            or self.to_folder
            or self.removed_from_database
            or self.removed_from_folder
        )


def plan_mirror(
    base: Hashes, folder: Hashes, database: Hashes, prefer: Side | None = None
) -> MirrorPlan:
    """Compare both sides with their last common state.

    A file that only one side changed is copied to the other. A file without a common state that
    only one side has is new, never removed. `prefer` decides conflicts.
    """
    to_database: list[str] = []
    to_folder: list[str] = []
    from_database: list[str] = []
    from_folder: list[str] = []
    conflicts: list[MirrorConflict] = []
    same: dict[str, str] = {}
    for name in sorted({*base, *folder, *database}):
        common, ours, theirs = base.get(name), folder.get(name), database.get(name)
        if ours == theirs:
            if ours is not None:
                same[name] = ours
        elif ours == common or (theirs != common and prefer == "database"):
            (from_folder if theirs is None else to_folder).append(name)
        elif theirs == common or prefer == "folder":
            (from_database if ours is None else to_database).append(name)
        else:
            conflicts.append(MirrorConflict(name, ours, theirs))
    return MirrorPlan(
        tuple(to_database),
        tuple(to_folder),
        tuple(from_database),
        tuple(from_folder),
        tuple(conflicts),
        same,
        folder,
        database,
    )
