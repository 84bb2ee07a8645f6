"""Files over named SQL: contract 003's rules in one place, whichever database holds its tables.

Every mutation is one unit of work.

`sqlite.py` and `postgres.py` say how a unit runs; their `.sql` files define the same statements in
two dialects.
"""

from __future__ import annotations

import hashlib
import heapq
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Generic, TypeVar

from commonplace.files.checks import check_match
from commonplace.files.engine.naming import moved_source
from commonplace.files.errors import (
    ALREADY_EXISTS,
    INVALID_PATH,
    NOT_FOUND,
    QUOTA_EXCEEDED,
    RESOURCE_BUSY,
    nothing_at,
    under_a_file,
)
from commonplace.files.model import (
    Deleted,
    FileContent,
    FileEntry,
    FilePath,
    FileType,
    Project,
    ProjectUsage,
    Provenance,
    Slice,
    StoredFile,
    file_path,
)
from commonplace.files.store.protocol import Decide
from commonplace.files.store.sql_project import ProjectRows
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import BusyError
from commonplace.storage.relational import Row, SqlConnection

Result = TypeVar("Result")
C = TypeVar("C", bound=SqlConnection)
WHOLE = 1 << 40  # more bytes than any file has


def microseconds() -> int:
    return time.time_ns() // 1000


