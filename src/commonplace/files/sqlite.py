"""Files in SQLite: contract 003's tables in one database file, every mutation one unit of work in the writer thread."""

from __future__ import annotations

import hashlib
import heapq
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from commonplace.files.errors import (
    ALREADY_EXISTS,
    INVALID_PATH,
    NOT_EMPTY,
    NOT_FOUND,
    QUOTA_EXCEEDED,
    RESOURCE_BUSY,
    nothing_at,
    under_a_file,
)
from commonplace.files.model import (
    ROOT,
    Entry,
    FilePath,
    FileType,
    Project,
    Situation,
    Slice,
    Usage,
    ancestors,
    file_path,
)
from commonplace.files.store import Decide
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import BusyError
from commonplace.storage.migrations import load_migrations, migrate
from commonplace.storage.queries import load_queries
from commonplace.storage.sqlite import Connection, Database

Result = TypeVar("Result")
INLINE_BYTES = 262_144  # larger reads leave the event loop
INLINE_ENTRIES = 64  # longer listings too
QUERIES = load_queries("commonplace.files", "sqlite.sql")


def microseconds() -> int:
    return time.time_ns() // 1000


def open_schema(database: Database) -> None:
    migrate(database, "files", load_migrations("commonplace.files", "migrations/sqlite"))


