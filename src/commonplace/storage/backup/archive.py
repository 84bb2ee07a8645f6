"""Write all canonical state of a data folder to one archive, while servers may be writing."""

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

from commonplace import __version__
from commonplace.kernel.clock import iso, utc_now
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.backup.database_copy import copy_checked, damaged_file
from commonplace.storage.backup.unpacking import MANIFEST
from commonplace.storage.disk.access import require_folder
from commonplace.storage.disk.reserve import NAME as RESERVE
from commonplace.storage.integrity.checks import DatabaseChecks
from commonplace.storage.integrity.monitor import REPORT
from commonplace.storage.integrity.rebuild import ASIDE
from commonplace.storage.locks.data_folder import LOCK_NAME
from commonplace.telemetry.chain import Head, chains_folder, heads_folder

# Rebuilt after a restore, or archived separately.
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
)
TRANSIENT = (".lock", ".tmp", "-wal", "-shm", "-journal", ".sock")
DATABASE = ".db"
SQLITE_MAGIC = b"SQLite format 3\0"
DOCUMENTS = frozenset({"data/keys.json", "data/feedback.json", "data/usage-snapshot.json"})


@dataclass(frozen=True, slots=True)
class Member:
    """A file of the archive: its name, and its content or the file that has it."""

    name: str
    data: bytes | Path


Checks = Mapping[str, DatabaseChecks]


def write_archive(
    data: Path, instructions: Path, target: Path, checks: Sequence[DatabaseChecks] = ()
) -> JsonObject:
    """Write the archive atomically.

    Databases are copied with SQLite's backup API, audit chains up to their sealed heads. Each copy
    is checked as `checks` describe: an archive of damaged data would replace the last good one.
    """
    require_folder(data)
    by_name = {each.path.name: each for each in checks if each.path.parent == data}
    target.parent.mkdir(parents=True, exist_ok=True)
    work = target.with_name(f".{target.name}.{os.getpid()}.work")
    work.mkdir(mode=0o700)
    temporary = work / "archive"
    listed: list[JsonObject] = []
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
                raise damaged_file(path, "it is not a database", "restore")
            if database:
                yield Member(
                    name, copy_checked(path, work, checks.get(path.name) or DatabaseChecks(path))
                )
                return
            content = path.read_bytes()
            if name in DOCUMENTS:
                _check_document(path, content)
            yield Member(name, content)
        except FileNotFoundError:
            return  # a server removed it: it is no longer part of the state


def _check_document(path: Path, content: bytes) -> None:
    """Raise STORAGE_DAMAGED if a stored document is not a JSON object."""
    try:
        valid = isinstance(json.loads(content), dict)
    except ValueError:
        valid = False
    if not valid:
        raise damaged_file(path, "it is not a valid JSON document", "restore")


def _audit(directory: Path) -> Iterator[Member]:
    """Yield the audit chains: each head, then the records it counts.

    The copy verifies even if the chain grows in the meantime.
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


def _add(archive: tarfile.TarFile, member: Member) -> JsonObject:
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
