"""The use cases of files.

Every method takes the caller first and works in its tenant only; names are checked, limits kept,
and the rules of docs/reference/contracts/files.md applied.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from commonplace.files.checks import (
    MAX_PREFIX_CHARACTERS,
    check_lines,
    check_payload,
    check_prefix,
    clamp_limit,
    invalid,
    is_directory,
)
from commonplace.files.engine import content as text
from commonplace.files.engine.change import FileChange, SizeLimits
from commonplace.files.engine.edits import EditSequence, TextEdit
from commonplace.files.engine.naming import check_source_path
from commonplace.files.errors import (
    INVALID_OFFSET,
    NOT_FOUND,
    PERMISSION_DENIED,
    SEARCH_BACKEND_ERROR,
    nothing_at,
)
from commonplace.files.extracts.search import ExtractSearch
from commonplace.files.grepping import GrepQuery, grep_files
from commonplace.files.health import grammar_check, index_checks, index_figures, vector_checks
from commonplace.files.indexing.deposit import KeyDeposit
from commonplace.files.model import (
    ROOT,
    Deleted,
    FileEntry,
    FilePath,
    FileSearchResult,
    FileType,
    GrepResult,
    IndexState,
    Listing,
    Project,
    ProjectUsage,
    Provenance,
    ReadText,
    Slice,
    StoredFile,
    WriteMode,
    file_path,
    is_prefix_of_paths,
    project_name,
)
from commonplace.files.navigation import Navigation, SymbolQuery, SymbolResult
from commonplace.files.project_sync import ProjectSync
from commonplace.files.rate import RateLimit
from commonplace.files.search import FileQuery, FileSearch, check_query
from commonplace.files.store.protocol import ChunkStore, FileStore, SymbolStore
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.paging import ResultPage, trim_page
from commonplace.kernel.settings import FilesSettings
from commonplace.kernel.text.lines import count_lines, line_span
from commonplace.search.code.languages import missing_grammars
from commonplace.search.lexical.text import query_terms, snippet
from commonplace.search.model import Retriever
from commonplace.search.semantic.rerank import Reranker

MAX_OFFSET = 1 << 62
SETTLE_POLL_SECONDS = 0.05


class FilesService:
    """The facade of the domain: one method per use case."""

    def __init__(
        self,
        files: FileStore,
        chunks: ChunkStore,
        retriever: Retriever,
        settings: FilesSettings | None = None,
        rate: RateLimit | None = None,
        on_close: Callable[[], None] = lambda: None,
        deposit: KeyDeposit | None = None,
        reranker: Reranker | None = None,
        symbols: SymbolStore | None = None,
    ) -> None:
        """`deposit` and `reranker` serve external models, with the caller's own key only."""
        self._files = self.store = files
        self._chunks = chunks
        self.settings = settings or FilesSettings()
        self._search = FileSearch(chunks, retriever, self.settings.search, reranker, files, symbols)
        self._rate = rate or RateLimit()
        self.on_close = on_close
        self._deposit = deposit
        self.navigation = Navigation(symbols, files) if symbols is not None else None
        self.sync = ProjectSync(files, self.settings, self._admit_caller)
        self.extracts: ExtractSearch | None = None  # what another domain finds in files

    def close(self) -> None:
        """Stop the workers behind this service and close what it opened."""
        self.on_close()

    # Reading

    async def stat(self, caller: AuthContext, project: str, path: str) -> FileEntry | None:
        tenant, name, place = await self.admit(caller, project, path)
        return await self._files.entry(tenant, name, place)

    async def read(
        self, caller: AuthContext, project: str, path: str, offset: int = 0, length: int = -1
    ) -> ReadText:
        tenant, name, place = await self.admit(caller, project, path)
        if offset < 0:
            raise CommonplaceError(
                INVALID_OFFSET,
                "offset must not be negative.",
                details={"field": "offset", "offset": offset},
            )
        if length < -1:
            raise invalid("length", "length is -1 (to the end) or a number of bytes from 0")
        found = await self._slice(
            tenant, name, place, min(offset, MAX_OFFSET), None if length < 0 else length
        )
        dropped, content = text.whole_characters(found.content)
        start = found.start + dropped
        return ReadText(content, start, start + len(content.encode()), found.entry)

    async def read_lines(
        self, caller: AuthContext, project: str, path: str, first: int, last: int | None = None
    ) -> ReadText:
        """Read lines, counted from 1; only a line feed ends a line. None is the last one."""
        tenant, name, place = await self.admit(caller, project, path)
        check_lines(first, last)
        found = await self._slice(tenant, name, place, 0, None)
        start, end = line_span(found.content, first, last)
        content, total = found.content[start:end].decode(), count_lines(found.content)
        lines = (first, min(last or total, total)) if content else None
        return ReadText(content, start, end, found.entry, lines, total)

    async def list_directory(
        self,
        caller: AuthContext,
        project: str,
        path: str = "",
        depth: int = 1,
        limit: int | None = None,
    ) -> Listing:
        tenant, name, place = await self.admit(caller, project, "" if path == "/" else path)
        if depth < 0:
            raise invalid("depth", "depth is 0 (the path itself), 1 (its children) or more")
        most, notes = clamp_limit(
            "limit", limit, self.settings.list_limit_default, self.settings.list_limit_max
        )
        entry = await self._files.entry(tenant, name, place)
        if entry is None:
            raise nothing_at(place)
        if depth == 0 or entry.type is FileType.FILE:
            return Listing([entry], False, notes)
        entries = await self._files.children(
            tenant, name, place, min(depth, MAX_PREFIX_CHARACTERS), most + 1
        )
        page = trim_page(entries, most)
        return Listing(list(page.items), page.has_more, notes)

    async def browse(
        self, caller: AuthContext, project: str, path: str, after: str, limit: int
    ) -> ResultPage[FileEntry]:
        """Return one page of the direct children of a directory."""
        tenant, name, place = await self.admit(caller, project, "" if path == "/" else path)
        if place != ROOT and await self._files.entry(tenant, name, place) is None:
            raise nothing_at(place)
        entries = await self._files.children(tenant, name, place, 1, limit + 1, after)
        return trim_page(entries, limit)

    async def page(
        self, caller: AuthContext, project: str, prefix: str, after: str, limit: int, max_bytes: int
    ) -> list[Slice]:
        """Return a page of whole files in path order, for export."""
        tenant, name, _ = await self.admit(caller, project, "")
        if not is_prefix_of_paths(prefix):
            return []
        return await self._files.after(tenant, name, prefix, after, limit, max_bytes)

    async def inventory(
        self, caller: AuthContext, project: str, prefix: str, after: str, limit: int
    ) -> list[StoredFile]:
        """Return a page of live files with their provenance, without content, for import."""
        tenant, name, _ = await self.admit(caller, project, "")
        return await self._files.inventory(tenant, name, prefix, after, limit)

    async def list_deleted(
        self, caller: AuthContext, project: str, limit: int, offset: int
    ) -> ResultPage[Deleted]:
        """Return what restore could bring back, newest first."""
        tenant, name, _ = await self.admit(caller, project, "")
        since = self._retained_since()
        return trim_page(
            await self._files.list_deleted(tenant, name, since, limit + 1, offset), limit
        )

    # Writing

    async def write(
        self,
        caller: AuthContext,
        project: str,
        path: str,
        content: str,
        offset: int = 0,
        mode: WriteMode = WriteMode.APPEND,
        if_match: str | None = None,
        provenance: Provenance | None = None,
    ) -> tuple[int, FileEntry]:
        """Store text; return the bytes written. Without `provenance` the stored one stays."""
        tenant, name, place = await self.admit(caller, project, path)
        new = text.encode(content)
        check_payload(len(new), self.settings.max_payload_bytes)
        if provenance is not None and provenance.source_path is not None:
            provenance = replace(
                provenance, source_path=check_source_path(place, provenance.source_path)
            )
        change = FileChange(
            place, lambda old: text.apply_write(old, new, offset, mode), self._limits(), if_match
        )
        entry = await self._apply(tenant, name, change, provenance)
        await self._offer(caller, (name, place))
        return len(new), entry

    async def edit(
        self,
        caller: AuthContext,
        project: str,
        path: str,
        edits: Sequence[TextEdit],
        if_match: str | None = None,
    ) -> tuple[int, FileEntry]:
        """Replace exact pieces of text, all or none; return how many were replaced."""
        tenant, name, place = await self.admit(caller, project, path)
        sequence = EditSequence(edits)
        check_payload(sequence.size, self.settings.max_payload_bytes)
        change = FileChange(place, sequence.apply, self._limits(), if_match, must_exist=True)
        entry = await self._apply(tenant, name, change)
        await self._offer(caller, (name, place))
        return sequence.replacements, entry

    async def delete(
        self, caller: AuthContext, project: str, path: str, recursive: bool = False
    ) -> int:
        """Delete a file, or a directory with everything below it; return how many files."""
        tenant, name, place = await self.admit(caller, project, path)
        if place == ROOT:
            raise CommonplaceError(
                PERMISSION_DENIED,
                "The project root cannot be deleted.",
                hint="Delete its children one by one.",
                details={"path": ""},
            )
        return await self._files.delete(tenant, name, place, recursive)

    async def rename(
        self,
        caller: AuthContext,
        project: str,
        path: str,
        new_path: str,
        *,
        overwrite: bool = False,
        if_match: str | None = None,
    ) -> int:
        """Move a file or a directory; return how many files.

        With `overwrite` a file may replace another in one step; `if_match` is about that other.
        """
        tenant, name, place = await self.admit(caller, project, path)
        target = file_path(new_path, field="new_path")
        if ROOT in (place, target):
            raise CommonplaceError(
                PERMISSION_DENIED,
                "The project root cannot be moved or replaced.",
                details={"path": ""},
            )
        moved = await self._files.rename(
            tenant, name, place, target, overwrite=overwrite, if_match=if_match
        )
        await self._offer(caller, (name, target))
        return moved

    async def restore(self, caller: AuthContext, project: str, path: str) -> list[FilePath]:
        tenant, name, place = await self.admit(caller, project, path)
        restored = await self._files.restore(
            tenant, name, place, self._retained_since(), self._limits()
        )
        await self._offer(caller, (name, place))
        return restored

    async def note_source(
        self, caller: AuthContext, project: str, path: str, provenance: Provenance
    ) -> bool:
        """Replace the provenance of a file, not its content; False if there is no such file."""
        tenant, name, place = await self.admit(caller, project, path)
        return await self._files.note_source(tenant, name, place, provenance)

    async def owners(self) -> list[str]:
        """Return the identities (`apikey_hash`) of all tenants with files, for operators only."""
        return await self._files.owners()

    async def delete_tenant(self, owner: AuthContext) -> tuple[int, list[Project]]:
        """Delete all files of a tenant with their index; return how many, and the projects.

        Vectors in files beside the database are not the store's: see `bootstrap/tenants.py`.
        """
        return await self._files.delete_tenant(owner.apikey_hash)

    async def move_tenant(self, old: AuthContext, new: AuthContext) -> int:
        """Give a tenant's files to another one that has none; return how many."""
        moved = await self._files.move_tenant(old.apikey_hash, new.apikey_hash)
        # vectors belong to a tenant and must be made again
        await self._chunks.enqueue_all(new.apikey_hash, None, rebuild=False)
        return moved

    # Finding

    async def search(
        self,
        caller: AuthContext,
        project: str,
        query: str,
        path_prefix: str = "",
        limit: int | None = None,
    ) -> FileSearchResult:
        tenant, name, _ = await self.admit(caller, project, "")
        options = self.settings.search
        self._search.check_enabled()
        check_query(query)
        check_prefix(path_prefix)
        most, notes = clamp_limit("limit", limit, options.limit_default, options.limit_max)
        found = await self._search.search(
            FileQuery(tenant, name, query, path_prefix, most, caller.model_key)
        )
        return replace(found, notes=notes + found.notes)

    async def likeliest_projects(
        self, caller: AuthContext, query: str, most: int
    ) -> tuple[list[Project], int]:
        """Return the likeliest projects for a query by words, and how many there are."""
        names = [usage.project for usage in await self.projects(caller)]
        return await self._search.likeliest(caller.apikey_hash, names, query, most), len(names)

    async def find_symbols(
        self, caller: AuthContext, project: str, query: SymbolQuery
    ) -> SymbolResult:
        """Return definitions and uses of a name, or the outline of a file."""
        tenant, name, _ = await self.admit(caller, project, "")
        if self.navigation is None:
            raise CommonplaceError(SEARCH_BACKEND_ERROR, "This server keeps no symbol index.")
        return await self.navigation.find(tenant, name, query)

    def snippet(self, query: str, content: str) -> str:
        """Return the part of a chunk that holds most of the query's words."""
        return snippet(content, query_terms(query[:2000]))

    async def grep(
        self,
        caller: AuthContext,
        project: str,
        query: GrepQuery,
        check: Callable[[], None] = lambda: None,
    ) -> GrepResult:
        """Return matching lines, file by file in path order.

        `check` may raise between files (deadline).
        """
        tenant, name, _ = await self.admit(caller, project, "")
        return await grep_files(self._files, tenant, name, query, check)

    # Status

    async def projects(self, caller: AuthContext) -> list[ProjectUsage]:
        await self._admit_caller(caller)
        return await self._files.projects(caller.apikey_hash)

    async def usage(self, caller: AuthContext, project: str) -> ProjectUsage:
        tenant, name, _ = await self.admit(caller, project, "")
        return await self._files.usage(tenant, name)

    async def index_state(self, caller: AuthContext, project: str | None) -> IndexState:
        await self._admit_caller(caller)
        return await self._chunks.state(
            caller.apikey_hash, project_name(project) if project is not None else None
        )

    async def reindex(
        self, caller: AuthContext, project: str | None, *, rebuild: bool = False
    ) -> int:
        """Queue every live file for the index; return how many."""
        return await self._chunks.enqueue_all(
            caller.apikey_hash,
            project_name(project) if project is not None else None,
            rebuild=rebuild,
        )

    async def wait_until_indexed(
        self,
        caller: AuthContext,
        timeout_seconds: float,
        progress: Callable[[int], None] = lambda waiting: None,
    ) -> bool:
        """Wait until the index has caught up with the files; False if it has not in time."""
        until = time.monotonic() + timeout_seconds
        while True:
            waiting = (await self._chunks.backlog(caller.apikey_hash)).waiting
            progress(waiting)
            if not waiting or time.monotonic() > until:
                return not waiting
            await asyncio.sleep(SETTLE_POLL_SECONDS)

    async def figures(self) -> dict[str, float]:
        """Return how far the index of all tenants is behind, for the operator's metrics."""
        figures = index_figures(await self._chunks.backlog())
        return figures | (
            (await self._deposit.counts()).figures() if self._deposit is not None else {}
        )

    def doctor(self) -> list[dict[str, str]]:
        """Return what an operator should know about the index. Runs its own event loop."""
        backlog = asyncio.run(self._chunks.backlog())
        checks = index_checks(backlog, self.settings.index.slo_p95_seconds)
        checks.append(grammar_check(missing_grammars()))
        return checks + (
            vector_checks(asyncio.run(self._deposit.counts())) if self._deposit is not None else []
        )

    # Shared steps

    async def admit(
        self, caller: AuthContext, project: str, path: str
    ) -> tuple[str, Project, FilePath]:
        """Check names and rate of a call; return the tenant and the checked names."""
        await self._admit_caller(caller)
        return caller.apikey_hash, project_name(project), file_path(path)

    async def _admit_caller(self, caller: AuthContext) -> None:
        """Keep the caller's rate, and offer its model key to the files that wait for one."""
        await self._rate.admit(caller.tenant)
        await self._offer(caller)

    async def _offer(self, caller: AuthContext, *at: tuple[Project, FilePath]) -> None:
        if self._deposit is not None:
            await self._deposit.offer(caller, *at)

    def _retained_since(self) -> int:
        return int((time.time() - self.settings.delete_retention_days * 86_400) * 1e6)

    def _limits(self) -> SizeLimits:
        settings = self.settings
        return SizeLimits(
            settings.max_file_bytes, settings.max_project_bytes, settings.max_tenant_bytes or None
        )

    async def _apply(
        self,
        tenant: str,
        project: Project,
        change: FileChange,
        provenance: Provenance | None = None,
    ) -> FileEntry:
        if change.path == ROOT:
            raise is_directory(change.path)
        return await self._files.change(tenant, project, change.path, change.decide, provenance)

    async def _slice(
        self, tenant: str, project: Project, path: FilePath, start: int, length: int | None
    ) -> Slice:
        """Return bytes of a file. Raises NOT_FOUND or IS_DIRECTORY."""
        most = None if length is None else min(length, MAX_OFFSET)
        found = await self._files.slice(tenant, project, path, start, most)
        if found is None:
            raise await self._no_file(tenant, project, path)
        return found

    async def _no_file(self, tenant: str, project: Project, path: FilePath) -> CommonplaceError:
        entry = await self._files.entry(tenant, project, path)
        if entry is not None and entry.type is FileType.DIRECTORY:
            return is_directory(path)
        return CommonplaceError(
            NOT_FOUND,
            f"There is no file {path}.",
            hint="file_list shows what there is.",
            details={"path": path},
        )
