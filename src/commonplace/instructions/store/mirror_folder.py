"""A folder of instruction files that mirrors the catalogue of a database."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import orjson

from commonplace.instructions.fields import is_valid_id
from commonplace.instructions.model import Stamp
from commonplace.instructions.store.configuration import CRITERIA, GATES, OWNERS
from commonplace.instructions.store.directory import InstructionDirectory, may_be_instruction

DOCUMENTS = (OWNERS, GATES, CRITERIA)
STATE_FOLDER = ".commonplace"
STATE_FILE = "sync.json"
CONFLICTS = "conflicts"


class MirrorFolder:
    """Files, and the hashes of their last common state with a database.

    The state is in a subfolder that git ignores: a copy of the folder takes it along, a clone
    starts without one.
    """

    def __init__(self, path: Path, database: str) -> None:
        self.path = path
        self._database = database  # identity of the database that the state belongs to
        self._directory = InstructionDirectory(path)
        self._known: dict[str, tuple[Stamp, str]] = {}

    def stamps(self) -> dict[str, Stamp]:
        """Return the stamps of the files that are mirrored."""
        return {name: stamp for name, stamp in self._directory.stamps() if _is_mirrored(name)}

    def hashes(self) -> dict[str, str]:
        """Return the hash of every file; only files whose stamp changed are read."""
        known: dict[str, tuple[Stamp, str]] = {}
        for name, stamp in self.stamps().items():
            present = self._known.get(name)
            if present is not None and present[0] == stamp:
                known[name] = present
            elif (content := self.read(name)) is not None:
                known[name] = (stamp, hash_content(content))
        self._known = known
        return {name: digest for name, (_, digest) in known.items()}

    def read(self, name: str) -> bytes | None:
        """Return the content of a file. Links are not followed."""
        return self._directory.read_bytes(name[:-5])

    def modified_ns(self, name: str) -> int:
        """Return the time of the last change of a file."""
        stamp = self._directory.stamp_of(name)
        return 0 if stamp is None else stamp[0]

    def write(self, name: str, content: bytes, modified_ns: int, expected: str | None) -> bool:
        """Replace a file; return False if it is no longer the one with the expected hash."""
        if self._hash_of(name) != expected:
            return False
        temporary = self.path / f".{name}.{os.getpid()}.tmp"
        temporary.write_bytes(content)
        os.utime(temporary, ns=(modified_ns, modified_ns))
        temporary.replace(self.path / name)
        return True

    def delete(self, name: str, expected: str | None) -> bool:
        """Delete a file; return False if it is no longer the one with the expected hash."""
        if self._hash_of(name) != expected:
            return False
        (self.path / name).unlink(missing_ok=True)
        return True

    def _hash_of(self, name: str) -> str | None:
        content = self.read(name)
        return None if content is None else hash_content(content)

    def load_state(self) -> dict[str, str]:
        """Return the hashes of the last common state; empty with another database."""
        try:
            raw = orjson.loads((self._state / STATE_FILE).read_bytes())
        except (OSError, orjson.JSONDecodeError):
            return {}
        if not isinstance(raw, dict) or raw.get("database") != self._database:
            return {}
        entries = raw.get("files")
        return {**entries} if isinstance(entries, dict) else {}

    def save_state(self, hashes: Mapping[str, str]) -> None:
        """Record the last common state."""
        folder = self._make_state_folder()
        temporary = folder / f"{STATE_FILE}.{os.getpid()}.tmp"
        state = {"version": 1, "database": self._database, "files": hashes}
        temporary.write_bytes(
            orjson.dumps(state, option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
        )
        temporary.replace(folder / STATE_FILE)

    def keep_copy(self, name: str, side: str, content: bytes) -> None:
        """Store one side of a conflict, for a person to compare."""
        folder = self._make_state_folder() / CONFLICTS
        folder.mkdir(exist_ok=True)
        (folder / f"{name[:-5]}.{side}.json").write_bytes(content)

    def drop_copy(self, name: str, side: str) -> None:
        """Delete the copy of a conflict that was resolved."""
        with contextlib.suppress(OSError):
            (self._state / CONFLICTS / f"{name[:-5]}.{side}.json").unlink()

    @property
    def _state(self) -> Path:
        return self.path / STATE_FOLDER

    def _make_state_folder(self) -> Path:
        if not self._state.is_dir():
            self._state.mkdir(parents=True)
            (self._state / ".gitignore").write_text("*\n")
        return self._state


def hash_content(content: bytes) -> str:
    """Return the hash that both sides are compared by."""
    return hashlib.sha256(content).hexdigest()


def _is_mirrored(name: str) -> bool:
    return name in DOCUMENTS or (may_be_instruction(name) and is_valid_id(name[:-5]))