class SqlFiles(ABC, Generic[C]):
    """The `FileStore`, but for how its units of work run.

    `queued` is called after each commit that queued index work.
    """

    def __init__(
        self,
        queries: Mapping[str, str],
        lock_timeout_seconds: float,
        now: Callable[[], int],
        directories_at_once: int,
    ) -> None:
        self._queries = queries
        self._lock_timeout_seconds = lock_timeout_seconds
        self._now = now
        self._directories_at_once = directories_at_once
        self.queued: Callable[[], None] = lambda: (
            None
        )  # the indexer's alarm clock, set by whoever assembles them

    @abstractmethod
    async def _look(self, work: Callable[[C], Result]) -> Result:
        """Run a bounded read."""

    @abstractmethod
    async def _scan(self, work: Callable[[C], Result], *, rows: int | None = None) -> Result:
        """Run a read of several statements in one snapshot; `rows` says how many it returns,
        where that is known.
        """

    @abstractmethod
    async def _commit(self, work: Callable[[C], Result], lock: str | None) -> Result:
        """Run a change, under the lock of this name; `BusyError` when it is not free in time."""

    async def entry(self, tenant: str, project: Project, path: FilePath) -> FileEntry | None:
        return await self._look(
            lambda connection: self._rows(connection, tenant, project).entry(path)
        )

    async def slice(
        self, tenant: str, project: Project, path: FilePath, offset: int, length: int | None
    ) -> Slice | None:
        return await self._look(
            lambda connection: self._slice(connection, tenant, project, path, offset, length)
        )

    def _slice(
        self,
        connection: C,
        tenant: str,
        project: Project,
        path: FilePath,
        offset: int,
        length: int | None,
    ) -> Slice | None:
        span = {
            "start": min(offset, WHOLE) + 1,
            "length": WHOLE if length is None else min(length, WHOLE),
        }
        row = self._rows(connection, tenant, project).one("file_slice", path=path, **span)
        if row is None:
            return None
        return Slice(
            FileEntry(path, FileType.FILE, int(row[0]), row[1], row[2], row[3]),
            min(offset, int(row[0])),
            row[4],
        )

    async def children(
        self, tenant: str, project: Project, path: FilePath, depth: int, limit: int, after: str = ""
    ) -> list[FileEntry]:
        behind = after.partition("\0")[0].encode("utf-8", "ignore").decode()

        at_once = min(limit, self._directories_at_once)

        def walk(connection: C) -> list[FileEntry]:
            rows = self._rows(connection, tenant, project)
            directories = [
                FileEntry(FilePath(each), FileType.DIRECTORY, 0, None, updated_at)
                for each, updated_at, _ in islice(
                    rows.walk("directories_from", path, depth, behind, at_once), limit
                )
            ]
            before = (
                directories[-1].path if len(directories) == limit else None
            )  # files behind it do not count any more
            files = [
                FileEntry(
                    FilePath(each), FileType.FILE, size, created_at, updated_at, digest, source
                )
                for each, size, created_at, updated_at, digest, source in islice(
                    self._files(rows, path, depth, behind, limit, before), limit
                )
            ]
            return list(
                islice(heapq.merge(files, directories, key=lambda entry: entry.path), limit)
            )

        return await self._scan(walk, rows=limit)

    def _files(
        self,
        rows: ProjectRows,
        path: FilePath,
        depth: int,
        after: str,
        limit: int,
        before: str | None,
    ) -> Iterator[Row]:
        """(path, size, created, updated, hash, source path) of the files below, in order, up to
        a path.
        """
        for row in rows.walk("files_from", path, depth, after, limit, before):
            yield row[:-1]

    async def change(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        decide: Decide,
        provenance: Provenance | None = None,
    ) -> FileEntry:
        def work(connection: C) -> FileEntry:
            rows = self._rows(connection, tenant, project)
            found, situation = rows.situation(path)
            new = decide(situation)
            now = max(
                self._now(), int(found[3]) + 1 if found else 0
            )  # a later write is later, whatever the clock did
            digest = hashlib.sha256(new).hexdigest()
            values = {"size": len(new), "hash": digest, "now": now, "content": new}
            if found is None:
                row = rows.one("file_insert", path=path, **values)
                assert row is not None
                identity = int(row[0])
                rows.place(path, identity, None, now)
            else:
                identity = int(found[0])
                connection.execute(
                    self._queries["file_update"], {**values, "id": found[0], "tenant": tenant}
                )
                rows.place(path, found[0], found[3], now)
            rows.account(0 if found else 1, len(new) - len(situation.content))
            rows.enqueue(path, "UPSERT", now)
            if provenance is not None and (found is not None or provenance != Provenance()):
                rows.note_source(identity, provenance)
            source = provenance.source_path if provenance else found[6] if found else None
            return FileEntry(
                path, FileType.FILE, len(new), found[2] if found else now, now, digest, source
            )

        return await self._mutate(work, tenant, project)

    async def note_source(
        self, tenant: str, project: Project, path: FilePath, provenance: Provenance
    ) -> bool:
        def work(connection: C) -> bool:
            rows = self._rows(connection, tenant, project)
            found = rows.one("file", path=path)
            if found is not None:
                rows.note_source(int(found[0]), provenance)
            return found is not None

        return await self._commit(work, lock_of(tenant, project))

    async def inventory(
        self, tenant: str, project: Project, prefix: str, after: str, limit: int
    ) -> list[StoredFile]:
        def page(connection: C) -> list[StoredFile]:
            found = self._rows(connection, tenant, project).ask(
                "inventory", after=after, prefix=prefix, upper=_upper(prefix), limit=limit
            )
            return [
                StoredFile(FilePath(path), digest, Provenance(source, origin))
                for path, digest, source, origin in found
            ]

        return await self._scan(page)

    async def delete(self, tenant: str, project: Project, path: FilePath, recursive: bool) -> int:
        def work(connection: C) -> int:
            rows = self._rows(connection, tenant, project)
            found = rows.one("file", path=path)
            if found is None:
                return rows.delete_below(path, recursive, self._now())
            return self._delete_file(connection, rows, path)

        return await self._mutate(work, tenant, project)

    def _delete_file(self, connection: C, rows: ProjectRows, path: FilePath) -> int:
        """Soft-delete the live file at a path; 1."""
        found, now = rows.one("file", path=path), self._now()
        assert found is not None
        connection.execute(
            self._queries["file_delete"], {"id": found[0], "tenant": rows.tenant, "now": now}
        )
        rows.place(path, found[0], found[3], None)
        rows.enqueue(path, "DELETE", now)
        rows.account(-1, -int(found[1]))
        return 1

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
        def work(connection: C) -> int:
            rows = self._rows(connection, tenant, project)
            found = rows.one("file", path=path)
            moving = [(found[0], path, found[1], found[3], found[5])] if found else rows.below(path)
            if not moving:
                raise nothing_at(path)
            if target.startswith(path + "/") and found is None:
                raise CommonplaceError(
                    INVALID_PATH,
                    "A directory cannot be moved into itself.",
                    details={"field": "new_path"},
                )
            replaced = rows.entry(target)
            check_match(replaced, if_match)
            if (
                replaced is not None
                and overwrite
                and found is not None
                and replaced.type is FileType.FILE
                and path != target
            ):
                self._delete_file(connection, rows, target)
            elif replaced is not None:
                raise CommonplaceError(
                    ALREADY_EXISTS,
                    f"There is something at {target} already.",
                    hint="Delete it first, or choose another name.",
                    details={"path": target},
                )
            above = rows.file_above(target)
            if above is not None:
                raise under_a_file(target, above)
            rows.ask(
                "sources_forget", path=path, start=path + "/", upper=path + "0"
            )  # no longer where an import put them
            now = self._now()
            for identity, old, _, updated_at, source in moving:
                new = file_path(target + old[len(path) :], field="new_path")
                moved = (
                    moved_source(source, FilePath(old), new, path.count("/"))
                    if source is not None
                    else None
                )
                if moved is not None:
                    rows.note_source(identity, Provenance(moved))
                connection.execute(
                    self._queries["file_move"], {"id": identity, "path": new, "tenant": tenant}
                )
                rows.place(FilePath(old), identity, updated_at, None)
                rows.place(new, identity, None, updated_at)
                rows.enqueue(new, "UPSERT", now)
                rows.enqueue(FilePath(old), "DELETE", now)
            return len(moving)

        return await self._mutate(work, tenant, project)

    async def deleted(
        self, tenant: str, project: Project, deleted_after: int, limit: int, offset: int
    ) -> list[Deleted]:
        def look(connection: C) -> list[Deleted]:
            found = self._rows(connection, tenant, project).ask(
                "deleted_files", after=deleted_after, limit=limit, offset=offset
            )
            return [Deleted(FilePath(path), size, when) for path, size, when in found]

        return await self._scan(look)

    async def restore(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        deleted_after: int,
        max_project_bytes: int,
    ) -> list[FilePath]:
        def work(connection: C) -> list[FilePath]:
            rows = self._rows(connection, tenant, project)
            if rows.is_file(path):
                raise CommonplaceError(
                    ALREADY_EXISTS, f"{path} is live; nothing to restore.", details={"path": path}
                )
            found = rows.ask(
                "restorable", path=path, start=path + "/", upper=path + "0", after=deleted_after
            ).fetchall()
            now, restored, size = self._now(), [], 0
            for identity, each, length, updated_at in found:
                live = FilePath(each)
                if rows.entry(live) is not None or rows.file_above(live) is not None:
                    continue  # something newer is in its place
                connection.execute(
                    self._queries["file_restore"], {"id": identity, "tenant": tenant}
                )
                rows.place(live, identity, None, updated_at)
                rows.enqueue(live, "UPSERT", now)
                restored.append(live)
                size += length
            if not restored:
                raise CommonplaceError(
                    NOT_FOUND,
                    f"Nothing to restore at {path}: never deleted, purged after the retention, "
                    f"or replaced by something newer.",
                    details={"path": path},
                )
            rows.account(len(restored), size)
            used = rows.one("project_bytes")
            if used is not None and used[0] > max_project_bytes:
                raise CommonplaceError(
                    QUOTA_EXCEEDED,
                    f"Restoring {size} bytes would bring the project to {used[0]} of "
                    f"{max_project_bytes} bytes.",
                    hint="Delete something first.",
                    details={"limit_bytes": max_project_bytes, "needed_bytes": used[0]},
                )
            return restored

        return await self._mutate(work, tenant, project)

    async def after(
        self, tenant: str, project: Project, prefix: str, path: str, limit: int, max_bytes: int
    ) -> list[Slice]:
        def page(connection: C) -> list[Slice]:
            rows = self._rows(connection, tenant, project)
            files = []
            for each, size, created_at, updated_at, digest, content, source in rows.ask(
                "page", after=path, prefix=prefix, upper=_upper(prefix), limit=limit, room=max_bytes
            ):
                files.append(
                    Slice(
                        FileEntry(
                            FilePath(each),
                            FileType.FILE,
                            size,
                            created_at,
                            updated_at,
                            digest,
                            source,
                        ),
                        0,
                        content,
                    )
                )
            return files

        return await self._scan(page)

    async def projects(self, tenant: str) -> list[ProjectUsage]:
        def look(connection: C) -> list[ProjectUsage]:
            names = [
                Project(str(row[0]))
                for row in connection.execute(self._queries["projects"], {"tenant": tenant})
            ]
            return [self._rows(connection, tenant, name).usage() for name in names]

        return await self._scan(look)

    async def usage(self, tenant: str, project: Project) -> ProjectUsage:
        return await self._scan(lambda connection: self._rows(connection, tenant, project).usage())

    async def move_tenant(self, old: str, new: str) -> int:
        return await self._mutate(lambda connection: self._move(connection, old, new), old)

    def _move(self, connection: C, old: str, new: str) -> int:
        if connection.execute(self._queries["tenant_any"], {"tenant": new}).fetchone() is not None:
            raise CommonplaceError(
                ALREADY_EXISTS,
                "The new tenant has files of its own.",
                hint="Move to a name without data.",
            )
        moved = connection.execute(self._queries["tenant_files"], {"tenant": old}).fetchone()
        for name in (
            "files",
            "ancestors",
            "projects",
            "chunks",
            "jobs",
            "vector_jobs",
            "local_vector_jobs",
            "partitions",
        ):
            connection.execute(self._queries[f"tenant_move_{name}"], {"old": old, "new": new})
        return int(moved[0]) if moved else 0

    async def contents(self, after: int, limit: int) -> list[FileContent]:
        def work(connection: C) -> list[FileContent]:
            rows = connection.execute(
                self._queries["contents"], {"after": after, "limit": limit}
            ).fetchall()
            return [
                FileContent(int(row[0]), row[1], row[2], row[3], bytes(row[4]), row[5])
                for row in rows
            ]

        return await self._scan(work, rows=limit)

    async def purge(self, deleted_before: int, limit: int) -> int:
        def work(connection: C) -> int:
            return len(
                connection.execute(
                    self._queries["purge"], {"before": deleted_before, "limit": limit}
                ).fetchall()
            )

        return await self._commit(work, None)

    def _rows(self, connection: C, tenant: str, project: Project) -> ProjectRows:
        return ProjectRows(connection, self._queries, tenant, project)

    async def _mutate(self, work: Callable[[C], Result], tenant: str, project: str = "") -> Result:
        try:
            result = await self._commit(work, lock_of(tenant, project))
        except BusyError as busy:
            raise CommonplaceError(
                RESOURCE_BUSY,
                f"The project's lock was not free within {self._lock_timeout_seconds:g} s; "
                f"nothing was written.",
                hint="Retry the call.",
                details=busy.details,
                retryable=True,
            ) from busy
        self.queued()
        return result


def lock_of(tenant: str, project: str) -> str:
    """The name of a project's lock: `hash(apikey_hash, project)` of contract 003 section 8 is
    taken of it.
    """
    return f"{tenant}:{project}"


def _upper(prefix: str) -> str:
    """The least string above every path with the prefix.

    Paths are ASCII, so the next character is one too.
    """
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else "0"