class SqliteFiles:
    """The `FileStore` on one machine. `queued` is called after each commit that queued index work."""

    def __init__(
        self,
        database: Database,
        *,
        lock_timeout_seconds: float = 3.0,
        now: Callable[[], int] = microseconds,
    ) -> None:
        open_schema(database)
        self._database = database
        self._lock_timeout_seconds = lock_timeout_seconds
        self._now = now
        self.queued: Callable[[], None] = lambda: None  # the indexer's alarm clock, set by whoever assembles them

    async def entry(self, tenant: str, project: Project, path: FilePath) -> Entry | None:
        return _entry(self._database.reader(), tenant, project, path)

    async def slice(self, tenant: str, project: Project, path: FilePath, offset: int, length: int | None) -> Slice | None:
        keys = {"tenant": tenant, "project": project, "path": path}
        found = self._database.reader().execute(QUERIES["file"], keys).fetchone()
        if found is None:
            return None
        size = int(found[1])
        start = min(offset, size)
        wanted = size - start if length is None else min(length, size - start)

        def read(connection: Connection) -> Slice | None:
            # The size may have changed since: ask for what the caller asked for, and take the row's own word.
            bounded = wanted if length is not None else 1 << 40
            row = connection.execute(QUERIES["file_slice"], {**keys, "start": start + 1, "length": bounded}).fetchone()
            if row is None:
                return None
            at = min(start, int(row[0]))
            return Slice(Entry(path, FileType.FILE, int(row[0]), row[1], row[2], row[3]), at, row[4])

        return read(self._database.reader()) if wanted <= INLINE_BYTES else await self._database.read(read)

    async def children(self, tenant: str, project: Project, path: FilePath, depth: int, limit: int) -> list[Entry]:
        def walk(connection: Connection) -> list[Entry]:
            merged = heapq.merge(
                _files_within(connection, tenant, project, path, depth),
                _directories_within(connection, tenant, project, path, depth),
                key=lambda entry: entry.path,
            )
            return [entry for entry, _ in zip(merged, range(limit), strict=False)]

        if limit <= INLINE_ENTRIES:
            with self._database.snapshot() as connection:
                return walk(connection)
        return await self._database.read(walk)

    async def change(self, tenant: str, project: Project, path: FilePath, decide: Decide) -> Entry:
        def work(connection: Connection) -> Entry:
            keys = {"tenant": tenant, "project": project, "path": path}
            found = connection.execute(QUERIES["file"], keys).fetchone()
            content = b""
            if found is not None:
                row = connection.execute(QUERIES["file_content"], {"id": found[0], "tenant": tenant}).fetchone()
                content = row[0] if row else b""
            new = decide(_situation(connection, tenant, project, path, found, content))
            now = max(self._now(), int(found[3]) + 1 if found else 0)  # a later write is later, whatever the clock did
            digest = hashlib.sha256(new).hexdigest()
            values = {**keys, "size": len(new), "hash": digest, "now": now, "content": new}
            if found is None:
                row = connection.execute(QUERIES["file_insert"], values).fetchone()
                assert row is not None
                _place(connection, tenant, project, path, row[0], None, now)
            else:
                connection.execute(
                    QUERIES["file_update"],
                    {"content": new, "size": len(new), "hash": digest, "now": now, "id": found[0], "tenant": tenant},
                )
                _place(connection, tenant, project, path, found[0], found[3], now)
            _account(connection, tenant, project, 0 if found else 1, len(new) - len(content))
            _enqueue(connection, tenant, project, path, "UPSERT", now)
            return Entry(path, FileType.FILE, len(new), found[2] if found else now, now, digest)

        return await self._mutate(work)

    async def delete(self, tenant: str, project: Project, path: FilePath, recursive: bool) -> int:
        def work(connection: Connection) -> int:
            found = connection.execute(QUERIES["file"], {"tenant": tenant, "project": project, "path": path}).fetchone()
            if found is not None:
                now = self._now()
                connection.execute(QUERIES["file_delete"], {"id": found[0], "tenant": tenant, "now": now})
                _place(connection, tenant, project, path, found[0], found[3], None)
                _enqueue(connection, tenant, project, path, "DELETE", now)
                _account(connection, tenant, project, -1, -int(found[1]))
                return 1
            return _delete_below(connection, tenant, project, path, recursive, self._now())

        return await self._mutate(work)

    async def rename(self, tenant: str, project: Project, path: FilePath, target: FilePath) -> int:
        def work(connection: Connection) -> int:
            found = connection.execute(QUERIES["file"], {"tenant": tenant, "project": project, "path": path}).fetchone()
            rows = [(found[0], path, found[1], found[3])] if found else _below(connection, tenant, project, path)
            if not rows:
                raise nothing_at(path)
            if target.startswith(path + "/") and found is None:
                raise CommonplaceError(INVALID_PATH, "A directory cannot be moved into itself.", details={"field": "new_path"})
            if _entry(connection, tenant, project, target) is not None:
                raise CommonplaceError(
                    ALREADY_EXISTS,
                    f"There is something at {target} already.",
                    hint="Delete it first, or choose another name.",
                    details={"path": target},
                )
            above = _file_above(connection, tenant, project, target)
            if above is not None:
                raise under_a_file(target, above)
            now = self._now()
            for identity, old, _, updated_at in rows:
                new = file_path(target + old[len(path) :], field="new_path")
                connection.execute(QUERIES["file_move"], {"id": identity, "path": new, "tenant": tenant})
                _place(connection, tenant, project, FilePath(old), identity, updated_at, None)
                _place(connection, tenant, project, new, identity, None, updated_at)
                _enqueue(connection, tenant, project, FilePath(old), "DELETE", now)
                _enqueue(connection, tenant, project, new, "UPSERT", now)
            return len(rows)

        return await self._mutate(work)

    async def restore(self, tenant: str, project: Project, path: FilePath, deleted_after: int, max_project_bytes: int) -> list[FilePath]:
        def work(connection: Connection) -> list[FilePath]:
            keys = {"tenant": tenant, "project": project, "path": path, "start": path + "/", "upper": path + "0", "after": deleted_after}
            if _is_file(connection, tenant, project, path):
                raise CommonplaceError(ALREADY_EXISTS, f"{path} is live; nothing to restore.", details={"path": path})
            rows = [row for row in connection.execute(QUERIES["restorable"], keys)]  # noqa: C416 - read before writing
            now, restored, size = self._now(), [], 0
            for identity, each, length, updated_at, _ in rows:
                live = FilePath(each)
                if _entry(connection, tenant, project, live) is not None or _file_above(connection, tenant, project, live) is not None:
                    continue  # something newer is in its place
                connection.execute(QUERIES["file_restore"], {"id": identity, "tenant": tenant})
                _place(connection, tenant, project, live, identity, None, updated_at)
                _enqueue(connection, tenant, project, live, "UPSERT", now)
                restored.append(live)
                size += length
            if not restored:
                raise CommonplaceError(
                    NOT_FOUND,
                    f"Nothing to restore at {path}: never deleted, purged after the retention, or replaced by something newer.",
                    details={"path": path},
                )
            _account(connection, tenant, project, len(restored), size)
            used = _project_bytes(connection, tenant, project)
            if used > max_project_bytes:
                raise CommonplaceError(
                    QUOTA_EXCEEDED,
                    f"Restoring {size} bytes would bring the project to {used} of {max_project_bytes} bytes.",
                    hint="Delete something first.",
                    details={"limit_bytes": max_project_bytes, "needed_bytes": used},
                )
            return restored

        return await self._mutate(work)

    async def after(self, tenant: str, project: Project, prefix: str, path: str, limit: int, max_bytes: int) -> list[Slice]:
        parameters = {"tenant": tenant, "project": project, "after": path, "prefix": prefix, "upper": _upper(prefix), "limit": limit}

        def page(connection: Connection) -> list[Slice]:
            files: list[Slice] = []
            room = max_bytes
            for each, size, created_at, updated_at, digest, content in connection.execute(QUERIES["page"], parameters):
                files.append(Slice(Entry(FilePath(each), FileType.FILE, size, created_at, updated_at, digest), 0, content))
                room -= size
                if room <= 0:
                    break
            return files

        return await self._database.read(page)

    async def projects(self, tenant: str) -> list[Usage]:
        def look(connection: Connection) -> list[Usage]:
            rows = connection.execute(QUERIES["projects"], {"tenant": tenant}).fetchall()
            return [_usage(connection, tenant, Project(str(row[0]))) for row in rows]

        return await self._database.read(look)

    async def usage(self, tenant: str, project: Project) -> Usage:
        return await self._database.read(lambda connection: _usage(connection, tenant, project))

    async def move_tenant(self, old: str, new: str) -> int:
        from commonplace.files.sqlite_vectors import QUERIES as VECTOR_QUERIES

        def work(connection: Connection) -> int:
            if connection.execute(QUERIES["tenant_any"], {"tenant": new}).fetchone() is not None:
                raise CommonplaceError(ALREADY_EXISTS, "The new tenant has files of its own.", hint="Move to a name without data.")
            moved = connection.execute(QUERIES["tenant_files"], {"tenant": old}).fetchone()
            for name in ("files", "ancestors", "projects", "chunks", "jobs", "partitions"):
                connection.execute(QUERIES[f"tenant_move_{name}"], {"old": old, "new": new})
            connection.execute(VECTOR_QUERIES["vector_move_tenant"], {"old": old, "new": new})
            return int(moved[0]) if moved else 0

        return await self._mutate(work)

    async def purge(self, deleted_before: int, limit: int) -> int:
        def work(connection: Connection) -> int:
            connection.execute(QUERIES["purge"], {"before": deleted_before, "limit": limit})
            return connection.changes()

        return await self._database.write(work)

    async def _mutate(self, work: Callable[[Connection], Result]) -> Result:
        try:
            result = await self._database.write(work, lock_timeout_seconds=self._lock_timeout_seconds)
        except BusyError as busy:
            raise CommonplaceError(
                RESOURCE_BUSY,
                f"The project's lock was not free within {self._lock_timeout_seconds:g} s; nothing was written.",
                hint="Retry the call.",
                details=busy.details,
                retryable=True,
            ) from busy
        self.queued()
        return result


