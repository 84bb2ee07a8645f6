"""The project's side of a synchronisation: what it holds, and steps that change it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from commonplace.files.engine.change import SizeLimits
from commonplace.files.engine.sync import SyncOutcome, SyncWrite
from commonplace.files.errors import PAYLOAD_TOO_LARGE
from commonplace.files.model import FilePath, StoredFile, project_name
from commonplace.files.store.protocol import FileStore
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import FilesSettings

MAX_STEPS = 64  # of one change; a caller of the same project waits that long
MAX_PAGE = 5_000
Admit = Callable[[AuthContext], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ProjectView:
    """A project, or a page of it, as a sync sees it: by path, in the order of paths.

    `own` and `others` are content hashes as this folder and other folders brought them. `next` is
    where the following page starts; None at the end.
    """

    files: Mapping[FilePath, StoredFile]
    own: Mapping[FilePath, str]
    others: Mapping[FilePath, str]
    max_file_bytes: int
    next: str | None = None


class ProjectSync:
    """Synchronises projects of a store with folders (`origin`) anywhere."""

    def __init__(self, store: FileStore, settings: FilesSettings, admit: Admit) -> None:
        self._store = store
        self._max_file_bytes = settings.max_file_bytes
        self._limits = SizeLimits(
            settings.max_file_bytes, settings.max_project_bytes, settings.max_tenant_bytes or None
        )
        self._admit = admit

    async def view(
        self,
        caller: AuthContext,
        project: str,
        origin: str,
        after: str = "",
        limit: int = MAX_PAGE,
    ) -> ProjectView:
        """Return the page of paths behind `after`."""
        name = project_name(project)
        await self._admit(caller)
        tenant = caller.apikey_hash
        files = await self._store.inventory(tenant, name, "", after, limit)
        last = files[-1].path if len(files) == limit else None
        own, others = await self._store.sync_entries(tenant, name, origin)
        return ProjectView(
            {file.path: file for file in files},
            _between(own, after, last),
            _between(others, after, last),
            self._max_file_bytes,
            last,
        )

    async def apply(
        self,
        caller: AuthContext,
        project: str,
        origin: str,
        writes: Sequence[SyncWrite],
        *,
        takes_over: bool = False,
    ) -> list[SyncOutcome | CommonplaceError]:
        """Do steps in one change. Steps that were done before are done again without effect."""
        name = project_name(project)
        await self._admit(caller)
        size = sum(len(write.content) for write in writes)
        if size > self._max_file_bytes:
            raise CommonplaceError(
                PAYLOAD_TOO_LARGE,
                f"The steps carry {size} bytes; one call may carry {self._max_file_bytes}.",
                hint="Send fewer steps in one call.",
                details={"size_bytes": size, "limit_bytes": self._max_file_bytes},
            )
        return await self._store.apply_sync(
            caller.apikey_hash, name, origin, writes, self._limits, takes_over=takes_over
        )


def _between(entries: Mapping[FilePath, str], after: str, last: str | None) -> dict[FilePath, str]:
    return {
        path: digest
        for path, digest in sorted(entries.items())
        if path > after and (last is None or path <= last)
    }
