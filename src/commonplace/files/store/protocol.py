"""What persistence must do for files.

The tenant comes first in every call; nothing is ever found across tenants.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from commonplace.files.model import (
    Deleted,
    FileContent,
    FileEntry,
    FilePath,
    FileSituation,
    IndexBacklog,
    IndexChange,
    IndexState,
    Job,
    Project,
    ProjectUsage,
    Provenance,
    Slice,
    Source,
    StoredChunk,
    StoredFile,
    Terms,
    VectorCounts,
    VectorJob,
)
from commonplace.search.model import Passage
from commonplace.storage.outbox import LargeJobs

Decide = Callable[[FileSituation], bytes]
"""The rules of a mutation: the new content, or an exception that leaves everything as it was.

Pure; may run in any thread.
"""


VECTOR_LEASE_SECONDS = (
    15.0  # renewed while a model works; a worker that was killed is noticed after this time
)


class FileStore(Protocol):
    """Live files of a project, serialised per (tenant, project).

    Mutations queue an index job in the same transaction.
    """

    async def entry(self, tenant: str, project: Project, path: FilePath) -> FileEntry | None:
        """The file or directory at a path. The root always is one."""
        ...

    async def slice(
        self, tenant: str, project: Project, path: FilePath, offset: int, length: int | None
    ) -> Slice | None:
        """Bytes of a live file; None where there is no file."""
        ...

    async def children(
        self, tenant: str, project: Project, path: FilePath, depth: int, limit: int, after: str = ""
    ) -> list[FileEntry]:
        """Up to `limit` entries at most `depth` levels below a directory, by path; with `after`,
        those whose path is greater.
        """
        ...

    async def change(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        decide: Decide,
        provenance: Provenance | None = None,
    ) -> FileEntry:
        """Under the project's lock: look, decide, store.

        Returns the file as it now is. Without `provenance` the old one stays.
        """
        ...

    async def note_source(
        self, tenant: str, project: Project, path: FilePath, provenance: Provenance
    ) -> bool:
        """Replace where a live file came from, nothing else; False where there is no such file."""
        ...

    async def inventory(
        self, tenant: str, project: Project, prefix: str, after: str, limit: int
    ) -> list[StoredFile]:
        """Live files whose path has the prefix and is greater than `after`, in order, without
        their content.
        """
        ...

    async def delete(self, tenant: str, project: Project, path: FilePath, recursive: bool) -> int:
        """Soft-delete a file, or everything below a directory; the number of files.

        NOT_FOUND, NOT_EMPTY.
        """
        ...

    async def rename(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        target: FilePath,
        *,
        overwrite: bool = False,
        if_match: str | None = None,
    ) -> int:
        """Move a file or a directory; the number of files moved.

        NOT_FOUND, ALREADY_EXISTS, NOT_DIRECTORY, INVALID_PATH.

        With `overwrite` a file may replace a file, which is deleted softly. `if_match` is about the
        file at the target: CONTENT_CHANGED.
        """
        ...

    async def restore(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        deleted_after: int,
        max_project_bytes: int,
    ) -> list[FilePath]:
        """Bring back the newest deleted version of a file, or of every file below a directory
        that is not live.

        QUOTA_EXCEEDED.
        """
        ...

    async def deleted(
        self, tenant: str, project: Project, deleted_after: int, limit: int, offset: int
    ) -> list[Deleted]:
        """What restore could bring back, newest first; one for each path that is not live."""
        ...

    async def after(
        self, tenant: str, project: Project, prefix: str, path: str, limit: int, max_bytes: int
    ) -> list[Slice]:
        """Whole files whose path has the prefix and is greater than `path`, in order: a page of
        a walk, bounded in files and bytes.
        """
        ...

    async def projects(self, tenant: str) -> list[ProjectUsage]: ...

    async def usage(self, tenant: str, project: Project) -> ProjectUsage: ...

    async def move_tenant(self, old: str, new: str) -> int:
        """Give all files of a tenant to another that has none, index included; how many.

        ALREADY_EXISTS.
        """
        ...

    async def contents(self, after: int, limit: int) -> list[FileContent]:
        """Live files with a larger id, of all tenants: for the operator's examinations only."""
        ...

    async def purge(self, deleted_before: int, limit: int) -> int:
        """Remove rows that were soft-deleted before this time, of all tenants; how many."""
        ...


