"""All canonical state of a data folder in one archive, taken while servers write, and put back after checking every byte."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from commonplace import __version__
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.storage.disk import existing_folder
from commonplace.storage.errors import PATH_UNUSABLE, STORAGE_DAMAGED, STORAGE_FULL
from commonplace.storage.occupancy import LOCK_NAME, alone
from commonplace.telemetry.chain import Head, chains_folder, heads_folder

ARCHIVE_INVALID = Code("ARCHIVE_INVALID", Kind.INVALID_DATA, "The archive is damaged, or not one of ours; nothing was restored.")
STATE_EXISTS = Code("STATE_EXISTS", Kind.CONFLICT, "The data folder holds state already; restoring needs --force.")
CODES: tuple[Code, ...] = (ARCHIVE_INVALID, STATE_EXISTS)

MANIFEST = "manifest.json"
DERIVED = frozenset({"models", "traces", "cache", "vectors", "logs", "audit", "instructions", LOCK_NAME})  # rebuilt, or taken separately
TRANSIENT = (".lock", ".tmp", "-wal", "-shm", "-journal", ".sock")
DATABASE = ".db"
SQLITE_MAGIC = b"SQLite format 3\0"
MAX_MEMBERS = 10_000_000


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    data: bytes | Path


def write_archive(data: Path, instructions: Path, target: Path) -> dict[str, Any]:
    """Write the archive atomically. Databases are copied by SQLite itself, audit chains up to their sealed heads."""
    existing_folder(data)
    target.parent.mkdir(parents=True, exist_ok=True)
    work = target.with_name(f".{target.name}.{os.getpid()}.work")
    work.mkdir(mode=0o700)
    temporary = work / "archive"
    listed: list[dict[str, Any]] = []
    try:
        with tarfile.open(temporary, "w:gz", compresslevel=3) as archive:
            for member in _members(data, instructions, work):
                listed.append(_add(archive, member))
            manifest = {"product": "commonplace", "version": __version__, "created_at": iso(utc_now()), "members": listed}
            _add(archive, Member(MANIFEST, json.dumps(manifest, indent=1).encode()))
        temporary.chmod(0o600)
        temporary.replace(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return {"archive": str(target), "files": len(listed), "bytes": target.stat().st_size}


def restore_archive(source: Path, data: Path, instructions: Path, *, force: bool) -> dict[str, Any]:
    """Unpack beside the data folder, check it against the manifest, then swap. The old state is kept, not deleted."""
    source.open("rb").close()  # before anything is made for it
    with alone(data):
        outside = not instructions.is_relative_to(data)
        state = [path for path in data.iterdir() if path.name != LOCK_NAME]
        filled = outside and instructions.is_dir() and any(instructions.iterdir())
        if (state or filled) and not force:
            raise CommonplaceError(
                STATE_EXISTS, f"{data if state else instructions} is not empty.", hint="Use --force; what is there is kept aside."
            )
        fresh = data / f".restore-{os.getpid()}"
        try:
            count = _unpack(source, fresh)
            kept = _swap(fresh, data, instructions if outside else None, state)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return {"files": count, "kept": [str(path) for path in kept]}


def _members(data: Path, instructions: Path, work: Path) -> Iterator[Member]:
    if data.is_dir():
        for path in sorted(data.iterdir()):
            if path.name not in DERIVED and not path.name.startswith(".restore"):
                yield from _tree(path, f"data/{path.name}", work)
        yield from _audit(data / "audit")
    if instructions.is_dir():
        for path in sorted(instructions.iterdir()):
            yield from _tree(path, f"instructions/{path.name}", work)


def _tree(path: Path, name: str, work: Path) -> Iterator[Member]:
    if path.is_symlink() or name.endswith(TRANSIENT):
        return
    if path.is_dir():
        for child in sorted(path.iterdir()):
            yield from _tree(child, f"{name}/{child.name}", work)
    elif path.is_file():
        try:
            with path.open("rb") as opened:
                start = opened.read(len(SQLITE_MAGIC))
            database = start == SQLITE_MAGIC
            if start and not database and name.startswith("data/") and name.endswith(DATABASE):
                raise _damaged(path, "it is not a database")
            yield Member(name, _database_copy(path, work) if database else path.read_bytes())
        except FileNotFoundError:
            return  # removed meanwhile by a server: it is no longer state


def _database_copy(path: Path, work: Path) -> Path:
    """SQLite's own backup: one consistent moment, whatever is being written."""
    import apsw

    copy = work / "database"
    copy.unlink(missing_ok=True)
    target = apsw.Connection(str(copy))
    source: apsw.Connection | None = None
    try:
        source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        source.set_busy_timeout(30_000)
        with target.backup("main", source, "main") as running:
            while not running.done:
                running.step(-1)
        target.pragma("journal_mode", "delete")
    except (apsw.NotADBError, apsw.CorruptError) as damaged:
        raise _damaged(path, str(damaged)) from damaged
    except apsw.Error as failed:
        raise _uncopied(path, copy, failed) from failed
    finally:
        target.close()
        if source is not None:
            source.close()
    return copy


