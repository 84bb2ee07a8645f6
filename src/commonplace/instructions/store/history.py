"""History of changes: one JSON line per change, from which history and restore are made."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson

from commonplace.instructions.fields import is_valid_id, stored_form
from commonplace.instructions.model import Author, RecordedChange, RemovedInstruction
from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.storage.disk.access import append_record
from commonplace.storage.disk.private_files import make_private_folder

KEEP_BYTES = 4 * 1024 * 1024  # per instruction; the older half is dropped beyond it
KEEP_CREATED_BYTES = 32 * 1024 * 1024
MANUAL_EDITOR = "(by hand)"


class ChangeHistory:
    """One file per instruction in the state folder, appended before the change is made.

    Creations share one file (`.made.jsonl`): a file for each would double the cost of an add.
    """

    def __init__(
        self,
        state: Path,
        agent: str | None = None,
        *,
        keep_created_bytes: int = KEEP_CREATED_BYTES,
    ) -> None:
        self._agent = agent  # MCP_AGENT_ID
        self._keep_created_bytes = keep_created_bytes
        self._folder = state / "history"
        self._root = str(self._folder)
        self._created_file = -1  # kept open
        self._created_path = f"{self._root}/.made.jsonl"  # ids never begin with a dot

    def record(
        self,
        id_: str,
        action: str,
        before: Mapping[str, Json] | None,
        after: Mapping[str, Json] | None,
        at: str,
        author: Author,
    ) -> None:
        """Record a change that is about to be made."""
        line = {
            "at": at,
            "action": action,
            "by": author.label,
            **({"agent": self._agent} if self._agent else {}),
            "tenant": author.tenant,
            "before": None if before is None else stored_form(before),
            "after": None if after is None else stored_form(after),
        }
        path = self._path_of(id_)
        if before is None and not os.access(path, os.F_OK):
            del line["after"]  # the shared file must stay small
            content = orjson.dumps({"id": id_, **line}, option=orjson.OPT_APPEND_NEWLINE)
            self._append_creation(content)
            return
        descriptor = self._open(path)
        try:
            append_record(descriptor, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size > KEEP_BYTES:
            _drop_older_half(path)

    def record_manual_edit(
        self, id_: str, before: Mapping[str, Json], after: Mapping[str, Json] | None, at: str
    ) -> None:
        """Record a change that no process announced, unless a process has recorded it."""
        lines = _read_lines(self._path_of(id_))
        last: JsonObject = {}
        with contextlib.suppress(orjson.JSONDecodeError):
            last = orjson.loads(lines[-1]) if lines else {}
        if last.get("before") != stored_form(before):
            author = Author(str(last.get("tenant", LOCAL_TENANT)), MANUAL_EDITOR)
            action = "deleted by hand" if after is None else "edited by hand"
            self.record(id_, action, before, after, at, author)

    def _append_creation(self, content: bytes) -> None:
        """Append to the shared file, which stays open: opening costs as much as writing."""
        status = os.fstat(self._created_file) if self._created_file >= 0 else None
        full = status is not None and status.st_size > self._keep_created_bytes
        if status is not None and status.st_nlink and full:
            _drop_older_half(self._created_path)
        if status is None or status.st_nlink == 0 or full:
            self.close()
            self._created_file = self._open(self._created_path)
        append_record(self._created_file, content)

    def _open(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            return os.open(path, flags, 0o644)
        except FileNotFoundError:
            make_private_folder(self._folder)
            return os.open(path, flags, 0o644)

    def close(self) -> None:
        """Close the shared file."""
        if self._created_file >= 0:
            os.close(self._created_file)
            self._created_file = -1

    def changes(self, id_: str) -> list[RecordedChange]:
        """Return the recorded changes, oldest first; incomplete lines are skipped."""
        if not is_valid_id(id_):
            return []
        prefix = b'{"id":"%b",' % id_.encode()
        creations = [raw for raw in _read_lines(self._created_path) if raw.startswith(prefix)]
        changes: list[RecordedChange] = []
        for number, raw in enumerate([*creations, *_read_lines(self._path_of(id_))], start=1):
            with contextlib.suppress(orjson.JSONDecodeError):
                changes.append(_parse_line(number, orjson.loads(raw)))
        return changes

    def removed(self, is_stored: Callable[[str], bool]) -> list[RemovedInstruction]:
        """Return the last change of every recorded instruction that is not stored."""
        found = []
        for path in self._folder.glob("*.jsonl"):
            id_ = path.name[: -len(".jsonl")]
            if not is_valid_id(id_) or is_stored(id_):
                continue
            removed = _last_known(id_, _read_lines(str(path)))
            if removed is not None:
                found.append(removed)
        return found

    def _path_of(self, id_: str) -> str:
        return f"{self._root}/{id_}.jsonl"


def _parse_line(number: int, line: JsonObject) -> RecordedChange:
    return RecordedChange(
        number,
        line.get("at", ""),
        line.get("action", ""),
        line.get("by", ""),
        line.get("tenant"),
        line.get("agent"),
        line.get("before"),
        line.get("after"),
        "after" in line,
    )


def _last_known(id_: str, lines: list[bytes]) -> RemovedInstruction | None:
    """Return the newest change of an instruction with the document that it left or removed."""
    for raw in reversed(lines):
        with contextlib.suppress(orjson.JSONDecodeError):
            change = _parse_line(0, orjson.loads(raw))
            document = change.after or change.before
            if document is not None:
                return RemovedInstruction(
                    id_, change.at, change.action, change.by, change.tenant, document
                )
    return None


def _read_lines(path: str) -> list[bytes]:
    try:
        return Path(path).read_bytes().splitlines()
    except OSError:
        return []


def _drop_older_half(path: str) -> None:
    lines = Path(path).read_bytes().splitlines(keepends=True)
    trimmed = Path(path).with_suffix(".trim")
    trimmed.write_bytes(b"".join(lines[len(lines) // 2 :]))
    trimmed.replace(path)
