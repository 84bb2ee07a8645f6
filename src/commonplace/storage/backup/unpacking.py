"""Check and unpack backup archives, which are hostile input (ADR 0214).

An archive is read twice. The first pass writes nothing: it checks names, kinds, counts, sizes and
digests of all members against the manifest. The second pass unpacks.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import os
import re
import shutil
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from commonplace.kernel.durability import sync_file
from commonplace.kernel.errors import Code, CommonplaceError, Kind
from commonplace.storage.disk.access import explain_disk_errors
from commonplace.storage.disk.private_files import FILE_MODE, make_private_folder
from commonplace.storage.disk.reserve import NAME as RESERVE
from commonplace.storage.errors import STORAGE_FULL
from commonplace.storage.locks.data_folder import LOCK_NAME

ARCHIVE_INVALID = Code(
    "ARCHIVE_INVALID",
    Kind.INVALID_DATA,
    "The archive is damaged, or was not written by commonplace; nothing was restored.",
)

MANIFEST = "manifest.json"
ROOTS = ("data", "instructions")
# Names that no archive of ours contains.
EXCLUDED = frozenset({f"data/{name}" for name in (LOCK_NAME, RESERVE, "instructions")})
MAX_MEMBERS = 5_000_000
MAX_MANIFEST_BYTES = 1 << 30
MAX_READ_BYTES = 64 << 20  # in one call: a crafted header may announce any length
MAX_NAME_BYTES = 4096
MAX_PART_BYTES = 255
CHUNK_BYTES = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class UnpackLimits:
    """How much an archive may unpack to.

    At most the free space minus `spare_bytes`; and above `plain_bytes`, at most `ratio` times the
    size of the archive.
    """

    spare_bytes: int = 16 << 20
    plain_bytes: int = 1 << 30
    ratio: int = 500


DEFAULT_LIMITS = UnpackLimits()


@dataclass(frozen=True, slots=True)
class _Member:
    """Size and digest of a member."""

    bytes: int
    sha256: str


def unpack(source: Path, fresh: Path, limits: UnpackLimits = DEFAULT_LIMITS) -> int:
    """Unpack an archive into a new folder; return the number of files.

    Raises ARCHIVE_INVALID or STORAGE_FULL without having written anything.
    """
    members = _examine(source, fresh.parent, limits)
    with _open_archive(source) as archive:
        for info in archive:
            if info.name != MANIFEST and info.name in members:
                opened = archive.extractfile(info)
                if (
                    opened is None
                    or _write(fresh / info.name, opened, info.size) != members[info.name].sha256
                ):
                    raise _invalid(source, "it changed while it was being read")
    return len(members)


def _examine(source: Path, target: Path, limits: UnpackLimits) -> dict[str, _Member]:
    """Read the whole archive without writing; return the members that the manifest lists."""
    found: dict[str, _Member] = {}
    manifest: dict[str, _Member] | None = None
    room = shutil.disk_usage(target).free - limits.spare_bytes
    most = max(limits.plain_bytes, source.stat().st_size * limits.ratio)
    total = 0
    try:
        with _open_archive(source) as archive:
            for info in archive:
                if manifest is not None:
                    raise ValueError("the manifest is not the last member")
                if not info.isreg() or info.size < 0:
                    raise ValueError(f"{info.name[:100]!r} is not a plain file")
                opened = archive.extractfile(info)
                if opened is None:
                    raise ValueError(f"{info.name[:100]!r} cannot be read")
                if info.name == MANIFEST:
                    manifest = _manifest(opened, info.size)
                    continue
                _check_name(info.name, found)
                total += info.size
                if total > most:
                    raise ValueError(
                        f"it unpacks to more than {most:,} bytes, too much for its size"
                    )
                if total > room:
                    raise _no_room(total, room)
                found[info.name] = _Member(info.size, _digest(opened))
    except CommonplaceError:
        raise
    # Hostile bytes can make the libraries raise anything; the answer is the same.
    except Exception as broken:
        reason = str(broken) or type(broken).__name__
        raise _invalid(source, reason[:300]) from None
    if manifest is None:
        raise _invalid(source, "it has no manifest")
    if manifest != found:
        raise _invalid(source, "it does not match its manifest")
    _check_tree(source, found)
    return found


@contextlib.contextmanager
def _open_archive(source: Path) -> Iterator[tarfile.TarFile]:
    with (
        gzip.open(source, "rb") as plain,
        tarfile.open(fileobj=cast("IO[bytes]", _BoundedReader(plain)), mode="r:") as archive,
    ):
        yield archive


class _BoundedReader:
    """A file that refuses to read much in one call."""

    def __init__(self, file: gzip.GzipFile) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= MAX_READ_BYTES:
            raise ValueError("a header announces an impossible length")
        return self._file.read(size)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _manifest(opened: IO[bytes], size: int) -> dict[str, _Member]:
    if size > MAX_MANIFEST_BYTES:
        raise ValueError("the manifest is too large")
    content = b"".join(iter(lambda: opened.read(CHUNK_BYTES), b""))
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        raise ValueError("the manifest is not JSON") from None
    if (
        not isinstance(document, dict)
        or document.get("product") != "commonplace"
        or not isinstance(document.get("members"), list)
    ):
        raise ValueError("the manifest was not written by commonplace")
    listed: dict[str, _Member] = {}
    for item in document["members"]:
        name, count, digest = (
            (item.get(key) for key in ("name", "bytes", "sha256"))
            if isinstance(item, dict)
            else (None, None, None)
        )
        if (
            not isinstance(name, str)
            or type(count) is not int
            or not isinstance(digest, str)
            or not _DIGEST.fullmatch(digest)
        ):
            raise ValueError("the manifest has a malformed entry")
        if name in listed:
            raise ValueError(f"the manifest lists {name[:100]!r} twice")
        listed[name] = _Member(count, digest)
    return listed


def _check_name(name: str, known: dict[str, _Member]) -> None:
    parts = name.split("/")
    encoded = name.encode("utf-8", "surrogateescape")
    if (
        len(parts) < 2
        or parts[0] not in ROOTS
        or "/".join(parts[:2]) in EXCLUDED
        or any(
            part in ("", ".", "..") or len(part.encode("utf-8", "surrogateescape")) > MAX_PART_BYTES
            for part in parts
        )
        or len(encoded) > MAX_NAME_BYTES
        or any(character < " " for character in name)
    ):
        raise ValueError(f"{name[:100]!r} is not a valid member name")
    if name in known:
        raise ValueError(f"{name[:100]!r} appears twice")
    if len(known) >= MAX_MEMBERS:
        raise ValueError(f"it has more than {MAX_MEMBERS:,} members")


def _check_tree(source: Path, found: dict[str, _Member]) -> None:
    """Check that no member is the folder of another."""
    for name in found:
        if any(str(parent) in found for parent in Path(name).parents):
            raise _invalid(source, f"{name[:100]!r} is below a file")


def _digest(opened: IO[bytes]) -> str:
    digest = hashlib.sha256()
    while chunk := opened.read(CHUNK_BYTES):
        digest.update(chunk)
    return digest.hexdigest()


def _write(path: Path, opened: IO[bytes], size: int) -> str:
    """Write a member durably; return its digest."""
    digest = hashlib.sha256()
    with explain_disk_errors(path.parent):
        make_private_folder(path.parent)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        with os.fdopen(descriptor, "wb") as file:
            while size > 0 and (chunk := opened.read(min(size, CHUNK_BYTES))):
                size -= len(chunk)
                digest.update(chunk)
                file.write(chunk)
            file.flush()
            sync_file(file.fileno())
    return digest.hexdigest()


def _invalid(source: Path, reason: str) -> CommonplaceError:
    hint = "Nothing was changed. Use another backup, or copy this one again."
    return CommonplaceError(ARCHIVE_INVALID, f"{source} cannot be restored: {reason}.", hint=hint)


def _no_room(needed: int, room: int) -> CommonplaceError:
    hint = (
        "Nothing was changed. Free space on the disk of the data folder, or restore to "
        "another folder with --data."
    )
    message = f"The archive needs more than {needed:,} bytes; {max(0, room):,} are free."
    return CommonplaceError(STORAGE_FULL, message, hint=hint, retryable=True)
