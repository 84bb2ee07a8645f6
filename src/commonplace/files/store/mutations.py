"""Changes to the files of one project, each inside one unit of work under the project's lock."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from commonplace.files.checks import check_match
from commonplace.files.engine.change import SizeLimits, check_tenant_quota
from commonplace.files.engine.naming import moved_source
from commonplace.files.errors import (
    ALREADY_EXISTS,
    INVALID_PATH,
    NOT_FOUND,
    QUOTA_EXCEEDED,
    nothing_at,
    under_a_file,
)
from commonplace.files.model import FileEntry, FilePath, FileType, Provenance, file_path
from commonplace.files.store.project_rows import ProjectRows
from commonplace.files.store.protocol import Decide
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.relational import Row

TENANT_TABLES = (
    "files",
    "ancestors",
    "projects",
    "chunks",
    "jobs",
    "vector_jobs",
    "local_vector_jobs",
    "sync_entries",
    "index_projects",
    "extracts",
    "partitions",
)
# Rows that depend on others come first; PostgreSQL and SQLite delete what belongs to a chunk, a
# file or a partition with it.
DELETED_TENANT_TABLES = (
    "postings",
    "partitions",
    "chunks",
    "extracts",
    "jobs",
    "vector_jobs",
    "local_vector_jobs",
    "sync_entries",
    "index_projects",
    "ancestors",
    "projects",
    "files",
)


def store_file(
    rows: ProjectRows, path: FilePath, decide: Decide, provenance: Provenance | None, now: int
) -> FileEntry:
    """Insert or update a file with the content that `decide` returns."""
    found, situation = rows.situation(path)
    new = decide(situation)
    # a later write has a later time, whatever the clock did
    now = max(now, int(found[3]) + 1 if found else 0)
    digest = hashlib.sha256(new).hexdigest()
    values = {"size": len(new), "hash": digest, "now": now, "content": new}
    if found is None:
        row = rows.first("file_insert", path=path, **values)
        assert row is not None
        file_id = int(row[0])
        rows.place(path, file_id, None, now)
    else:
        file_id = int(found[0])
        rows.connection.execute(
            rows.queries["file_update"], {**values, "id": found[0], "tenant": rows.tenant}
        )
        rows.place(path, found[0], found[3], now)
    rows.add_to_totals(0 if found else 1, len(new) - len(situation.content))
    rows.enqueue(path, "UPSERT", now)
    if provenance is not None and (found is not None or provenance != Provenance()):
        rows.note_source(file_id, provenance)
    source = provenance.source_path if provenance else found[6] if found else None
    created_at = found[2] if found else now
    return FileEntry(path, FileType.FILE, len(new), created_at, now, digest, source)


def delete_path(rows: ProjectRows, path: FilePath, recursive: bool, now: int) -> int:
    """Soft-delete a file, or everything below a directory; return how many files."""
    if rows.first("file", path=path) is None:
        return rows.delete_below(path, recursive, now)
    delete_file(rows, path, now)
    return 1


def delete_file(rows: ProjectRows, path: FilePath, now: int) -> None:
    """Soft-delete the live file at a path."""
    found = rows.first("file", path=path)
    assert found is not None
    rows.connection.execute(
        rows.queries["file_delete"], {"id": found[0], "tenant": rows.tenant, "now": now}
    )
    rows.place(path, found[0], found[3], None)
    rows.enqueue(path, "DELETE", now)
    rows.add_to_totals(-1, -int(found[1]))


def rename_path(
    rows: ProjectRows,
    path: FilePath,
    target: FilePath,
    overwrite: bool,
    if_match: str | None,
    now: int,
) -> int:
    """Move a file or a directory; return how many files."""
    found = rows.first("file", path=path)
    moving = [(found[0], path, found[1], found[3], found[5])] if found else rows.below(path)
    if not moving:
        raise nothing_at(path)
    if target.startswith(path + "/") and found is None:
        raise CommonplaceError(
            INVALID_PATH, "A directory cannot be moved into itself.", details={"field": "new_path"}
        )
    may_replace = overwrite and found is not None and path != target
    _make_room(rows, target, may_replace, if_match, now)
    # the files are no longer where an import put them
    rows.ask("sources_forget", path=path, start=path + "/", upper=path + "0")
    _move_files(rows, moving, path, target, now)
    return len(moving)


def _make_room(
    rows: ProjectRows, target: FilePath, may_replace: bool, if_match: str | None, now: int
) -> None:
    """Delete the file at the target of a move if it may be replaced; else refuse."""
    replaced = rows.entry(target)
    check_match(replaced, if_match)
    if replaced is not None and may_replace and replaced.type is FileType.FILE:
        delete_file(rows, target, now)
    elif replaced is not None:
        raise CommonplaceError(
            ALREADY_EXISTS,
            f"{target} already exists.",
            hint="Delete it first, or choose another name.",
            details={"path": target},
        )
    above = rows.file_above(target)
    if above is not None:
        raise under_a_file(target, above)


def _move_files(
    rows: ProjectRows, moving: Sequence[Row], path: FilePath, target: FilePath, now: int
) -> None:
    for file_id, old, _, updated_at, source in moving:
        new = file_path(target + old[len(path) :], field="new_path")
        moved = (
            moved_source(source, FilePath(old), new, path.count("/"))
            if source is not None
            else None
        )
        if moved is not None:
            rows.note_source(file_id, Provenance(moved))
        rows.connection.execute(
            rows.queries["file_move"], {"id": file_id, "path": new, "tenant": rows.tenant}
        )
        rows.place(FilePath(old), file_id, updated_at, None)
        rows.place(new, file_id, None, updated_at)
        rows.enqueue(new, "UPSERT", now)
        rows.enqueue(FilePath(old), "DELETE", now)


def restore_path(
    rows: ProjectRows, path: FilePath, deleted_after: int, limits: SizeLimits, now: int
) -> list[FilePath]:
    """Bring back the newest deleted version of a file, or of the files below a directory."""
    if rows.is_file(path):
        raise CommonplaceError(
            ALREADY_EXISTS, f"{path} is not deleted; nothing to restore.", details={"path": path}
        )
    found = rows.ask(
        "restorable", path=path, start=path + "/", upper=path + "0", after=deleted_after
    ).fetchall()
    restored, size = [], 0
    for file_id, name, length, updated_at in found:
        live = FilePath(name)
        if rows.entry(live) is not None or rows.file_above(live) is not None:
            continue  # something newer is in its place
        rows.connection.execute(
            rows.queries["file_restore"], {"id": file_id, "tenant": rows.tenant}
        )
        rows.place(live, file_id, None, updated_at)
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
    rows.add_to_totals(len(restored), size)
    used = rows.first("project_bytes")
    most = limits.project_bytes
    if used is not None and used[0] > most:
        raise CommonplaceError(
            QUOTA_EXCEEDED,
            f"Restoring {size} bytes would bring the project to {used[0]} of {most} bytes.",
            hint="Delete something first.",
            details={"limit_bytes": most, "needed_bytes": used[0]},
        )
    if limits.tenant_bytes is not None:
        check_tenant_quota(rows.tenant_bytes(), limits.tenant_bytes)
    return restored
