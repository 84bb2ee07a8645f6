"""The use cases of files: names checked, limits kept, rules of contract 003 applied, search hits
checked against live files.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from commonplace.files.checks import (
    MAX_PREFIX_CHARACTERS,
    check_match,
    check_prefix,
    clamped,
    invalid,
    is_directory,
)
from commonplace.files.engine import content as text
from commonplace.files.engine.grep import LineMatch, compile_pattern, matching_lines
from commonplace.files.engine.naming import check_source_path
from commonplace.files.engine.reindex import WEIGHTS
from commonplace.files.errors import (
    INVALID_OFFSET,
    INVALID_QUERY,
    NOT_FOUND,
    PAYLOAD_TOO_LARGE,
    PERMISSION_DENIED,
    QUOTA_EXCEEDED,
    SEARCH_BACKEND_ERROR,
    nothing_at,
    under_a_file,
)
from commonplace.files.indexing.deposit import KeyDeposit, vector_checks
from commonplace.files.model import (
    ROOT,
    Deleted,
    FileEntry,
    FilePath,
    FileType,
    IndexState,
    Project,
    ProjectUsage,
    Provenance,
    Situation,
    Slice,
    StoredChunk,
    StoredFile,
    WriteMode,
    file_path,
    is_prefix_of_paths,
    project_name,
)
from commonplace.files.ranking import FoundChunk, ranked
from commonplace.files.rate import RateLimit
from commonplace.files.store.protocol import ChunkStore, FileStore
from commonplace.kernel.auth import AuthContext, Tenant, tenant_hash
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.settings import FilesSettings
from commonplace.search.lexical.text import query_terms, snippet
from commonplace.search.model import (
    Partition,
    Retrieval,
    Retriever,
    SearchHit,
    SearchUnavailableError,
)
from commonplace.search.semantic.rerank import Reranker
from commonplace.storage.errors import STORAGE_UNAVAILABLE

GREP_PAGE_FILES = 64
GREP_PAGE_BYTES = 4_000_000
GREP_LIMIT_MAX = 500
MAX_OFFSET = 1 << 62
MOST_RETRIEVED = 2_000
SETTLE_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ReadText:
    """What was read: whole characters, the bytes they really are, and the file they come from."""

    content: str
    start: int
    end: int
    entry: FileEntry


@dataclass(frozen=True, slots=True)
class Listing:
    entries: list[FileEntry]
    has_more: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Found:
    chunks: list[FoundChunk]
    mode: str
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GrepResult:
    matches: list[tuple[FilePath, LineMatch]]
    files_searched: int
    has_more: bool
    notes: tuple[str, ...] = ()


class FilesService:
    """Every method takes the caller first and works in its tenant only."""

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
    ) -> None:
        """`deposit` and `reranker` belong to external models; both work with the caller's own
        key only.
        """
        self._files = self.store = files
        self._chunks = chunks
        self._retriever = retriever
        self.settings = settings or FilesSettings()
        self._rate = rate or RateLimit()
        self.on_close = on_close
        self._deposit = deposit
        self._reranker = reranker

    def close(self) -> None:
        """Stop what works behind this service and close what it opened."""
        self.on_close()

    async def move_tenant(self, old: Tenant, new: Tenant) -> int:
        """Give a tenant's files another owner; how many. Refused where the new one has files."""
        moved = await self._files.move_tenant(tenant_hash(old), tenant_hash(new))
        await self._chunks.enqueue_all(
            tenant_hash(new), None, rebuild=False
        )  # vectors belong to a tenant: they are made anew
        return moved

    async def stat(self, auth: AuthContext, project: str, path: str) -> FileEntry | None:
        tenant, name, place = await self._admit(auth, project, path)
        return await self._files.entry(tenant, name, place)

    async def read(
        self, auth: AuthContext, project: str, path: str, offset: int = 0, length: int = -1
    ) -> ReadText:
        tenant, name, place = await self._admit(auth, project, path)
        if offset < 0:
            raise CommonplaceError(
                INVALID_OFFSET,
                "offset must not be negative.",
                details={"field": "offset", "offset": offset},
            )
        if length < -1:
            raise invalid("length", "length is -1 (to the end) or a number of bytes from 0")
        found = await self._files.slice(
            tenant,
            name,
            place,
            min(offset, MAX_OFFSET),
            None if length < 0 else min(length, MAX_OFFSET),
        )
        if found is None:
            raise await self._no_file(tenant, name, place)
        dropped, content = text.whole_characters(found.content)
        start = found.start + dropped
        return ReadText(content, start, start + len(content.encode()), found.entry)

    async def write(
        self,
        auth: AuthContext,
        project: str,
        path: str,
        content: str,
        offset: int = 0,
        mode: WriteMode = WriteMode.APPEND,
        if_match: str | None = None,
        provenance: Provenance | None = None,
    ) -> tuple[int, FileEntry]:
        """Store text. `provenance` says where it came from; None leaves what is known of that."""
        tenant, name, place = await self._admit(auth, project, path)
        new = text.encode(content)
        self._check_payload(len(new))
        if provenance is not None and provenance.source_path is not None:
            provenance = replace(
                provenance, source_path=check_source_path(place, provenance.source_path)
            )

        def make(old: bytes) -> bytes:
            return text.written(old, new, offset, mode)

        entry = await self._change(tenant, name, place, if_match, make, provenance=provenance)
        await self._offer(auth, (name, place))
        return len(new), entry

    async def edit(
        self,
        auth: AuthContext,
        project: str,
        path: str,
        old_text: str,
        new_text: str,
        replace_all: bool = False,
        if_match: str | None = None,
    ) -> tuple[int, FileEntry]:
        """Replace an exact piece of text; how many were replaced."""
        tenant, name, place = await self._admit(auth, project, path)
        if not old_text:
            raise invalid("old_text", "old_text must not be empty")
        old, new = text.encode(old_text, "old_text"), text.encode(new_text, "new_text")
        self._check_payload(len(old) + len(new))
        count = 0

        def replace(content: bytes) -> bytes:
            nonlocal count
            changed, count = text.replaced(content, old, new, replace_all)
            return changed

        entry = await self._change(tenant, name, place, if_match, replace, must_exist=True)
        await self._offer(auth, (name, place))
        return count, entry

    async def delete(
        self, auth: AuthContext, project: str, path: str, recursive: bool = False
    ) -> int:
        tenant, name, place = await self._admit(auth, project, path)
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
        auth: AuthContext,
        project: str,
        path: str,
        new_path: str,
        *,
        overwrite: bool = False,
        if_match: str | None = None,
    ) -> int:
        """Move a file or a directory; how many files.

        With `overwrite` a file may take the place of another, in one step; `if_match` is about that
        other one.
        """
        tenant, name, place = await self._admit(auth, project, path)
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
        await self._offer(auth, (name, target))
        return moved

    async def restore(self, auth: AuthContext, project: str, path: str) -> list[FilePath]:
        tenant, name, place = await self._admit(auth, project, path)
        restored = await self._files.restore(
            tenant, name, place, self._retained_since(), self.settings.max_project_bytes
        )
        await self._offer(auth, (name, place))
        return restored

    async def listing(
        self,
        auth: AuthContext,
        project: str,
        path: str = "",
        depth: int = 1,
        limit: int | None = None,
    ) -> Listing:
        tenant, name, place = await self._admit(auth, project, "" if path == "/" else path)
        if depth < 0:
            raise invalid("depth", "depth is 0 (the path itself), 1 (its children) or more")
        most, notes = clamped(
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
        return Listing(entries[:most], len(entries) > most, notes)

    async def browse(
        self, auth: AuthContext, project: str, path: str, after: str, limit: int
    ) -> Listing:
        """One page of what stands directly in a directory."""
        tenant, name, place = await self._admit(auth, project, "" if path == "/" else path)
        if place != ROOT and await self._files.entry(tenant, name, place) is None:
            raise nothing_at(place)
        entries = await self._files.children(tenant, name, place, 1, limit + 1, after)
        return Listing(entries[:limit], len(entries) > limit, ())

    async def deleted(
        self, auth: AuthContext, project: str, limit: int, offset: int
    ) -> list[Deleted]:
        """What restore could bring back, newest first, and one more than asked for where there
        is more.
        """
        tenant, name, _ = await self._admit(auth, project, "")
        return await self._files.deleted(tenant, name, self._retained_since(), limit + 1, offset)

    def _retained_since(self) -> int:
        return int((time.time() - self.settings.delete_retention_days * 86_400) * 1e6)

    async def search(
        self,
        auth: AuthContext,
        project: str,
        query: str,
        path_prefix: str = "",
        limit: int | None = None,
    ) -> Found:
        tenant, name, _ = await self._admit(auth, project, "")
        options = self.settings.search
        if not options.enabled:
            raise CommonplaceError(
                SEARCH_BACKEND_ERROR,
                "Search is switched off.",
                hint="Set settings.mcp.files.search.enabled to true.",
            )
        if not query.strip():
            raise CommonplaceError(
                INVALID_QUERY,
                "The query is empty.",
                hint="Say what you look for in words.",
                details={"field": "query"},
            )
        check_prefix(path_prefix)
        most, notes = clamped("limit", limit, options.limit_default, options.limit_max)
        if not is_prefix_of_paths(path_prefix):
            return Found([], "lexical", notes)  # no path can start with it
        widen = 1
        while True:
            wanted = widen * (options.bm25_candidates + options.vector_candidates)
            retrieval = await self._retrieve(
                tenant, name, query, wanted, path_prefix, auth.model_key, widen
            )
            live = await self._live(
                tenant, name, retrieval.hits, most if self._reranker is None else wanted
            )
            if len(live) >= most or len(live) == len(retrieval.hits) or wanted >= MOST_RETRIEVED:
                break
            widen *= (
                8  # chunks of deleted files, not yet out of the index, took the places of others
            )
        ranking = await ranked(self._reranker, auth.model_key, query, live, most)
        self._chunks.served(tenant, [one.chunk.id for one in ranking.chosen])
        doubt = (
            (retrieval.doubt,) if retrieval.doubt is not None and not ranking.mode else ()
        )  # another model's scores are not ours
        return Found(
            ranking.chosen,
            retrieval.mode + ranking.mode,
            notes + retrieval.notes + ranking.notes + doubt,
        )

    async def _retrieve(
        self,
        tenant: str,
        project: Project,
        query: str,
        limit: int,
        prefix: str,
        model_key: str | None,
        widen: int,
    ) -> Retrieval:
        partition = Partition(tenant, "files", project)
        try:
            return await self._retriever.retrieve(
                partition,
                query,
                limit=limit,
                weights=WEIGHTS,
                prefix=prefix,
                model_key=model_key,
                widen=widen,
            )
        except SearchUnavailableError as unavailable:
            cause = unavailable.__cause__
            if isinstance(cause, CommonplaceError) and cause.code is STORAGE_UNAVAILABLE:
                # the database is away for every call, not for search alone
                raise cause from unavailable
            raise CommonplaceError(
                SEARCH_BACKEND_ERROR,
                "The search index cannot be read now.",
                hint="Retry; then run commonplace doctor. The server's log says why.",
                retryable=True,
            ) from unavailable

    async def _live(
        self, tenant: str, project: Project, hits: Sequence[SearchHit], most: int
    ) -> list[tuple[StoredChunk, SearchHit]]:
        """The first hits whose chunk is still what its file holds; the others are deleted, or
        their successor is on its way.
        """
        found: list[tuple[StoredChunk, SearchHit]] = []
        left = iter(hits)
        while len(found) < most and (part := list(islice(left, most))):
            stored = {
                chunk.key: chunk
                for chunk in await self._chunks.chunks(tenant, project, [hit.key for hit in part])
            }
            pairs = ((stored[hit.key], hit) for hit in part if hit.key in stored)
            found += [(chunk, hit) for chunk, hit in pairs if chunk.live == chunk.text.encode()]
        return found[:most]

    def snippet(self, query: str, content: str) -> str:
        """The part of a chunk where most of the query's words stand."""
        return snippet(content, query_terms(query[:2000]))

    async def grep(
        self,
        auth: AuthContext,
        project: str,
        pattern: str,
        path_prefix: str = "",
        literal: bool = False,
        ignore_case: bool = False,
        limit: int = 100,
        check: Callable[[], None] = lambda: None,
    ) -> GrepResult:
        """Lines that match, file by file in path order.

        `check` may raise between files (deadline).
        """
        tenant, name, _ = await self._admit(auth, project, "")
        check_prefix(path_prefix)
        most, notes = clamped("limit", limit, limit, GREP_LIMIT_MAX)
        compiled = compile_pattern(pattern, literal=literal, ignore_case=ignore_case)
        matches: list[tuple[FilePath, LineMatch]] = []
        searched, after = 0, ""
        while is_prefix_of_paths(path_prefix):
            check()
            page = await self._files.after(
                tenant, name, path_prefix, after, GREP_PAGE_FILES, GREP_PAGE_BYTES
            )
            if not page:
                break
            room = most + 1 - len(matches)

            def scan(
                page: Any = page, room: int = room
            ) -> tuple[list[tuple[FilePath, LineMatch]], int]:
                found: list[tuple[FilePath, LineMatch]] = []
                for number, file in enumerate(page, 1):
                    check()
                    for match in matching_lines(compiled, file.content):
                        found.append((file.entry.path, match))
                        if len(found) == room:
                            return found, number
                return found, len(page)

            found, number = await asyncio.to_thread(scan)
            matches += found
            searched += number
            if len(matches) > most:
                break
            after = page[-1].entry.path
        return GrepResult(matches[:most], searched, len(matches) > most, notes)

    async def page(
        self, auth: AuthContext, project: str, prefix: str, after: str, limit: int, max_bytes: int
    ) -> list[Slice]:
        """Whole files in path order, a page at a time: for export."""
        tenant, name, _ = await self._admit(auth, project, "")
        return (
            await self._files.after(tenant, name, prefix, after, limit, max_bytes)
            if is_prefix_of_paths(prefix)
            else []
        )

    async def inventory(
        self, auth: AuthContext, project: str, prefix: str, after: str, limit: int
    ) -> list[StoredFile]:
        """A page of live files with where they came from, without their content: for import."""
        tenant, name, _ = await self._admit(auth, project, "")
        return await self._files.inventory(tenant, name, prefix, after, limit)

    async def note_source(
        self, auth: AuthContext, project: str, path: str, provenance: Provenance
    ) -> bool:
        """Replace where a file came from and leave its content alone; False where there is no
        such file.
        """
        tenant, name, place = await self._admit(auth, project, path)
        return await self._files.note_source(tenant, name, place, provenance)

    async def projects(self, auth: AuthContext) -> list[ProjectUsage]:
        await self._greet(auth)
        return await self._files.projects(auth.apikey_hash)

    async def usage(self, auth: AuthContext, project: str) -> ProjectUsage:
        tenant, name, _ = await self._admit(auth, project, "")
        return await self._files.usage(tenant, name)

    async def index_state(self, auth: AuthContext, project: str | None) -> IndexState:
        await self._greet(auth)
        return await self._chunks.state(
            auth.apikey_hash, project_name(project) if project is not None else None
        )

    async def reindex(
        self, auth: AuthContext, project: str | None, *, rebuild: bool = False
    ) -> int:
        return await self._chunks.enqueue_all(
            auth.apikey_hash,
            project_name(project) if project is not None else None,
            rebuild=rebuild,
        )

    async def settled(
        self,
        auth: AuthContext,
        timeout_seconds: float,
        progress: Callable[[int], None] = lambda waiting: None,
    ) -> bool:
        """Wait until the index has caught up with the files; False when it has not in time."""
        until = time.monotonic() + timeout_seconds
        while True:
            waiting, _, _ = await self._chunks.backlog(auth.apikey_hash)
            progress(waiting)
            if not waiting or time.monotonic() > until:
                return not waiting
            await asyncio.sleep(SETTLE_POLL_SECONDS)

    async def figures(self) -> dict[str, float]:
        """How far the index is behind, of all tenants, for the operator's metrics."""
        waiting, dead, oldest_at = await self._chunks.backlog()
        age = 0.0 if oldest_at is None else max(0.0, time.time() - oldest_at / 1e6)
        figures = {
            "files_index_waiting": waiting,
            "files_index_dead": dead,
            "files_index_oldest_seconds": round(age, 3),
        }
        return figures | (
            (await self._deposit.counts()).figures() if self._deposit is not None else {}
        )

    def doctor(self) -> list[dict[str, str]]:
        """What an operator should know of the index.

        For the command line: it runs an event loop of its own.
        """
        waiting, dead, oldest_at = asyncio.run(self._chunks.backlog())
        age = 0.0 if oldest_at is None else max(0.0, time.time() - oldest_at / 1e6)
        late = age > self.settings.index.slo_p95_seconds
        finding = f"{waiting} files wait to be indexed" + (
            f", the oldest for {age:.0f} s" if waiting else ""
        )
        fix = (
            "Is a server running on this data folder? commonplace files reindex does it now."
            if late
            else ""
        )
        checks = [
            {
                "name": "files index",
                "status": "warn" if late else "ok",
                "finding": finding,
                "fix": fix,
            }
        ]
        if dead:
            hint = "commonplace files status shows why; commonplace files reindex tries again."
            checks.append(
                {
                    "name": "files index",
                    "status": "warn",
                    "finding": f"{dead} index jobs were given up",
                    "fix": hint,
                }
            )
        return checks + (
            vector_checks(asyncio.run(self._deposit.counts())) if self._deposit is not None else []
        )

    async def _admit(
        self, auth: AuthContext, project: str, path: str
    ) -> tuple[str, Project, FilePath]:
        await self._greet(auth)
        return auth.apikey_hash, project_name(project), file_path(path)

    async def _greet(self, auth: AuthContext) -> None:
        """Within its rate, a caller is let in, and its key reaches the files of its tenant that
        wait for one.
        """
        await self._rate.admit(auth.tenant)
        await self._offer(auth)

    async def _offer(self, auth: AuthContext, *at: tuple[Project, FilePath]) -> None:
        if self._deposit is not None:
            await self._deposit.offer(auth, *at)

    def _check_payload(self, size: int) -> None:
        most = self.settings.max_payload_bytes
        if size > most:
            raise CommonplaceError(
                PAYLOAD_TOO_LARGE,
                f"The content has {size} bytes; one request may carry {most}.",
                hint="Write it in parts with mode APPEND.",
                details={"size_bytes": size, "limit_bytes": most, "in_parts": True},
            )

    async def _change(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        if_match: str | None,
        make: Callable[[bytes], bytes],
        *,
        must_exist: bool = False,
        provenance: Provenance | None = None,
    ) -> FileEntry:
        settings = self.settings
        if path == ROOT:
            raise is_directory(path)

        def decide(now: Situation) -> bytes:
            if now.has_descendants:
                raise is_directory(path)
            if now.entry is None and must_exist:
                raise CommonplaceError(
                    NOT_FOUND, f"There is no file {path}.", details={"path": path}
                )
            if now.file_above is not None:
                raise under_a_file(path, now.file_above)
            check_match(now.entry, if_match)
            new = make(now.content)
            if len(new) > settings.max_file_bytes:
                raise CommonplaceError(
                    PAYLOAD_TOO_LARGE,
                    f"The file would have {len(new)} bytes; a file may have "
                    f"{settings.max_file_bytes}.",
                    hint="Split it into several files.",
                    details={"size_bytes": len(new), "limit_bytes": settings.max_file_bytes},
                )
            total = now.project_bytes - len(now.content) + len(new)
            if total > settings.max_project_bytes and len(new) > len(now.content):
                raise CommonplaceError(
                    QUOTA_EXCEEDED,
                    f"The project would hold {total} bytes; it may hold "
                    f"{settings.max_project_bytes}.",
                    hint="Delete files that are no longer needed, or use another project.",
                    details={"needed_bytes": total, "limit_bytes": settings.max_project_bytes},
                )
            return new

        return await self._files.change(tenant, project, path, decide, provenance)

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