def _entry(connection: Connection, tenant: str, project: Project, path: FilePath) -> Entry | None:
    keys = {"tenant": tenant, "project": project, "path": path}
    if path:
        row = connection.execute(QUERIES["file"], keys).fetchone()
        if row is not None:
            return Entry(path, FileType.FILE, row[1], row[2], row[3], row[4])
    newest = connection.execute(QUERIES["directory"], keys).fetchone()
    if newest is None and path != ROOT:
        return None
    return Entry(path, FileType.DIRECTORY, 0, None, newest[0] if newest else None)


def _is_file(connection: Connection, tenant: str, project: Project, path: FilePath) -> bool:
    return connection.execute(QUERIES["file"], {"tenant": tenant, "project": project, "path": path}).fetchone() is not None


def _file_above(connection: Connection, tenant: str, project: Project, path: FilePath) -> FilePath | None:
    for directory in ancestors(path):
        if directory and _is_file(connection, tenant, project, directory):
            return directory
    return None


def _situation(
    connection: Connection, tenant: str, project: Project, path: FilePath, found: tuple[Any, ...] | None, content: bytes
) -> Situation:
    entry = Entry(path, FileType.FILE, found[1], found[2], found[3], found[4]) if found else None
    # A live file already has no file above and no descendants: those rules were kept when it was made.
    below = found is None and connection.execute(QUERIES["directory"], {"tenant": tenant, "project": project, "path": path}).fetchone()
    above = None if found else _file_above(connection, tenant, project, path)
    return Situation(entry, content, above, bool(below), _project_bytes(connection, tenant, project))


def _project_bytes(connection: Connection, tenant: str, project: Project) -> int:
    row = connection.execute(QUERIES["project_bytes"], {"tenant": tenant, "project": project}).fetchone()
    return int(row[0]) if row else 0


