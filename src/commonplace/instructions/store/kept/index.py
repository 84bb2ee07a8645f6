"""The file in which rules are kept for hooks: written whole, read in parts, checked throughout.

A first line names the format and the checksum of the header; the header says which state of the
catalogue this is and where the parts are. Every part has a checksum, so that a damaged file is
never used. A writer replaces the file at once; of several writers the last one wins.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from commonplace.instructions.store.kept.listing import FileStamp, list_stamps
from commonplace.instructions.store.kept.place import FOLDER
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.storage.disk.atomic_write import write_atomically
from commonplace.storage.disk.private_files import make_private_folder

FILE = Path(FOLDER) / "rules.index"
FORMAT = 1
_MAGIC = b"commonplace rules %d " % FORMAT
_LONGEST_HEADER = 64 * 1024 * 1024

PartPlace = Sequence[int]  # offset, bytes, checksum


class UnusableIndexError(Exception):
    """There is no index, or it is damaged, or of another state of the catalogue."""


class KeptIndex:
    """An open index. `header` has the state, and what its writer added."""

    def __init__(self, descriptor: int, header: JsonObject, begin: int) -> None:
        self._descriptor = descriptor
        self._begin = begin
        self.header = header

    @classmethod
    def open(cls, data: Path) -> KeptIndex:
        """Open the index of a data folder. Raises UnusableIndexError."""
        try:
            descriptor = os.open(data / FILE, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise UnusableIndexError(f"there is no index of rules: {error.strerror}") from None
        try:
            return cls(descriptor, *_read_header(descriptor))
        except BaseException:
            os.close(descriptor)
            raise

    def read(self, place: PartPlace) -> bytes:
        """Return a part. Raises UnusableIndexError where it is damaged."""
        offset, size, checksum = place
        content = os.pread(self._descriptor, size, self._begin + offset)
        if len(content) != size or zlib.crc32(content) != checksum:
            raise UnusableIndexError("the index of rules is damaged")
        return content

    def read_part(self, name: str) -> Json:
        """Return the value of a named part; None if there is none."""
        place = self.header["parts"].get(name)
        return None if place is None else json.loads(self.read(place))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)


def _read_header(descriptor: int) -> tuple[JsonObject, int]:
    first = os.pread(descriptor, 256, 0)
    line, newline, _ = first.partition(b"\n")
    fields = line.removeprefix(_MAGIC).split()
    if not newline or not line.startswith(_MAGIC) or len(fields) != 2:
        raise UnusableIndexError("the index of rules has another format")
    try:
        size, checksum = (int(field) for field in fields)
    except ValueError:
        raise UnusableIndexError("the index of rules is damaged") from None
    content = os.pread(descriptor, min(size, _LONGEST_HEADER), len(line) + 1)
    if len(content) != size or zlib.crc32(content) != checksum:
        raise UnusableIndexError("the index of rules is damaged")
    return json.loads(content), len(line) + 1 + size


def write_index(
    data: Path, header: JsonObject, texts: Sequence[bytes], parts: Mapping[str, Json]
) -> None:
    """Replace the index. Places of texts start at 0, in their order."""
    body = list(texts)
    offset = sum(map(len, texts))
    places: dict[str, list[int]] = {}
    for name, value in parts.items():
        content = json.dumps(value, separators=(",", ":")).encode()
        places[name] = [offset, len(content), zlib.crc32(content)]
        offset += len(content)
        body.append(content)
    head = json.dumps({**header, "parts": places}, separators=(",", ":")).encode()
    first = _MAGIC + b"%d %d\n" % (len(head), zlib.crc32(head))
    make_private_folder((data / FILE).parent)
    write_atomically(data / FILE, b"".join((first, head, *body)), durable=False)


def folder_state(directory: Path) -> JsonObject:
    """Return what identifies the state of an instruction folder as it is on the disk."""
    return describe_state(directory, list_stamps(str(directory)))


def describe_state(directory: Path, stamps: Iterable[tuple[str, FileStamp]]) -> JsonObject:
    """Return what identifies files: names, modification times, sizes and inodes."""
    digest = hashlib.blake2b(digest_size=16)
    newest = 0
    for name, (modified, size, inode) in sorted(stamps):
        newest = max(newest, modified)
        digest.update(f"{name}\0{modified}\0{size}\0{inode}\n".encode("utf-8", "surrogateescape"))
    return {
        "kind": "folder",
        "path": os.path.realpath(directory),
        "digest": digest.hexdigest(),
        "newest": newest,
    }


def shared_state(url: str) -> JsonObject:
    """Return what identifies the shared catalogue of a database; its address may hold a secret."""
    return {"kind": "shared", "identity": hashlib.blake2b(url.encode(), digest_size=16).hexdigest()}
