"""Backups of instructions before many are removed at once: in files, or in PostgreSQL."""

from __future__ import annotations

import contextlib
import re
import zlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import orjson

from commonplace.kernel.json_types import JsonObject
from commonplace.storage.disk.atomic_write import write_atomically
from commonplace.storage.disk.private_files import make_private_folder

if TYPE_CHECKING:
    from commonplace.storage.postgres.connection import PostgresConnection
    from commonplace.storage.postgres.database import PostgresDatabase

KEEP_BACKUPS = 20
_NAME = re.compile(r"[0-9]{8}-[0-9]{9}-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class BackupFacts:
    """What a backup holds, and who was about to remove it. Names sort by time."""

    name: str
    at: str
    by: str
    tenant: str
    action: str
    count: int


class BackupStore(Protocol):
    """Backups by name; the newest 20 are kept."""

    def add(self, facts: BackupFacts, contents: Mapping[str, bytes]) -> None:
        """Store the bytes of instructions by id, durably."""
        ...

    def all(self) -> list[BackupFacts]:
        """Return the facts of all backups, newest first."""
        ...

    def read(self, name: str) -> dict[str, bytes] | None:
        """Return the bytes of instructions by id; None if there is no such backup."""
        ...


class BackupFolder:
    """Backups in the state folder: facts in the first line of a compressed file."""

    def __init__(self, state: Path) -> None:
        self._folder = state / "backups"

    def add(self, facts: BackupFacts, contents: Mapping[str, bytes]) -> None:
        make_private_folder(self._folder)
        packed = _pack(contents)
        head = orjson.dumps(asdict(facts), option=orjson.OPT_APPEND_NEWLINE)
        write_atomically(self._folder / f"{facts.name}.backup", head + packed)
        for path in sorted(self._folder.glob("*.backup"), reverse=True)[KEEP_BACKUPS:]:
            with contextlib.suppress(OSError):
                path.unlink()

    def all(self) -> list[BackupFacts]:
        found = []
        for path in sorted(self._folder.glob("*.backup"), reverse=True):
            with contextlib.suppress(OSError, ValueError, TypeError), path.open("rb") as file:
                found.append(BackupFacts(**orjson.loads(file.readline())))
        return found

    def read(self, name: str) -> dict[str, bytes] | None:
        if not _NAME.fullmatch(name):
            return None
        try:
            content = (self._folder / f"{name}.backup").read_bytes()
        except FileNotFoundError:
            return None
        return _unpack(content.partition(b"\n")[2])


class BackupTable:
    """Backups in PostgreSQL."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def add(self, facts: BackupFacts, contents: Mapping[str, bytes]) -> None:
        from commonplace.instructions.store.postgres import QUERIES

        row = {
            "name": facts.name,
            "facts": orjson.dumps(asdict(facts)),
            "content": _pack(contents),
        }

        def write(connection: PostgresConnection) -> None:
            connection.execute(QUERIES["add_backup"], row)
            connection.execute(QUERIES["trim_backups"], {"keep": KEEP_BACKUPS})

        self._database.write_now(write)

    def all(self) -> list[BackupFacts]:
        from commonplace.instructions.store.postgres import QUERIES

        rows = self._database.read_now(
            lambda connection: connection.execute(QUERIES["backups"]).fetchall()
        )
        return [BackupFacts(**orjson.loads(facts)) for (facts,) in rows]

    def read(self, name: str) -> dict[str, bytes] | None:
        from commonplace.instructions.store.postgres import QUERIES

        row = self._database.read_now(
            lambda connection: connection.execute(QUERIES["backup"], {"name": name}).fetchone()
        )
        return None if row is None else _unpack(bytes(row[0]))


def _pack(contents: Mapping[str, bytes]) -> bytes:
    lines: JsonObject = {id_: content.decode("latin-1") for id_, content in contents.items()}
    return zlib.compress(orjson.dumps(lines))


def _unpack(packed: bytes) -> dict[str, bytes]:
    lines = orjson.loads(zlib.decompress(packed))
    return {id_: text.encode("latin-1") for id_, text in lines.items()}
