"""Remove audit chains whose records are all older than the retention.

What was removed is recorded first, with the heads of the chains, so that verification can tell a
chain that expired from one that somebody deleted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path

import orjson

from commonplace.kernel.durability import sync_folder
from commonplace.kernel.json_types import JsonObject
from commonplace.telemetry.audit import AuditLog
from commonplace.telemetry.chain import (
    Head,
    chains_folder,
    heads_folder,
    register_line,
    register_path,
    registered_names,
)
from commonplace.telemetry.verify import mentioned_chains, read_removed

RECORD_TYPE = "retention"
TAIL_BYTES = 1 << 16


def prune_chains(
    audit: AuditLog, before: str, may_remove: Callable[[str, Head], bool] = lambda name, head: True
) -> int:
    """Remove chains that ended before a time; return how many.

    `may_remove` refuses chains that are still needed, such as those that another store lacks.
    Raises AUDIT_UNAVAILABLE if the removal cannot be recorded.
    """
    directory = audit.directory
    expired: dict[str, Head] = {}
    for path in sorted(chains_folder(directory).glob("*.jsonl")):
        head = Head.read(heads_folder(directory) / f"{path.stem}.head")
        last = _last_record(path)
        if head is None or last is None or last.get("hash") != head.hash:
            continue  # being written, or damaged: verification reports it
        if str(last.get("ts", "~")) < before and may_remove(path.stem, head):
            expired[path.stem] = head
    if not expired:
        return 0
    mentioned = mentioned_chains(directory)
    known = {name: head for name, head in read_removed(directory).items() if name in mentioned}
    removed = {name: [head.count, head.hash] for name, head in {**known, **expired}.items()}
    audit.append({"type": RECORD_TYPE, "before": before, "removed": removed})
    for name in expired:
        for path in (
            chains_folder(directory) / f"{name}.jsonl",
            heads_folder(directory) / f"{name}.head",
        ):
            with contextlib.suppress(FileNotFoundError):
                path.unlink()
    _shorten_register(directory, expired)
    return len(expired)


def _shorten_register(directory: Path, removed: dict[str, Head]) -> None:
    """Take removed chains out of the register of all chains.

    A chain that another process registers meanwhile is added to the new register too.
    """
    path = register_path(directory)
    try:
        with path.open("rb") as old:
            kept = [name for name in registered_names(directory) if name not in removed]
            draft = path.with_name(f".{path.name}.{os.getpid()}.tmp")
            draft.write_text("".join(register_line(name) for name in kept), "ascii")
            draft.chmod(0o600)
            size = old.seek(0, os.SEEK_END)
            draft.replace(path)
            old.seek(size)
            with path.open("ab") as new:
                new.write(old.read())
    except FileNotFoundError:  # the next chain writes one
        return
    sync_folder(path.parent)


def _last_record(path: Path) -> JsonObject | None:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            tail = file.read()
            if not tail.endswith(b"\n"):
                return None
            start = tail.rfind(b"\n", 0, -1)
            if start < 0 and size > TAIL_BYTES:  # one record larger than the tail
                file.seek(0)
                tail = file.read()
                start = tail.rfind(b"\n", 0, -1)
        record = orjson.loads(tail[start + 1 :])
    except (OSError, orjson.JSONDecodeError):
        return None
    return record if isinstance(record, dict) else None
