"""Feedback in one JSON file, `feedback.json`, which several processes share."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import orjson

from commonplace.instructions.store.feedback import KEEP, FeedbackStorage
from commonplace.kernel.durability import sync_file
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.disk.private_files import make_private_folder, open_private
from commonplace.storage.errors import document_damaged
from commonplace.storage.locks.file_lock import exclusive_lock


class FeedbackFile:
    """Entries in a file that is replaced with every change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.RLock()
        self._known: tuple[tuple[int, int, int], list[JsonObject]] | None = None

    def read(self) -> list[JsonObject]:
        """Return all entries, oldest first. Raises STORAGE_DAMAGED."""
        with self._lock:
            try:
                status = self._path.stat()
            except OSError:
                return []
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if self._known is None or self._known[0] != stamp:
                try:
                    raw = orjson.loads(self._path.read_bytes())
                except FileNotFoundError:
                    return []
                except orjson.JSONDecodeError:
                    raw = None
                listed = raw.get("entries") if isinstance(raw, dict) else None
                if not isinstance(listed, list):  # the next write would replace all entries
                    raise document_damaged(self._path.name)
                self._known = (stamp, [entry for entry in listed if isinstance(entry, dict)])
            return self._known[1]

    def append(self, entry: JsonObject, keep: int) -> None:
        """Store an entry, and delete the oldest ones beyond `keep`."""
        with self._changing() as entries:
            entries.append(entry)
            del entries[:-keep]

    def replace(self, id_: str, change: Callable[[JsonObject], JsonObject]) -> JsonObject | None:
        """Replace an entry by its changed copy and return that; None if there is no such entry."""
        with self._changing() as entries:
            for number, entry in enumerate(entries):
                if entry.get("id") == id_:
                    entries[number] = change(entry)
                    return entries[number]
        return None

    def status(self) -> FeedbackStorage:
        """Return the state of the file."""
        folder = self._path.parent
        return FeedbackStorage(
            accessible=folder.is_dir() or not folder.exists(),
            writable=os.access(folder if folder.exists() else folder.parent, os.W_OK),
            entries=len(self.read()),
            max_entries=KEEP,
            size_bytes=self._path.stat().st_size if self._path.exists() else 0,
        )

    @contextlib.contextmanager
    def _changing(self) -> Iterator[list[JsonObject]]:
        with self._lock:
            make_private_folder(self._path.parent)
            with exclusive_lock(self._path.with_suffix(".lock")):
                entries = list(self.read())
                yield entries
                temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
                with open_private(temporary) as file:
                    content = {
                        "version": 1,
                        "lastUpdated": datetime.now(UTC).isoformat(),
                        "entries": entries,
                    }
                    file.write(
                        orjson.dumps(
                            content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
                        )
                    )
                    file.flush()
                    sync_file(file.fileno())
                temporary.replace(self._path)