def _below(connection: Connection, tenant: str, project: Project, path: FilePath) -> list[tuple[Any, ...]]:
    keys = {"tenant": tenant, "project": project, "start": path + "/", "upper": path + "0"}
    return connection.execute(QUERIES["below"], keys).fetchall()


def _delete_below(connection: Connection, tenant: str, project: Project, path: FilePath, recursive: bool, now: int) -> int:
    """A directory in a few statements, however many files it has: nobody waits long for the lock."""
    keys = {"tenant": tenant, "project": project, "start": path + "/", "upper": path + "0"}
    row = connection.execute(QUERIES["below_count"], keys).fetchone()
    files, size = row if row else (0, 0)
    if not files:
        raise nothing_at(path)
    if not recursive:
        raise CommonplaceError(
            NOT_EMPTY,
            f"{path} is a directory with {files} files below it.",
            hint="Pass recursive=true to delete them all.",
            details={"path": path, "files": files},
        )
    for directory in (*ancestors(path), path):
        connection.execute(QUERIES["below_unmark"], {**keys, "directory": directory})
    connection.execute(QUERIES["below_unmark_inside"], keys)
    connection.execute(QUERIES["below_enqueue"], {**keys, "now": now})
    connection.execute(QUERIES["below_delete"], {**keys, "now": now})
    _account(connection, tenant, project, -files, -size)
    return int(files)


def _place(connection: Connection, tenant: str, project: Project, path: FilePath, identity: int, old: int | None, new: int | None) -> None:
    """Move a file's marks in the directories above it from one update time to another; None = it has none."""
    for directory in ancestors(path):
        keys = {"tenant": tenant, "project": project, "directory": directory, "id": identity}
        if old is not None:
            connection.execute(QUERIES["ancestor_remove"], {**keys, "updated_at": old})
        if new is not None:
            connection.execute(QUERIES["ancestor_add"], {**keys, "updated_at": new})


def _account(connection: Connection, tenant: str, project: Project, files: int, size: int) -> None:
    connection.execute(QUERIES["project_change"], {"tenant": tenant, "project": project, "files": files, "bytes": size})


def _enqueue(connection: Connection, tenant: str, project: Project, path: FilePath, operation: str, now: int) -> None:
    parameters = {"tenant": tenant, "project": project, "path": path, "operation": operation, "file_updated_at": now, "now": now}
    connection.execute(QUERIES["job_enqueue"], parameters)


def _usage(connection: Connection, tenant: str, project: Project) -> Usage:
    keys = {"tenant": tenant, "project": project}
    live = connection.execute(QUERIES["project_usage"], keys).fetchone() or (0, 0)
    deleted = connection.execute(QUERIES["deleted_usage"], keys).fetchone() or (0, 0)
    return Usage(project, live[0], live[1], deleted[0], deleted[1])


def _upper(prefix: str) -> str:
    """The least string above every path with the prefix. Paths are ASCII, so the next character is one too."""
    return prefix[:-1] + chr(ord(prefix[-1]) + 1) if prefix else "0"


def _files_within(connection: Connection, tenant: str, project: Project, path: FilePath, depth: int) -> Iterator[Entry]:
    """Live files at most `depth` levels below a directory, by path; a deeper subtree is jumped over with one seek."""
    start, upper = path + "/", path + "0"
    levels = path.count("/") + depth
    while start:
        keys = {"tenant": tenant, "project": project, "start": start, "upper": upper}
        start = ""
        for each, size, created_at, updated_at, digest in connection.execute(QUERIES["files_from"], keys):
            if each.count("/") > levels:
                start = _above(each, levels) + "0"  # the first name after everything below that directory
                break
            yield Entry(FilePath(each), FileType.FILE, size, created_at, updated_at, digest)


def _directories_within(connection: Connection, tenant: str, project: Project, path: FilePath, depth: int) -> Iterator[Entry]:
    """Directories at most `depth` levels below one, by path, with one or two statements each."""
    start, upper = path + "/", path + "0"
    levels = path.count("/") + depth
    while True:
        keys = {"tenant": tenant, "project": project, "start": start, "upper": upper}
        row = connection.execute(QUERIES["directory_from"], keys).fetchone()
        if row is None:
            return
        directory = FilePath(row[0])
        if directory.count("/") > levels:
            start = _above(directory, levels) + "0"
            continue
        yield Entry(directory, FileType.DIRECTORY, 0, None, row[1])
        start = directory + "\0"  # the next name, whatever follows


def _above(path: str, levels: int) -> str:
    """The first `levels` segments of a path."""
    at = 0
    for _ in range(levels):
        at = path.index("/", at + 1)
    return path[:at]
