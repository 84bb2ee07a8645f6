"""The format of an audit chain: one JSON object per line, with its hash and the previous one.

The hash of a record covers its bytes as written, so any changed byte is found without parsing.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import orjson

from commonplace.kernel.json_types import JsonObject

GENESIS = "0" * 64
_TAIL = re.compile(rb',"hash":"([0-9a-f]{64})"}\Z')
_HEAD = re.compile(r"([0-9]{20}) ([0-9a-f]{64})\n\Z")
CHAIN_NAME = re.compile(r"[0-9A-Za-z-]{1,80}")


@dataclass(frozen=True, slots=True)
class Head:
    """The number of records of a chain, and the hash of the last one."""

    count: int
    hash: str

    def encode(self) -> bytes:
        """Return the content of a head file."""
        return f"{self.count:020d} {self.hash}\n".encode()

    @classmethod
    def read(cls, path: Path) -> Head | None:
        """Read a head file; None if it is missing or damaged."""
        try:
            found = _HEAD.match(path.read_text("ascii"))
        except (OSError, UnicodeDecodeError):
            return None
        return cls(int(found[1]), found[2]) if found else None


EMPTY = Head(0, GENESIS)

Marks = dict[str, list[tuple[str, Head]]]
"""Heads of chains by name, each with the one who recorded it."""


def seal(record: JsonObject, head: Head) -> tuple[bytes, Head]:
    """Return the next line of a chain, and the new head."""
    body = orjson.dumps({"seq": head.count, "prev": head.hash, **record}, default=str)
    digest = hashlib.sha256(body).hexdigest()
    return body[:-1] + b',"hash":"' + digest.encode() + b'"}\n', Head(head.count + 1, digest)


def unseal(line: bytes, head: Head) -> tuple[JsonObject, Head]:
    """Return the record of a line and the head after it. Raises ValueError with the problem."""
    tail = _TAIL.search(line)
    if tail is None:
        raise ValueError("the line has no hash: it was cut or changed")
    body = line[: tail.start()] + b"}"
    digest = hashlib.sha256(body).hexdigest()
    if digest.encode() != tail[1]:
        raise ValueError("the record does not match its hash: it was changed")
    try:
        record = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise ValueError("the line is not JSON") from None
    if not isinstance(record, dict) or record.get("seq") != head.count:
        raise ValueError(
            f"found record {record.get('seq') if isinstance(record, dict) else '?'} instead of "
            f"{head.count}"
        )
    if record.get("prev") != head.hash:
        raise ValueError("the record does not follow the one before it")
    return record, Head(head.count + 1, digest)


def register_path(directory: Path) -> Path:
    """Return the file that lists all chains.

    It is beside the folder, so that an emptied or missing folder is noticed.
    """
    return directory.with_name(f"{directory.name}.register")


def registered_names(directory: Path) -> list[str]:
    """Return the names of all chains ever started here, oldest first."""
    try:
        lines = dict.fromkeys(register_path(directory).read_text("ascii", "replace").splitlines())
    except OSError:
        return []
    names = (line.partition(" ")[0] for line in lines)
    return [
        name
        for name in names
        if CHAIN_NAME.fullmatch(name) and register_line(name).strip() in lines
    ]


def register_line(name: str) -> str:
    """Return a line of the register. Its checksum detects a line that a full disk truncated."""
    return f"\n{name} {hashlib.sha256(name.encode()).hexdigest()[:16]}\n"


def chains_folder(directory: Path) -> Path:
    """Return the folder of the chains."""
    return directory / "chains"


def heads_folder(directory: Path) -> Path:
    """Return the folder of the heads, which are kept apart from the chains."""
    return directory / "heads"
