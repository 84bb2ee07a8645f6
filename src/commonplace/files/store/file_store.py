"""`FileStore` over named SQL: the rules of docs/reference/contracts/files.md."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TypeVar

from commonplace.files.engine.change import SizeLimits
from commonplace.files.engine.sync import SyncOutcome, SyncWrite
from commonplace.files.errors import ALREADY_EXISTS, RESOURCE_BUSY
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
)
from commonplace.files.store.mutations import (
    DELETED_TENANT_TABLES,
    TENANT_TABLES,
    delete_path,
    rename_path,
    restore_path,
    store_file,
)
from commonplace.files.store.project_rows import ProjectRows, span_below
from commonplace.files.store.protocol import Decide
from commonplace.files.store.sync_rows import SyncRows
from commonplace.files.store.units import FileUnits, microseconds
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import BusyError
from commonplace.storage.relational import Row, SqlConnection, SqlRows

Result = TypeVar("Result")
WHOLE = 1 << 40  # more bytes than any file has


@dataclass(frozen=True, slots=True)
class FileDialect:
    """What differs between the databases: the statements, and how much is read at once."""

    queries: Mapping[str, str]
    directories_at_once: int
    lock_projects: Callable[[SqlConnection, str], None]  # of a tenant, inside a change
    direct_children: str | None = None  # a faster statement for listings of depth 1
    inline_bytes: int | None = None  # larger slices are read by `scan`; None: all by `look`
    own_tables: tuple[str, ...] = ()  # deleted with a tenant; the other database lacks them


class SqlFileStore:
    """The `FileStore` of both databases. `queued` is called after index work was queued."""

    def __init__(
        self,
        units: FileUnits,
        dialect: FileDialect,
        lock_timeout_seconds: float,
        now: Callable[[], int] = microseconds,
    ) -> None:
        self._units = units
        self._dialect = dialect
        self._queries = dialect.queries
        self._lock_timeout_seconds = lock_timeout_seconds
        self._now = now
        self.queued: Callable[[], None] = lambda: None  # set by the assembly: wakes the indexer

    # Reading

    async def entry(self, tenant: str, project: Project, path: FilePath) -> FileEntry | None:
        return await self._units.look(
            lambda connection: self._rows(connection, tenant, project).entry(path)
        )

    async def slice(
        self, tenant: str, project: Project, path: FilePath, offset: int, length: int | None
    ) -> Slice | None:
        inline = self._dialect.inline_bytes
        row = await self._units.look(
            lambda connection: _ask_slice(
                self._rows(connection, tenant, project), path, offset, length, inline
            ).fetchone()
        )
        if row is not None and row[4] is None:
            row = await self._units.scan(
                lambda connection: _ask_slice(
                    self._rows(connection, tenant, project), path, offset, length
                ).fetchone()
            )
        return None if row is None else _slice(path, offset, row)

    async def whole_files(
        self, tenant: str, project: Project, paths: Sequence[FilePath]
    ) -> dict[FilePath, Slice]:
        inline = self._dialect.inline_bytes

        def read(connection: SqlConnection) -> list[tuple[FilePath, Row | None]]:
            rows = self._rows(connection, tenant, project)
            asked = [(path, _ask_slice(rows, path, 0, None, inline)) for path in paths]
            return [(path, answer.fetchone()) for path, answer in asked]

        found: dict[FilePath, Slice] = {}
        for path, row in await self._units.look(read):
            if row is not None and row[4] is not None:
                found[path] = _slice(path, 0, row)
            elif row is not None and (whole := await self.slice(tenant, project, path, 0, None)):
                found[path] = whole
        return found

    async def children(
        self, tenant: str, project: Project, path: FilePath, depth: int, limit: int, after: str = ""
    ) -> list[FileEntry]:
        start = after.partition("\0")[0].encode("utf-8", "ignore").decode()
        at_once = min(limit, self._dialect.directories_at_once)

        def walk(connection: SqlConnection) -> list[FileEntry]:
            rows = self._rows(connection, tenant, project)
            directories = [
                FileEntry(FilePath(name), FileType.DIRECTORY, 0, None, updated_at)
                for name, updated_at, _ in islice(
                    rows.walk("directories_from", path, depth, start, at_once), limit
                )
            ]
            # files after the last directory of a full page are not on the page
            before = directories[-1].path if len(directories) == limit else None
            files = [
                FileEntry(
                    FilePath(name), FileType.FILE, size, created_at, updated_at, digest, source
                )
                for name, size, created_at, updated_at, digest, source in islice(
                    self._files(rows, path, depth, start, limit, before), limit
                )
            ]
            return list(
                islice(heapq.merge(files, directories, key=lambda entry: entry.path), limit)
            )

        return await self._units.scan(walk, rows=limit)

    def _files(
        self,
        rows: ProjectRows,
        path: FilePath,
        depth: int,
        after: str,
        limit: int,
        before: str | None,
    ) -> Iterator[Row]:
        """Yield (path, size, created, updated, hash, source path) of the files below, in order."""
        if depth > 1 or self._dialect.direct_children is None:
            for row in rows.walk("files_from", path, depth, after, limit, before):
                yield row[:-1]
            return
        start, upper = span_below(path, after, before)
        values = {
            "tenant": rows.tenant,
            "project": rows.project,
            "start": start,
            "upper": upper,
            "name": len(path) + 2,
            "limit": limit,
        }
        yield from rows.connection.execute(self._dialect.direct_children, values)

    async def inventory(
        self, tenant: str, project: Project, prefix: str, after: str, limit: int
    ) -> list[StoredFile]:
        def page(connection: SqlConnection) -> list[StoredFile]:
            found = self._rows(connection, tenant, project).ask(
                "inventory", after=after, prefix=prefix, upper=_upper(prefix), limit=limit
            )
            return [
                StoredFile(FilePath(path), digest, Provenance(source, origin))
                for path, digest, source, origin in found
            ]

        return await self._units.scan(page)

    async def list_deleted(
        self, tenant: str, project: Project, deleted_after: int, limit: int, offset: int
    ) -> list[Deleted]:
        def look(connection: SqlConnection) -> list[Deleted]:
            found = self._rows(connection, tenant, project).ask(
                "deleted_files", after=deleted_after, limit=limit, offset=offset
            )
            return [Deleted(FilePath(path), size, when) for path, size, when in found]

        return await self._units.scan(look)

    async def after(
        self, tenant: str, project: Project, prefix: str, path: str, limit: int, max_bytes: int
    ) -> list[Slice]:
        def page(connection: SqlConnection) -> list[Slice]:
            found = self._rows(connection, tenant, project).ask(
                "page", after=path, prefix=prefix, upper=_upper(prefix), limit=limit, room=max_bytes
            )
            return [
                Slice(
                    FileEntry(
                        FilePath(name), FileType.FILE, size, created_at, updated_at, digest, source
                    ),
                    0,
                    content,
                )
                for name, size, created_at, updated_at, digest, content, source in found
            ]

        return await self._units.scan(page)

    async def projects(self, tenant: str) -> list[ProjectUsage]:
        def look(connection: SqlConnection) -> list[ProjectUsage]:
            found = connection.execute(self._queries["projects"], {"tenant": tenant})
            names = [Project(str(row[0])) for row in found]
            return [self._rows(connection, tenant, name).usage() for name in names]

        return await self._units.scan(look)

    async def owners(self) -> list[str]:
        def look(connection: SqlConnection) -> list[str]:
            return [str(row[0]) for row in connection.execute(self._queries["owners"])]

        return await self._units.scan(look)

    async def usage(self, tenant: str, project: Project) -> ProjectUsage:
        return await self._units.scan(
            lambda connection: self._rows(connection, tenant, project).usage()
        )

    async def contents(self, after: int, limit: int) -> list[FileContent]:
        def page(connection: SqlConnection) -> list[FileContent]:
            rows = connection.execute(
                self._queries["contents"], {"after": after, "limit": limit}
            ).fetchall()
            return [
                FileContent(int(row[0]), row[1], row[2], row[3], bytes(row[4]), row[5])
                for row in rows
            ]

        return await self._units.scan(page, rows=limit)

    # Changing

    async def change(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        decide: Decide,
        provenance: Provenance | None = None,
    ) -> FileEntry:
        return await self._change_project(
            tenant, project, lambda rows: store_file(rows, path, decide, provenance, self._now())
        )

    async def note_source(
        self, tenant: str, project: Project, path: FilePath, provenance: Provenance
    ) -> bool:
        def note(connection: SqlConnection) -> bool:
            rows = self._rows(connection, tenant, project)
            found = rows.first("file", path=path)
            if found is not None:
                rows.note_source(int(found[0]), provenance)
            return found is not None

        return await self._units.commit(note, lock_of(tenant, project))

    async def delete(self, tenant: str, project: Project, path: FilePath, recursive: bool) -> int:
        return await self._change_project(
            tenant, project, lambda rows: delete_path(rows, path, recursive, self._now())
        )

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
        return await self._change_project(
            tenant,
            project,
            lambda rows: rename_path(rows, path, target, overwrite, if_match, self._now()),
        )

    async def restore(
        self,
        tenant: str,
        project: Project,
        path: FilePath,
        deleted_after: int,
        limits: SizeLimits,
    ) -> list[FilePath]:
        return await self._change_project(
            tenant,
            project,
            lambda rows: restore_path(rows, path, deleted_after, limits, self._now()),
        )

    async def move_tenant(self, old: str, new: str) -> int:
        def move(connection: SqlConnection) -> int:
            self._dialect.lock_projects(connection, old)
            taken = connection.execute(self._queries["tenant_any"], {"tenant": new}).fetchone()
            if taken is not None:
                raise CommonplaceError(
                    ALREADY_EXISTS,
                    "The new tenant already has files.",
                    hint="Choose a name without data.",
                )
            moved = connection.execute(self._queries["tenant_files"], {"tenant": old}).fetchone()
            for name in TENANT_TABLES:
                connection.execute(self._queries[f"tenant_move_{name}"], {"old": old, "new": new})
            return int(moved[0]) if moved else 0

        return await self._mutate(move, lock_of(old, ""))

    async def delete_tenant(self, tenant: str) -> tuple[int, list[Project]]:
        def delete(connection: SqlConnection) -> tuple[int, list[Project]]:
            values = {"tenant": tenant}
            self._dialect.lock_projects(connection, tenant)
            found = connection.execute(self._queries["tenant_projects"], values).fetchall()
            counted = connection.execute(self._queries["tenant_files"], values).fetchone()
            for name in (*self._dialect.own_tables, *DELETED_TENANT_TABLES):
                connection.execute(self._queries[f"tenant_delete_{name}"], values)
            return int(counted[0]) if counted else 0, [Project(row[0]) for row in found]

        return await self._mutate(delete, lock_of(tenant, ""))

    async def purge(self, deleted_before: int, limit: int) -> int:
        def purge(connection: SqlConnection) -> int:
            values = {"before": deleted_before, "limit": limit}
            return len(connection.execute(self._queries["purge"], values).fetchall())

        return await self._units.commit(purge, None)

    async def sync_entries(
        self, tenant: str, project: Project, origin: str
    ) -> tuple[dict[FilePath, str], dict[FilePath, str]]:
        def read(connection: SqlConnection) -> tuple[dict[FilePath, str], dict[FilePath, str]]:
            rows = self._rows(connection, tenant, project)
            own = rows.ask("sync_entries", origin=origin)
            others = rows.ask("sync_entries_of_others", origin=origin)
            return (
                {FilePath(path): str(digest) for path, digest in own},
                {FilePath(path): str(digest) for path, digest in others},
            )

        return await self._units.scan(read)

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
        def work(rows: ProjectRows) -> list[SyncOutcome | CommonplaceError]:
            sync = SyncRows(rows, origin, limits, self._now(), takes_over)
            return [sync.apply(write) for write in writes]

        return await self._change_project(tenant, project, work)

    async def _change_project(
        self, tenant: str, project: Project, work: Callable[[ProjectRows], Result]
    ) -> Result:
        return await self._mutate(
            lambda connection: work(self._rows(connection, tenant, project)),
            lock_of(tenant, project),
        )

    async def _mutate(self, work: Callable[[SqlConnection], Result], lock: str) -> Result:
        try:
            result = await self._units.commit(work, lock)
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

    def _rows(self, connection: SqlConnection, tenant: str, project: Project) -> ProjectRows:
        return ProjectRows(connection, self._queries, tenant, project)


def _ask_slice(
    rows: ProjectRows,
    path: FilePath,
    offset: int,
    length: int | None,
    most: int | None = None,
) -> SqlRows:
    """Ask for bytes of a file; without its content if they are more than `most`."""
    start = min(offset, WHOLE)
    return rows.ask(
        "file_slice",
        path=path,
        start=start + 1,
        length=WHOLE if length is None else min(length, WHOLE),
        most=WHOLE if most is None else most,
    )


def _slice(path: FilePath, offset: int, row: Row) -> Slice:
    entry = FileEntry(path, FileType.FILE, int(row[0]), row[1], row[2], row[3])
    return Slice(entry, min(offset, int(row[0])), row[4])


def lock_of(tenant: str, project: str) -> str:
    """Return the hashed name of a project's lock (docs/reference/contracts/files.md, section 8)."""
    return f"{tenant}:{project}"


def _upper(prefix: str) -> str:
    """Return the least string above every path with the prefix; paths are ASCII."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else "0"
