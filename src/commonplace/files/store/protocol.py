"""The Protocols of persistence for files.

The tenant comes first in every call; no call finds anything of another tenant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.files.engine.change import SizeLimits
from commonplace.files.engine.sync import SyncOutcome, SyncWrite
from commonplace.files.extracts.model import ExtractChange, IndexedExtract
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
from commonplace.files.symbols import (
    ChunkPlace,
    FileOutline,
    FileSymbols,
    PathMatch,
    SymbolDefinition,
    SymbolUse,
)
from commonplace.kernel.errors import CommonplaceError
from commonplace.search.model import Partition, Passage
from commonplace.storage.outbox import LargeJobs

Decide = Callable[[FileSituation], bytes]
"""The rules of a mutation: return the new content, or raise to change nothing. Pure."""


NO_EXTRACTS = ExtractChange()
VECTOR_LEASE_SECONDS = 15.0  # renewed while a model works; a killed worker is noticed after it


class FileStore(Protocol):
    """Live files of a project, serialised per (tenant, project).

    Mutations queue an index job in the same transaction.
    """

    async def entry(self, tenant: str, project: Project, path: FilePath) -> FileEntry | None:
        """Return the file or directory at a path. The root always exists."""
        ...

    async def slice(
        self, tenant: str, project: Project, path: FilePath, offset: int, length: int | None
    ) -> Slice | None:
        """Return bytes of a live file; None if there is no file."""
        ...

    async def whole_files(
        self, tenant: str, project: Project, paths: Sequence[FilePath]
    ) -> dict[FilePath, Slice]:
        """Return live files with their whole content, by path."""
        ...

    async def children(
        self, tenant: str, project: Project, path: FilePath, depth: int, limit: int, after: str = ""
    ) -> list[FileEntry]:
        """Return up to `limit` entries at most `depth` levels below a directory, by path.

        With `after`, only those whose path is greater.
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
        """Read, decide and store under the project's lock; return the new entry.

        Without `provenance` the stored one stays.
        """
        ...

    async def note_source(
        self, tenant: str, project: Project, path: FilePath, provenance: Provenance
    ) -> bool:
        """Replace the provenance of a live file; False if there is no such file."""
        ...

    async def inventory(
        self, tenant: str, project: Project, prefix: str, after: str, limit: int
    ) -> list[StoredFile]:
        """Return live files with the prefix and a path greater than `after`, without content."""
        ...

    async def delete(self, tenant: str, project: Project, path: FilePath, recursive: bool) -> int:
        """Soft-delete a file, or everything below a directory; return how many files.

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
        """Move a file or a directory; return how many files.

        NOT_FOUND, ALREADY_EXISTS, NOT_DIRECTORY, INVALID_PATH.

        With `overwrite` a file may replace a file, which is soft-deleted. `if_match` is about the
        file at the target: CONTENT_CHANGED.
        """
        ...

    async def restore(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        deleted_after: int,
        limits: SizeLimits,
    ) -> list[FilePath]:
        """Restore the newest deleted version of a file, or of every dead file below a directory.

        QUOTA_EXCEEDED.
        """
        ...

    async def list_deleted(
        self, tenant: str, project: Project, deleted_after: int, limit: int, offset: int
    ) -> list[Deleted]:
        """Return what restore could bring back, newest first; one per path that is not live."""
        ...

    async def after(
        self, tenant: str, project: Project, prefix: str, path: str, limit: int, max_bytes: int
    ) -> list[Slice]:
        """Return a page of whole files with the prefix and a path greater than `path`."""
        ...

    async def projects(self, tenant: str) -> list[ProjectUsage]: ...

    async def usage(self, tenant: str, project: Project) -> ProjectUsage: ...

    async def owners(self) -> list[str]:
        """Return every tenant that has or had files, for operators only."""
        ...

    async def delete_tenant(self, tenant: str) -> tuple[int, list[Project]]:
        """Delete all files of a tenant, their history and their index.

        Return how many live files there were, and the projects.
        """
        ...

    async def move_tenant(self, old: str, new: str) -> int:
        """Give all files of a tenant, and their index, to one that has none; return how many.

        ALREADY_EXISTS.
        """
        ...

    async def contents(self, after: int, limit: int) -> list[FileContent]:
        """Return live files of all tenants with a larger id, for checks by the operator only."""
        ...

    async def purge(self, deleted_before: int, limit: int) -> int:
        """Remove rows of all tenants that were soft-deleted before a time; return how many."""
        ...

    async def sync_entries(
        self, tenant: str, project: Project, origin: str
    ) -> tuple[dict[FilePath, str], dict[FilePath, str]]:
        """Return what syncs of a folder brought (path to content hash), and those of others."""
        ...

    async def apply_sync(
        self,
        tenant: str,
        project: Project,
        origin: str,
        writes: Sequence[SyncWrite],
        limits: SizeLimits,
        *,
        takes_over: bool = False,
    ) -> list[SyncOutcome | CommonplaceError]:
        """Do the steps of a sync in one change; each is done or leaves its file as it was."""
        ...


class ChunkStore(Protocol):
    """Indexed chunks as search results need them."""

    async def chunks(self, tenant: str, project: Project, keys: Sequence[str]) -> list[StoredChunk]:
        """Return the chunks of retriever keys, in order, without those of deleted files."""
        ...

    def note_served(self, tenant: str, chunk_ids: Sequence[int]) -> None:
        """Note that these chunks were returned to a user; written later by `flush_served`."""
        ...

    async def state(self, tenant: str, project: Project | None) -> IndexState: ...

    async def backlog(self, tenant: str | None = None) -> IndexBacklog:
        """Return the backlog of a tenant, or of all tenants for the operator."""
        ...

    async def enqueue_all(self, tenant: str, project: Project | None, *, rebuild: bool) -> int:
        """Queue an index job for every live file; return how many.

        With `rebuild`, delete the index first.
        """
        ...


class SymbolStore(Protocol):
    """Definitions, uses and paths of a project, as their files were last indexed."""

    async def definitions(
        self, tenant: str, project: Project, names: Sequence[str], limit: int, prefix: str = ""
    ) -> list[SymbolDefinition]:
        """Return up to `limit` definitions of each name: as written first, then in any case."""
        ...

    async def uses(
        self, tenant: str, project: Project, names: Sequence[str], limit: int, prefix: str = ""
    ) -> list[SymbolUse]:
        """Return the uses of each name in up to `limit` files, by path."""
        ...

    async def uses_of_file(self, tenant: str, project: Project, path: FilePath) -> list[SymbolUse]:
        """Return all names that a file uses."""
        ...

    async def outline(self, tenant: str, project: Project, path: FilePath) -> FileOutline | None:
        """Return the definitions and imports of a file; None if it is not indexed."""
        ...

    async def function_lines(
        self, tenant: str, project: Project, paths: Sequence[FilePath]
    ) -> dict[FilePath, list[tuple[int, int]]]:
        """Return the first and last line of every function of files, in the order of the text."""
        ...

    async def files_named(
        self, tenant: str, project: Project, name: str, limit: int
    ) -> list[FilePath]:
        """Return files by the end of their path, without case, the shortest path first.

        `client.py` and `lib/client.py` both find `/src/lib/client.py`.
        """
        ...

    async def files_by_words(
        self, tenant: str, project: Project, words: Sequence[str], limit: int
    ) -> list[PathMatch]:
        """Return files by words of their path (terms of the text analysis), most words first."""
        ...

    async def chunks_at(
        self, tenant: str, project: Project, places: Sequence[tuple[FilePath, int]]
    ) -> list[ChunkPlace]:
        """Return the chunk at each line of a file, without those that have none."""
        ...


@dataclass(frozen=True, slots=True)
class IndexSource:
    """A file as the index worker read it, with its extracts that are in the index."""

    source: Source
    extracts: tuple[IndexedExtract, ...] = ()


@dataclass(frozen=True, slots=True)
class IndexStep:
    """A part of a change of one file, to be applied in one transaction.

    `terms` are those of the added chunks, then of the reworded ones; so are `extract_terms`. The
    last step ends the job, and its `symbols` replace those of the file.
    """

    job: Job
    content_hash: str | None
    change: IndexChange
    terms: Sequence[Terms]
    last: bool
    symbols: FileSymbols | None = None
    extracts: ExtractChange = NO_EXTRACTS
    extract_terms: Sequence[Terms] = ()


class JobStore(Protocol):
    """The outbox of index jobs, and the steps of an index worker. Each step is idempotent."""

    async def due(self) -> bool:
        """Return whether a job is due. Cheap: called several times a second."""
        ...

    async def reclaim(self, owner: str) -> None:
        """Free the jobs that others claimed.

        Called by a new leader, where only the leader works.
        """
        ...

    async def release(self, owner: str) -> None:
        """Give back what this owner claimed and will not finish."""
        ...

    async def claim(self, owner: str, limit: int, large: LargeJobs | None = None) -> list[Job]:
        """Claim due jobs: tenants and their projects in turn, the oldest of a project first.

        `large` limits the jobs of large files.
        """
        ...

    async def renew(self, owner: str, jobs: Collection[int]) -> None:
        """Extend the leases of this owner on these jobs."""
        ...

    async def sources(self, jobs: Sequence[Job], max_bytes: int) -> list[IndexSource]:
        """Return the files of the first jobs, at least one, up to about `max_bytes`."""
        ...

    async def apply(self, steps: Sequence[IndexStep]) -> list[bool]:
        """Apply steps of one project's files in a transaction; return which were applied.

        Nothing is done for a step if the content hash of its file is another one (None: no file),
        or if its job is no longer leased by this worker. Words are written together, which costs a
        third of writing them file by file.
        """
        ...

    async def fail(self, job: Job, error: str) -> bool:
        """Retry later with backoff, or give up; return whether the job was given up."""
        ...

    async def enqueue_outdated(self, limit: int) -> int:
        """Queue some files whose index was made by older versions; return how many."""
        ...

    async def tidy(self) -> bool:
        """Do a short piece of work that makes searches cheaper; False when there is none.

        For a leader without other work.
        """
        ...

    async def flush_served(self) -> None:
        """Write the last_served_at times noted so far."""
        ...


class PassageSource(Protocol):
    """The chunks or the extracts of a file as passages to embed."""

    def partition(self, tenant: str, project: str) -> Partition:
        """Return the partition that the passages of a project belong to."""
        ...

    async def passages(self, job: VectorJob) -> list[Passage]:
        """Return the indexed passages of a file; none if it is deleted."""
        ...

    async def projects_with_twins(self, job: VectorJob) -> list[Project]:
        """Return other projects of the tenant that hold a passage with a text of this file."""
        ...


class VectorJobStore(Protocol):
    """A queue of vectors that a model must make.

    Filled by the index store in the transaction that finishes a file's words.
    """

    async def files_without_key(
        self, tenant: str, at: tuple[Project, FilePath] | None, limit: int, key: str = ""
    ) -> list[tuple[Project, FilePath]]:
        """Return files of a tenant whose vectors lack a key.

        With `at`, also files at or below it whose words are still queued. Files whose model just
        refused this `key` (a fingerprint) are left out.
        """
        ...

    async def attach(
        self, tenant: str, references: Sequence[tuple[Project, FilePath, str]]
    ) -> None:
        """Give jobs the reference of their sealed key; those that waited for one become due."""
        ...

    async def indexed_projects(self) -> list[tuple[str, str]]:
        """Return the tenants and projects that have chunks."""
        ...

    async def enqueue_project(self, tenant: str, project: str) -> int:
        """Queue every indexed file of a project that is not queued yet; return how many."""
        ...

    async def due(self) -> bool: ...

    async def claim(self, owner: str, limit: int) -> list[VectorJob]:
        """Claim due jobs: tenants and their projects in turn, the oldest of a project first."""
        ...

    async def renew(self, owner: str, jobs: Collection[int]) -> None:
        """Extend the leases of this owner on these jobs."""
        ...

    async def release(self, owner: str) -> None:
        """Give back what this owner claimed and will not finish."""
        ...

    async def reclaim(self, owner: str) -> None:
        """Free the jobs that others claimed, where only the leader works."""
        ...

    async def complete(self, job: VectorJob) -> bool:
        """Remove a finished job; False if the file changed meanwhile and stays queued.

        The same holds for `wait` and `bury`.
        """
        ...

    async def wait(
        self, job: VectorJob, error: str, delay_seconds: float, refused_key: str | None = None
    ) -> bool:
        """Wait for a key of the tenant; a refused key is not tried before the delay.

        Due again at once if a key came meanwhile.
        """
        ...

    async def retry(
        self, job: VectorJob, error: str, delay_seconds: float, retry_count: int
    ) -> None: ...

    async def bury(self, job: VectorJob, error: str) -> bool: ...

    async def counts(
        self, tenant: str | None = None, project: Project | None = None
    ) -> VectorCounts: ...
