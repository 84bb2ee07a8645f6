"""What memory needs to compare anchors with code; `bootstrap` plugs in stored projects."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.kernel.auth import Tenant
from commonplace.memory.anchors import AnchorVerdict, CodeAnchor

FILE_BYTES = 2_000_000  # of a file whose text is compared


class UnreadableFileError(Exception):
    """There is something at a path, but not a text that is compared; the message says why."""


@dataclass(frozen=True, slots=True)
class FileVersion:
    """Identifies the content of a file. One that is not `settled` may change unnoticed."""

    key: Hashable
    settled: bool = True


@dataclass(frozen=True, slots=True)
class TreeFiles:
    """The files of a repository with some suffixes, and why some are missing."""

    versions: Mapping[str, FileVersion]
    gap: str = ""


class CodeTree(Protocol):
    """A repository whose files can be read. Every method may block."""

    @property
    def identity(self) -> str:
        """Return a name that no other repository has."""
        ...

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, None if there is none; raises UnreadableFileError."""
        ...

    def read(self, path: str) -> bytes | None:
        """Return the content of a file, None if there is none; raises UnreadableFileError."""
        ...

    def files(self, suffixes: tuple[str, ...]) -> TreeFiles:
        """Return the files whose names end with one of some suffixes such as `.py`."""
        ...


class StoredProjects(Protocol):
    """Projects of files that a tenant stored on this server."""

    def find(self, tenant: Tenant, name: str) -> CodeTree | None:
        """Return a project with files. Called in a thread beside the event loop, and may block."""
        ...

    def prepare(self) -> None:
        """Note the running event loop; called in it before `find`."""
        ...


@dataclass(frozen=True, slots=True)
class LastChange:
    """The last commit that touched a path, and when (ISO 8601); empty if it is not committed."""

    commit: str
    date: str


class AnchorChecker(Protocol):
    """Compares anchors with the code of today."""

    async def take(self, tenant: Tenant, anchor: CodeAnchor) -> CodeAnchor:
        """Return an anchor with the hash of its text, if its repository can be read.

        Raises ANCHOR_NOT_FOUND if the repository has no such file, symbol or lines.
        """
        ...

    async def check(
        self, tenant: Tenant, anchors: Sequence[CodeAnchor], *, fresh: bool
    ) -> tuple[AnchorVerdict, ...]:
        """Return the state of each anchor.

        Unless `fresh`, what was seen of other files of a repository may be some seconds old.
        """
        ...

    async def last_changes(
        self, tenant: Tenant, verdicts: Sequence[AnchorVerdict]
    ) -> Mapping[CodeAnchor, LastChange]:
        """Return the last commits that touched the definitions or the files of anchors.

        Where git tells.
        """
        ...

    def default_repository(self) -> str | None:
        """Return the name of the repository around a local caller."""
        ...

    def close(self) -> None: ...