class ChunkStore(Protocol):
    """Indexed chunks as search results see them."""

    async def chunks(self, tenant: str, project: Project, keys: Sequence[str]) -> list[StoredChunk]:
        """The chunks behind retriever keys, in the same order, without those that are gone or
        whose file is not live.
        """
        ...

    def served(self, tenant: str, chunk_ids: Sequence[int]) -> None:
        """Note that these chunks were returned to a user; written soon, not at once."""
        ...

    async def state(self, tenant: str, project: Project | None) -> IndexState: ...

    async def backlog(self, tenant: str | None = None) -> IndexBacklog:
        """Return the backlog of a tenant, or of all tenants for the operator."""
        ...

    async def enqueue_all(self, tenant: str, project: Project | None, *, rebuild: bool) -> int:
        """Queue an index job for every live file (and, to rebuild, forget what was indexed); how
        many.
        """
        ...


class JobStore(Protocol):
    """The outbox of index jobs, and what a worker does to the index. Each step is idempotent."""

    async def due(self) -> bool:
        """Whether a job waits now. Cheap: asked several times a second."""
        ...

    async def reclaim(self, owner: str) -> None:
        """Free what others had claimed.

        Called by a new leader, where being the leader means that nobody else works.
        """
        ...

    async def release(self, owner: str) -> None:
        """Give back what this owner claimed and does not finish."""
        ...

    async def claim(self, owner: str, limit: int, large: LargeJobs | None = None) -> list[Job]:
        """Take due jobs: tenants and their projects in turn, the oldest of a project first.

        `large` bounds those of large files.
        """
        ...

    async def renew(self, owner: str) -> None:
        """Keep what this owner claimed for another lease.

        Said again and again by a worker that is still at it.
        """
        ...

    async def sources(self, jobs: Sequence[Job], max_bytes: int) -> list[Source]:
        """The files of the first few jobs (at least one, and not many more than `max_bytes`),
        each with what is indexed of it.
        """
        ...

    async def apply(
        self,
        job: Job,
        content_hash: str | None,
        step: IndexChange,
        terms: Sequence[Terms],
        *,
        complete: bool,
    ) -> bool:
        """Do one step of a change in a transaction; `terms` are those of the added chunks,
        `complete` ends the job.

        False, and nothing done, if the file is no longer the one with this hash (None: no file) or
        the job is no longer this worker's.
        """
        ...

    async def fail(self, job: Job, error: str) -> bool:
        """Retry later with backoff, or bury; True when buried."""
        ...

    async def tidy(self) -> bool:
        """A short piece of work that makes searches cheaper; False when there is none now.

        For a leader without other work.
        """
        ...

    async def flush_served(self) -> None:
        """Write the last_served_at times noted so far."""
        ...


class PassageSource(Protocol):
    async def passages(self, job: VectorJob) -> list[Passage]:
        """The indexed chunks of a file; none where it is gone."""
        ...


class VectorJobStore(Protocol):
    """A queue of vectors that a model must make.

    Filled by the index store in the transaction that finishes a file's words.
    """

    async def wanting(
        self, tenant: str, at: tuple[Project, FilePath] | None, limit: int, key: str = ""
    ) -> list[tuple[Project, FilePath]]:
        """Files of a tenant whose vectors lack a key; with `at`, also files at or below it whose
        words are still queued.

        Left out are those that just refused this very `key` (its fingerprint).
        """
        ...

    async def attach(
        self, tenant: str, references: Sequence[tuple[Project, FilePath, str]]
    ) -> None:
        """Give jobs the reference of their sealed key; those that waited for one are due."""
        ...

    async def due(self) -> bool: ...

    async def claim(self, owner: str, limit: int) -> list[VectorJob]:
        """Take due jobs: tenants and their projects in turn, the oldest of a project first."""
        ...

    async def renew(self, owner: str) -> None:
        """Keep what this owner has claimed."""
        ...

    async def release(self, owner: str) -> None:
        """Give back what this owner claimed and does not finish."""
        ...

    async def reclaim(self, owner: str) -> None:
        """Free what others had claimed, where being the leader means that nobody else works."""
        ...

    async def complete(self, job: VectorJob) -> bool:
        """Done; False where the file changed meanwhile and stays queued.

        The same for `wait` and `bury`.
        """
        ...

    async def wait(
        self, job: VectorJob, error: str, delay_seconds: float, refused_key: str | None = None
    ) -> bool:
        """Until the tenant brings a key, the refused one not before the delay.

        Due again at once where one came meanwhile.
        """
        ...

    async def retry(
        self, job: VectorJob, error: str, delay_seconds: float, retry_count: int
    ) -> None: ...

    async def bury(self, job: VectorJob, error: str) -> bool: ...

    async def counts(
        self, tenant: str | None = None, project: Project | None = None
    ) -> VectorCounts: ...
