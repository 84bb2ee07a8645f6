"""A version of a file as a data folder has it: the live one, or one that was deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from commonplace.files.model import FilePath, Provenance

VersionKey = tuple[str, str, int]
"""What tells versions of a project apart: path, content hash, time of the deletion."""


@dataclass(frozen=True, slots=True)
class FolderVersion:
    """A version without its content. `deleted_at` is 0 for the live one.

    `replaced`: it was deleted, and the folder has a live file at its path.
    """

    id: int
    path: FilePath
    size: int
    content_hash: str
    created_at: int
    updated_at: int
    deleted_at: int
    provenance: Provenance
    replaced: bool = False

    @property
    def key(self) -> VersionKey:
        return self.path, self.content_hash, self.deleted_at


@dataclass(frozen=True, slots=True)
class SyncRecord:
    """What `files sync` brought from a folder (`origin`) to a path."""

    origin: str
    content_hash: str


SyncRecords = Mapping[FilePath, Sequence[SyncRecord]]
"""What syncs brought to a project, by path."""


@dataclass(frozen=True, slots=True)
class IncomingFile:
    """A version to store, with its content and what syncs brought to its path."""

    version: FolderVersion
    content: bytes
    synced: tuple[SyncRecord, ...] = ()


class Arrival(StrEnum):
    """What became of a version."""

    ADDED = "added"
    PRESENT = "present"  # the database has it, or had it
    DIFFERS = "differs"  # the database has another file at this path
