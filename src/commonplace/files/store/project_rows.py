"""The rows of one project inside one unit of work: files, directories, counters, jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from commonplace.files.errors import NOT_EMPTY, nothing_at
from commonplace.files.model import (
    ROOT,
    FileEntry,
    FilePath,
    FileSituation,
    FileType,
    Project,
    ProjectUsage,
    Provenance,
    ancestors,
)
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.relational import Row, SqlConnection, SqlRows

LEAST = "\1"  # sorts before every character of a path


@dataclass(frozen=True, slots=True)
class ProjectRows:
    """Statements of one project.

    PostgreSQL gets statements in one round trip if they are asked before any answer is read.
    """

    connection: SqlConnection
    queries: Mapping[str, str]
    tenant: str
    project: Project

    def ask(self, name: str, **parameters: object) -> SqlRows:
        return self.connection.execute(
            self.queries[name], {"tenant": self.tenant, "project": self.project, **parameters}
        )

    def first(self, name: str, **parameters: object) -> Row | None:
        return self.ask(name, **parameters).fetchone()

    def entry(self, path: FilePath) -> FileEntry | None:
        file = self.ask("file", path=path) if path else None
        newest = self.ask("directory", path=path)
        row = file.fetchone() if file is not None else None
        if row is not None:
            return FileEntry(path, FileType.FILE, *row[1:6])
        above = newest.fetchone()
        if above is None and path != ROOT:
            return None
        return FileEntry(path, FileType.DIRECTORY, 0, None, above[0] if above else None)

    def is_file(self, path: FilePath) -> bool:
        return self.first("file", path=path) is not None

    def file_above(self, path: FilePath) -> FilePath | None:
        asked = [
            (directory, self.ask("file", path=directory))
            for directory in ancestors(path)
            if directory
        ]
        return next((directory for directory, rows in asked if rows.fetchone() is not None), None)

    def situation(self, path: FilePath) -> tuple[Row | None, FileSituation]:
        """Return the live file's row, and what a mutation must know.

        The row has id, size, created, updated, hash, content and source path.
        """
        current, used = self.ask("file_current", path=path), self.ask("project_bytes")
        found = current.fetchone()
        size = used.fetchone()
        project_bytes = int(size[0]) if size else 0
        if found is not None:  # a live file has no file above it and no descendants
            entry = FileEntry(path, FileType.FILE, found[1], found[2], found[3], found[4], found[6])
            return found, FileSituation(
                entry, found[5], None, False, project_bytes, self.tenant_bytes
            )
        below = self.ask("directory", path=path)
        above = self.file_above(path)
        has_descendants = below.fetchone() is not None
        return None, FileSituation(
            None, b"", above, has_descendants, project_bytes, self.tenant_bytes
        )

    def tenant_bytes(self) -> int:
        """Return the bytes of all projects of the tenant, and let no other project add to them."""
        self.first("lock_tenant")
        row = self.first("tenant_bytes")
        return int(row[0]) if row is not None else 0

    def below(self, path: FilePath) -> list[Row]:
        """Return (id, path, size, updated, source path) of the live files below a directory."""
        return self.ask("below", start=path + "/", upper=path + "0").fetchall()

    def delete_below(self, path: FilePath, recursive: bool, now: int) -> int:
        """Soft-delete a directory in a few statements, so that the lock is held briefly."""
        span = {"start": path + "/", "upper": path + "0"}
        files, size = self.first("below_count", **span) or (0, 0)
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
            self.ask("below_unmark", directory=directory, **span)
        self.ask("below_unmark_inside", **span)
        self.ask("below_enqueue", now=now, **span)
        self.ask("below_delete", now=now, **span)
        self.add_to_totals(-files, -size)
        return int(files)

    def place(self, path: FilePath, identity: int, old: int | None, new: int | None) -> None:
        """Change the update time of a file in the directories above it.

        `old` None: the file is new there; `new` None: it leaves.
        """
        for directory in ancestors(path):
            if old is not None:
                self.ask("ancestor_remove", directory=directory, id=identity, updated_at=old)
            if new is not None:
                self.ask("ancestor_add", directory=directory, id=identity, updated_at=new)

    def note_source(self, identity: int, provenance: Provenance) -> None:
        """Replace the provenance of a file."""
        if provenance == Provenance():
            self.ask("source_clear", id=identity)
        else:
            self.ask(
                "source_set",
                id=identity,
                source_path=provenance.source_path,
                origin=provenance.origin,
            )

    def add_to_totals(self, files: int, size: int) -> None:
        self.ask("project_change", files=files, bytes=size)

    def enqueue(self, path: FilePath, operation: str, now: int) -> None:
        self.ask("job_enqueue", path=path, operation=operation, file_updated_at=now, now=now)

    def usage(self) -> ProjectUsage:
        live, deleted = self.ask("project_usage"), self.ask("deleted_usage")
        files, size = live.fetchone() or (0, 0)
        deleted_files, deleted_bytes = deleted.fetchone() or (0, 0)
        return ProjectUsage(self.project, files, size, deleted_files, deleted_bytes)

    def walk(
        self,
        name: str,
        path: FilePath,
        depth: int,
        after: str,
        at_once: int,
        before: str | None = None,
    ) -> Iterator[Row]:
        """Yield rows at most `depth` levels below a directory, by path.

        When a statement meets a deeper row (its last column says so), one seek skips its subtree.
        """
        start, upper = span_below(path, after, before)
        levels = path.count("/") + depth
        while True:
            count = 0
            for row in self.ask(name, start=start, upper=upper, levels=levels, limit=at_once):
                count += 1
                if row[-1]:
                    start = _cut_path(row[0], levels) + "0"  # "0" sorts right after "/"
                    count = at_once
                    break
                yield row
                start = row[0] + LEAST
            if count < at_once:
                return


def span_below(path: FilePath, after: str, before: str | None) -> tuple[str, str]:
    """Return the bounds of the names below a directory and after one of them, end exclusive."""
    return max(path + "/", after + LEAST), path + "0" if before is None else before


def _cut_path(path: str, levels: int) -> str:
    """Return the first `levels` segments of a path."""
    at = 0
    for _ in range(levels):
        at = path.index("/", at + 1)
    return path[:at]
