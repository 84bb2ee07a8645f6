"""All canonical state of a data folder in one archive, taken while servers write, and put back
after checking every byte.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commonplace import __version__
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.storage.backup.unpacking import ARCHIVE_INVALID, MANIFEST, unpack
from commonplace.storage.disk.access import existing_folder
from commonplace.storage.disk.reserve import NAME as RESERVE
from commonplace.storage.errors import PATH_UNUSABLE, STORAGE_DAMAGED, STORAGE_FULL
from commonplace.storage.integrity.checks import DatabaseChecks, Remedy, find_damage
from commonplace.storage.integrity.monitor import REPORT
from commonplace.storage.integrity.rebuild import ASIDE
from commonplace.storage.locks.data_folder import LOCK_NAME, alone
from commonplace.telemetry.chain import Head, chains_folder, heads_folder

STATE_EXISTS = Code(
    "STATE_EXISTS", Kind.CONFLICT, "The data folder holds state already; restoring needs --force."
)
CODES: tuple[Code, ...] = (ARCHIVE_INVALID, STATE_EXISTS)

DERIVED = frozenset(
    {
        "models",
        "traces",
        "cache",
        "vectors",
        "logs",
        "audit",
        "instructions",
        LOCK_NAME,
        RESERVE,
        REPORT,
        ASIDE,
    }
)  # rebuilt, or taken separately
TRANSIENT = (".lock", ".tmp", "-wal", "-shm", "-journal", ".sock")
DATABASE = ".db"
SQLITE_MAGIC = b"SQLite format 3\0"
DOCUMENTS = frozenset({"data/keys.json", "data/feedback.json", "data/usage-snapshot.json"})


@dataclass(frozen=True, slots=True)
class Member:
    name: str
    data: bytes | Path


Checks = Mapping[str, DatabaseChecks]


def write_archive(
    data: Path, instructions: Path, target: Path, checks: Sequence[DatabaseChecks] = ()
) -> dict[str, Any]:
    """Write the archive atomically.

    Databases are copied by SQLite itself, audit chains up to their sealed heads.

    Each copy is checked before it is taken: an archive of damaged data would replace the last good
    one. `checks` say how.
    """
    existing_folder(data)
    by_name = {each.path.name: each for each in checks if each.path.parent == data}
    target.parent.mkdir(parents=True, exist_ok=True)
    work = target.with_name(f".{target.name}.{os.getpid()}.work")
    work.mkdir(mode=0o700)
    temporary = work / "archive"
    listed: list[dict[str, Any]] = []
    try:
        with tarfile.open(temporary, "w:gz", compresslevel=3) as archive:
            for member in _members(data, instructions, work, by_name):
                listed.append(_add(archive, member))
            manifest = {
                "product": "commonplace",
                "version": __version__,
                "created_at": iso(utc_now()),
                "members": listed,
            }
            _add(archive, Member(MANIFEST, json.dumps(manifest, indent=1).encode()))
        temporary.chmod(0o600)
        temporary.replace(target)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return {"archive": str(target), "files": len(listed), "bytes": target.stat().st_size}


def restore_archive(source: Path, data: Path, instructions: Path, *, force: bool) -> dict[str, Any]:
    """Unpack beside the data folder, check it against the manifest, then swap.

    The old state is kept, not deleted.
    """
    source.open("rb").close()  # before anything is made for it
    with alone(data):
        outside = not instructions.is_relative_to(data)
        state = [path for path in data.iterdir() if path.name != LOCK_NAME]
        filled = outside and instructions.is_dir() and any(instructions.iterdir())
        if (state or filled) and not force:
            raise CommonplaceError(
                STATE_EXISTS,
                f"{data if state else instructions} is not empty.",
                hint="Use --force; what is there is kept aside.",
            )
        fresh = data / f".restore-{os.getpid()}"
        try:
            count = unpack(source, fresh)
            kept = _swap(fresh, data, instructions if outside else None, state)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return {"files": count, "kept": [str(path) for path in kept]}


def _members(data: Path, instructions: Path, work: Path, checks: Checks) -> Iterator[Member]:
    if data.is_dir():
        for path in sorted(data.iterdir()):
            if path.name not in DERIVED and not path.name.startswith(".restore"):
                yield from _tree(path, f"data/{path.name}", work, checks)
        yield from _audit(data / "audit")
    if instructions.is_dir():
        for path in sorted(instructions.iterdir()):
            yield from _tree(path, f"instructions/{path.name}", work, {})


def _tree(path: Path, name: str, work: Path, checks: Checks) -> Iterator[Member]:
    if path.is_symlink() or name.endswith(TRANSIENT):
        return
    if path.is_dir():
        for child in sorted(path.iterdir()):
            yield from _tree(child, f"{name}/{child.name}", work, {})
    elif path.is_file():
        try:
            with path.open("rb") as opened:
                start = opened.read(len(SQLITE_MAGIC))
            database = start == SQLITE_MAGIC
            if start and not database and name.startswith("data/") and name.endswith(DATABASE):
                raise _damaged(path, "it is not a database", "restore")
            if database:
                yield Member(
                    name, _checked_copy(path, work, checks.get(path.name) or DatabaseChecks(path))
                )
                return
            content = path.read_bytes()
            if name in DOCUMENTS:
                _check_document(path, content)
            yield Member(name, content)
        except FileNotFoundError:
            return  # removed meanwhile by a server: it is no longer state


def _check_document(path: Path, content: bytes) -> None:
    """Refuse a file of ours that is not the JSON object it was."""
    try:
        whole = isinstance(json.loads(content), dict)
    except ValueError:
        whole = False
    if not whole:
        raise _damaged(path, "it is not the JSON document it was", "restore")


def _checked_copy(path: Path, work: Path, checks: DatabaseChecks) -> Path:
    """A copy that was found whole."""
    copy = _database_copy(path, work)
    damage = find_damage(checks, copy)
    if damage:
        worst = next((one for one in damage if one.remedy == "restore"), damage[0])
        raise _damaged(path, f"{worst.part}: {worst.problem}", worst.remedy)
    return copy


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
        raise _damaged(path, str(damaged), "restore") from damaged
    except apsw.Error as failed:
        raise _uncopied(path, copy, failed) from failed
    finally:
        target.close()
        if source is not None:
            source.close()
    return copy


def _uncopied(path: Path, copy: Path, failed: Exception) -> CommonplaceError:
    """A full disk shows itself in several errors of SQLite; a folder that may not be written, as
    one that says nothing.
    """
    free = shutil.disk_usage(copy.parent).free
    if type(failed).__name__ == "FullError" or free < path.stat().st_size:
        hint = (
            f"{path.name} needs room beside the archive while it is copied. Free some, or "
            f"write the archive elsewhere."
        )
        return CommonplaceError(
            STORAGE_FULL,
            f"Cannot write {copy.parent.parent}: the disk is full.",
            hint=hint,
            retryable=True,
        )
    hint = (
        "SQLite makes a file beside a database that it reads: copy a data folder that may not "
        "be written, and back up the copy."
    )
    why = "it cannot be opened" if type(failed).__name__ == "CantOpenError" else str(failed)
    return CommonplaceError(
        PATH_UNUSABLE, f"Cannot copy {path}: {why}.", hint=hint, details={"path": str(path)}
    )


def _damaged(path: Path, why: str, remedy: Remedy) -> CommonplaceError:
    hint = (
        "Only derived data is damaged: stop the server and run `commonplace rebuild`, then "
        "back up again."
    )
    if remedy == "restore":
        hint = (
            "Restore an earlier backup: commonplace restore ARCHIVE --force. `commonplace "
            "doctor` lists the damage."
        )
    message = (
        f"{path.name} cannot be backed up: it is damaged ({why}). No archive was written; "
        f"one that is there was kept."
    )
    return CommonplaceError(
        STORAGE_DAMAGED, message, hint=hint, details={"file": path.name, "remedy": remedy}
    )


def _audit(directory: Path) -> Iterator[Member]:
    """Head first, then as many records as it counts: the copy verifies although the chain grows
    meanwhile.
    """
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
    with (
        member.data.open("rb")
        if isinstance(member.data, Path)
        else io.BytesIO(member.data) as content
    ):
        digest = hashlib.file_digest(content, "sha256").hexdigest()
        info.size = content.seek(0, os.SEEK_END)
        content.seek(0)
        archive.addfile(info, content)
    return {"name": member.name, "bytes": info.size, "sha256": digest}


def _swap(fresh: Path, data: Path, instructions: Path | None, state: list[Path]) -> list[Path]:
    """Put the new in place of the old.

    `instructions` is given where that folder lies outside the data folder.
    """
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
