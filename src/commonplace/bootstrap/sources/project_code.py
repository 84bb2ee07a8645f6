"""Stored projects of files as repositories that anchors of memory are compared with."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.bootstrap.team import on_postgres
from commonplace.files.assembly import database_path
from commonplace.files.model import FilePath, FileType, Project, file_path, project_name
from commonplace.kernel.auth import Tenant, tenant_hash
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.paths import spell_segment
from commonplace.memory.code.protocol import (
    FILE_BYTES,
    FileVersion,
    TreeFiles,
    UnreadableFileError,
)

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services
    from commonplace.files.store.protocol import FileStore

Result = TypeVar("Result")
WAIT_SECONDS = 30.0
PAGE = 1_000
MOST_FILES = 20_000
_loop: ContextVar[asyncio.AbstractEventLoop] = ContextVar("event_loop")


class StoredCode:
    """Implements `StoredProjects`; files are opened when the first anchor needs them.

    They are read in threads of memory, by the event loop of the call.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    def prepare(self) -> None:
        _loop.set(asyncio.get_running_loop())

    def find(self, tenant: Tenant, name: str) -> ProjectTree | None:
        settings = self._services.settings
        if not on_postgres(settings) and not database_path(settings).exists():
            return None  # nothing was ever stored: files need not be opened
        try:
            store = self._services.files.store
            tree = ProjectTree(store, tenant_hash(tenant), project_name(name))
            return tree if tree.has_files() else None
        except (UnreadableFileError, CommonplaceError):
            return None  # files cannot be used: nothing is known


class ProjectTree:
    """The files of a project; implements `CodeTree`."""

    def __init__(self, store: FileStore, owner: str, project: Project) -> None:
        self._store = store
        self._owner = owner
        self._project = project
        self.identity = f"project:{owner}:{project}"

    def has_files(self) -> bool:
        """Say whether there is such a project."""
        children = self._store.children(self._owner, self._project, FilePath(""), 1, 1)
        return bool(_wait(children))

    def version(self, path: str) -> FileVersion | None:
        entry = _wait(self._store.entry(self._owner, self._project, _stored(path)))
        if entry is None:
            return None
        if entry.type is not FileType.FILE:
            raise UnreadableFileError("not a file")
        if entry.size > FILE_BYTES:
            raise UnreadableFileError(f"larger than {FILE_BYTES} bytes")
        return FileVersion(entry.content_hash)

    def read(self, path: str) -> bytes | None:
        found = _wait(self._store.slice(self._owner, self._project, _stored(path), 0, FILE_BYTES))
        if found is not None and found.entry.size > FILE_BYTES:
            raise UnreadableFileError(f"larger than {FILE_BYTES} bytes")
        return None if found is None else found.content

    def files(self, suffixes: tuple[str, ...]) -> TreeFiles:
        versions: dict[str, FileVersion] = {}
        after = ""
        while True:
            page = _wait(self._store.inventory(self._owner, self._project, "", after, PAGE))
            for stored in page:
                if stored.path.endswith(suffixes):
                    versions[stored.path.removeprefix("/")] = FileVersion(stored.content_hash)
            if len(page) < PAGE:
                return TreeFiles(versions)
            if len(versions) >= MOST_FILES:
                return TreeFiles(versions, f"only {len(versions)} files were compared")
            after = page[-1].path


def _wait(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine in the event loop of the call, from a thread. Raises UnreadableFileError."""
    try:
        return asyncio.run_coroutine_threadsafe(work, _loop.get()).result(WAIT_SECONDS)
    except (CommonplaceError, TimeoutError) as error:
        raise UnreadableFileError("the project cannot be read now") from error


def _stored(path: str) -> FilePath:
    """Return the path as files spell it."""
    try:
        return file_path("".join(f"/{spell_segment(part)}" for part in path.split("/")))
    except (UnicodeEncodeError, CommonplaceError) as error:
        raise UnreadableFileError("not a path of stored files") from error