def _uncopied(path: Path, copy: Path, failed: Exception) -> CommonplaceError:
    """A full disk shows itself in several errors of SQLite; a folder that may not be written, as one that says nothing."""
    free = shutil.disk_usage(copy.parent).free
    if type(failed).__name__ == "FullError" or free < path.stat().st_size:
        hint = f"{path.name} needs room beside the archive while it is copied. Free some, or write the archive elsewhere."
        return CommonplaceError(STORAGE_FULL, f"Cannot write {copy.parent.parent}: the disk is full.", hint=hint, retryable=True)
    hint = "SQLite makes a file beside a database that it reads: copy a data folder that may not be written, and back up the copy."
    why = "it cannot be opened" if type(failed).__name__ == "CantOpenError" else str(failed)
    return CommonplaceError(PATH_UNUSABLE, f"Cannot copy {path}: {why}.", hint=hint, details={"path": str(path)})


def _damaged(path: Path, why: str) -> CommonplaceError:
    return CommonplaceError(
        STORAGE_DAMAGED, f"{path} cannot be backed up: {why}. No archive was written.", hint="Restore it from an earlier backup."
    )


def _audit(directory: Path) -> Iterator[Member]:
    """Head first, then as many records as it counts: the copy verifies although the chain grows meanwhile."""
    for head_path in sorted(heads_folder(directory).glob("*.head")):
        head = Head.read(head_path)
        chain = chains_folder(directory) / f"{head_path.stem}.jsonl"
        if head is None or not chain.exists():
            continue
        with chain.open("rb") as lines:
            records = b"".join(line for line, _ in zip(lines, range(head.count), strict=False))
        yield Member(f"data/audit/heads/{head_path.name}", head.encode())
        yield Member(f"data/audit/chains/{chain.name}", records)


def _add(archive: tarfile.TarFile, member: Member) -> dict[str, Any]:
    info = tarfile.TarInfo(member.name)
    info.mode = 0o600
    with member.data.open("rb") if isinstance(member.data, Path) else io.BytesIO(member.data) as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        info.size = content.seek(0, os.SEEK_END)
        content.seek(0)
        archive.addfile(info, content)
    return {"name": member.name, "bytes": info.size, "sha256": digest}


def _unpack(source: Path, fresh: Path) -> int:
    try:
        with tarfile.open(source, "r:gz") as archive:
            seen: dict[str, str] = {}
            manifest: dict[str, Any] | None = None
            for info in archive:
                if len(seen) > MAX_MEMBERS or not info.isreg() or not _safe(info.name):
                    raise ValueError(f"unexpected member {info.name[:100]!r}")
                opened = archive.extractfile(info)
                assert opened is not None
                if info.name == MANIFEST:
                    manifest = json.load(opened)
                    continue
                seen[info.name] = _write(fresh / info.name, opened)
    except (OSError, EOFError, ValueError, tarfile.TarError, AssertionError) as broken:
        raise CommonplaceError(ARCHIVE_INVALID, f"{source} cannot be restored: {broken}.") from None
    listed = (
        {item["name"]: item["sha256"] for item in manifest["members"]} if manifest and manifest.get("product") == "commonplace" else None
    )
    if listed is None or listed != seen:
        raise CommonplaceError(ARCHIVE_INVALID, f"{source} does not match its manifest.", hint="Take another backup; this one is damaged.")
    return len(seen)


def _safe(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return name == MANIFEST or (len(parts) >= 2 and parts[0] in ("data", "instructions") and ".." not in parts and "\0" not in name)


def _write(path: Path, opened: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest = hashlib.sha256()
    with path.open("xb") as file:
        while chunk := opened.read(1 << 20):
            digest.update(chunk)
            file.write(chunk)
        file.flush()
        os.fsync(file.fileno())
    path.chmod(0o600)
    return digest.hexdigest()


def _swap(fresh: Path, data: Path, instructions: Path | None, state: list[Path]) -> list[Path]:
    """Put the new in place of the old. `instructions` is given where that folder lies outside the data folder."""
    kept: list[Path] = []
    stamp = "".join(c for c in iso(utc_now()) if c.isdigit())
    if state:
        aside = data.with_name(f"{data.name}.before-{stamp}")
        aside.mkdir(mode=0o700)
        for path in state:
            path.rename(aside / path.name)
        kept.append(aside)
    for path in sorted((fresh / "data").iterdir()) if (fresh / "data").is_dir() else ():
        path.rename(data / path.name)
    restored = fresh / "instructions"
    if restored.is_dir():
        target = instructions or data / "instructions"
        if target.exists() and any(target.iterdir()):
            aside = target.with_name(f"{target.name}.before-{stamp}")
            target.rename(aside)
            kept.append(aside)
        elif target.exists():
            target.rmdir()
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(restored, target)
    return kept
