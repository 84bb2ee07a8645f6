"""Usage counters in one JSON file, `usage-snapshot.json`, which several processes share."""

from __future__ import annotations

import contextlib
import logging
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

import orjson

from commonplace.instructions.store.usage import PendingUses, StoredLines
from commonplace.kernel.durability import sync_file
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.disk.private_files import make_private_folder, open_private
from commonplace.storage.locks.file_lock import exclusive_lock

log = logging.getLogger("commonplace.instructions")


class UsageFile:
    """Counters in a file that is replaced with every change."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: tuple[int, int, int] | None = None

    def changed(self) -> StoredLines | None:
        """Return all counters if a process changed them since the last call, else None."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp == self._stamp:
            return None
        stored = self.read()
        self._stamp = stamp
        return stored

    def read(self) -> dict[str, JsonObject]:
        """Return all counters as they are now."""
        try:
            raw = orjson.loads(self._path.read_bytes())
        except OSError:
            return {}
        except orjson.JSONDecodeError:
            raw = None
        if not isinstance(raw, dict):
            self._set_aside()
            return {}
        return {id_: line for id_, line in raw.items() if isinstance(line, dict)}

    def add(self, uses: PendingUses) -> StoredLines:
        """Add uses durably; return all counters."""
        with self._exclusive():
            stored = self.read()
            uses.add_to(stored)
            self._write(stored)
        return stored

    def remove(self, ids: Iterable[str]) -> StoredLines:
        """Delete the counters of these ids; return the others."""
        removed = set(ids)
        with self._exclusive():
            stored = {id_: line for id_, line in self.read().items() if id_ not in removed}
            self._write(stored)
        return stored

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        make_private_folder(self._path.parent)
        with exclusive_lock(self._path.with_suffix(".lock")):
            yield

    def _set_aside(self) -> None:
        """Rename a damaged file, so that counting goes on and its content is not lost."""
        aside = self._path.with_name(
            f"{self._path.stem}.damaged-{time.time_ns()}{self._path.suffix}"
        )
        with contextlib.suppress(OSError):
            self._path.rename(aside)
            log.error("the usage counters could not be read and were moved to %s", aside.name)

    def _write(self, stored: StoredLines) -> None:
        temporary = self._path.with_name(f".{self._path.name}.{os.getpid()}.tmp")
        with open_private(temporary) as snapshot:
            snapshot.write(
                orjson.dumps(
                    stored,
                    option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE,
                )
            )
            snapshot.flush()
            sync_file(snapshot.fileno())
        temporary.replace(self._path)
        status = self._path.stat()
        self._stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
