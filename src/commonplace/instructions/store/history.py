"""What every instruction was before each change: one JSON line per change, from which history
and restore are made.
"""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import orjson

from commonplace.instructions.model import LOCAL_ACTOR, Actor, is_valid_id, stored_form
from commonplace.storage.disk.access import append_record
from commonplace.storage.disk.private_files import make_private_folder

KEEP_BYTES = 4 * 1024 * 1024  # of one instruction's history; the older half goes beyond it
KEEP_MADE_BYTES = 32 * 1024 * 1024
MAX_DIFF_LINES = 400
BY_HAND = "(by hand)"
_QUIET = frozenset({"updatedAt", "changeLog", "sourceHash", "body"})


class History:
    """One file per instruction in the state folder, appended before the change is made.

    Where an instruction begins stands in one file for all (`.made.jsonl`): a new file for each
    would cost an add as much as the instruction's own file does.
    """

    def __init__(self, state: Path, agent: str | None = None) -> None:
        self._agent = agent  # MCP_AGENT_ID
        self._folder = state / "history"
        self._root = str(self._folder)
        self._made_file = -1  # kept open
        self._made = f"{self._root}/.made.jsonl"  # no instruction's name begins with a dot

    def record(
        self,
        id_: str,
        action: str,
        before: Mapping[str, Any] | None,
        after: Mapping[str, Any] | None,
        at: str,
        actor: Actor,
    ) -> None:
        """Note a change that is about to be made.

        `after` brings back what somebody changes by hand later.
        """
        line = {
            "at": at,
            "action": action,
            "by": actor.label,
            **({"agent": self._agent} if self._agent else {}),
            "tenant": actor.tenant,
            "before": None if before is None else stored_form(before),
            "after": None if after is None else stored_form(after),
        }
        path = self._file(id_)
        if before is None and not os.access(path, os.F_OK):
            del line["after"]  # all beginnings share a file: it must stay small
            self._append_made(orjson.dumps({"id": id_, **line}, option=orjson.OPT_APPEND_NEWLINE))
            return
        descriptor = self._open(path)
        try:
            append_record(descriptor, orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size > KEEP_BYTES:
            _trim(path)

    def record_by_hand(
        self, id_: str, before: Mapping[str, Any], after: Mapping[str, Any] | None, at: str
    ) -> None:
        """Note a change that no process announced, unless one of them recorded it: they do so
        before they make it.
        """
        lines = self._lines(self._file(id_))
        last: dict[str, Any] = {}
        with contextlib.suppress(orjson.JSONDecodeError):
            last = orjson.loads(lines[-1]) if lines else {}
        if last.get("before") != stored_form(before):
            actor = Actor(str(last.get("tenant", LOCAL_ACTOR.tenant)), BY_HAND)
            self.record(
                id_,
                "deleted by hand" if after is None else "edited by hand",
                before,
                after,
                at,
                actor,
            )

    def _append_made(self, content: bytes) -> None:
        """The file is the same for every add, and opening it costs as much as writing to it."""
        status = os.fstat(self._made_file) if self._made_file >= 0 else None
        if status is not None and status.st_nlink and status.st_size > KEEP_MADE_BYTES:
            _trim(self._made)
        if status is None or status.st_nlink == 0 or status.st_size > KEEP_MADE_BYTES:
            self.close()
            self._made_file = self._open(self._made)
        append_record(self._made_file, content)

    def _open(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        try:
            return os.open(path, flags, 0o644)
        except FileNotFoundError:
            make_private_folder(self._folder)
            return os.open(path, flags, 0o644)

    def close(self) -> None:
        if self._made_file >= 0:
            os.close(self._made_file)
            self._made_file = -1

    def changes(self, id_: str) -> list[dict[str, Any]]:
        """Every recorded change, oldest first; a torn line is left out."""
        if not is_valid_id(id_):
            return []
        begins = b'{"id":"%b",' % id_.encode()
        made = [raw for raw in self._lines(self._made) if raw.startswith(begins)]
        changes: list[dict[str, Any]] = []
        for number, raw in enumerate([*made, *self._lines(self._file(id_))], start=1):
            with contextlib.suppress(orjson.JSONDecodeError):
                line = orjson.loads(raw)
                line.pop("id", None)
                changes.append({"change": number, **line})
        return changes

    @staticmethod
    def _lines(path: str) -> list[bytes]:
        try:
            return Path(path).read_bytes().splitlines()
        except OSError:
            return []

    def _file(self, id_: str) -> str:
        return f"{self._root}/{id_}.jsonl"


def _trim(path: str) -> None:
    """Only the younger half stays."""
    lines = Path(path).read_bytes().splitlines(keepends=True)
    trimmed = Path(path).with_suffix(".trim")
    trimmed.write_bytes(b"".join(lines[len(lines) // 2 :]))
    trimmed.replace(path)


def describe(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None) -> dict[str, Any]:
    """What a change did: fields that differ, and a unified diff of the body."""
    old, new = dict(before or {}), dict(after or {})
    fields = {
        name: {"from": old.get(name), "to": new.get(name)}
        for name in sorted(old.keys() | new.keys())
        if name not in _QUIET and old.get(name) != new.get(name)
    }
    body = list(
        difflib.unified_diff(
            str(old.get("body", "")).splitlines(),
            str(new.get("body", "")).splitlines(),
            "before",
            "after",
            lineterm="",
            n=2,
        )
    )
    description: dict[str, Any] = {"fields": fields, "bodyDiff": "\n".join(body[:MAX_DIFF_LINES])}
    if len(body) > MAX_DIFF_LINES:
        description["bodyDiffTruncated"] = True
    return description
