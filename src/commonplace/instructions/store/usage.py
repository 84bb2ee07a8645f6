"""Usage counters: updated in memory, limited per second, written to a file in batches."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from commonplace.instructions.engine.usage import ReportedUse, add_use, summarise_uses
from commonplace.kernel.durability import sync_file
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.disk.private_files import make_private_folder, open_private
from commonplace.storage.locks.file_lock import exclusive_lock

log = logging.getLogger("commonplace.instructions")

PER_SECOND = 10  # uses of one id in one wall-clock second
ALWAYS_COUNTED = 2  # the first uses of an id pass whatever the rate


@dataclass(slots=True)
class UseCount:
    """Uses of one id: stored in the file, and pending in this process."""

    stored: int = 0
    pending: int = 0
    first_seen: str = ""
    last_used: str = ""
    second: int = 0
    in_second: int = 0

    @property
    def total(self) -> int:
        """Return all uses."""
        return self.stored + self.pending


class UsageStore:
    """Counters in memory and in `usage-snapshot.json`.

    Each process adds its own uses to the file, so the counts of several processes add up.
    """

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], str],
        flush_seconds: float = 0.075,
        rate_limited: bool = True,
        clamped: bool = True,
    ) -> None:
        self._path = path
        self._clock = clock
        self._flush_seconds = flush_seconds
        self._rate_limited = rate_limited
        self._clamped = clamped
        self._lock = threading.RLock()
        self._counts: dict[str, UseCount] = {}
        self._uses: list[tuple[str, ReportedUse]] = []  # since the last flush
        self._stamp: tuple[int, int, int] | None = None
        self._timer: threading.Timer | None = None
        self._read = False

    def of(self, id_: str) -> UseCount | None:
        """Return the counter of an id."""
        return self.known().get(id_)

    def known(self) -> Mapping[str, UseCount]:
        """Return all counters; do not modify them."""
        if not self._read:
            self._refresh()
        return self._counts

    def all(self) -> list[tuple[str, UseCount]]:
        """Return the counters above zero, with the uses of other processes."""
        with self._lock:
            self._refresh()
            return [(id_, count) for id_, count in self._counts.items() if count.total > 0]

    def details(self) -> dict[str, JsonObject]:
        """Return sums of the reported context and metrics, by id."""
        self.flush()
        return {
            id_: shown
            for id_, line in self._read_stored().items()
            if (shown := summarise_uses(line))
        }

    def track(self, id_: str, use: ReportedUse | None = None) -> tuple[UseCount, bool]:
        """Count a use; the second value is False if the rate limit ignored it."""
        with self._lock:
            self._refresh()
            count = self._counts.setdefault(id_, UseCount())
            now = int(time.time())
            if count.second != now:
                count.second, count.in_second = now, 0
            if (
                self._rate_limited
                and count.in_second >= PER_SECOND
                and count.total >= ALWAYS_COUNTED
            ):
                return count, False
            count.in_second += 1
            count.pending += 1
            if use is not None:
                self._uses.append((id_, use))
            moment = self._clock()
            count.first_seen = count.first_seen or moment
            count.last_used = moment
            if count.total <= ALWAYS_COUNTED:
                self.flush()
            elif self._timer is None:
                self._timer = threading.Timer(self._flush_seconds, self.flush)
                self._timer.daemon = True
                self._timer.start()
            return count, True

    def flush(self) -> None:
        """Add the pending uses to the file, durably."""
        with self._lock:
            timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            fresh = {id_: count for id_, count in self._counts.items() if count.pending}
            if not fresh:
                return
            with self._exclusive():
                stored = self._read_stored()
                for id_, count in fresh.items():
                    line = stored.setdefault(
                        id_, {"usageCount": 0, "firstSeenTs": count.first_seen}
                    )
                    line["usageCount"] = int(line.get("usageCount") or 0) + count.pending
                    line["lastUsedAt"] = max(str(line.get("lastUsedAt") or ""), count.last_used)
                for id_, use in self._uses:
                    if id_ in stored:
                        add_use(stored[id_], use)
                self._write(stored)
            self._uses.clear()
            for count in fresh.values():
                count.pending = 0
            self._take(stored)

    def prune(self, ids: Iterable[str]) -> int:
        """Forget removed instructions; return how many had a counter."""
        removed = set(ids)
        with self._lock:
            self._refresh()
            known = [id_ for id_ in removed if id_ in self._counts]
            if known:
                with self._exclusive():
                    stored = {
                        id_: line for id_, line in self._read_stored().items() if id_ not in removed
                    }
                    self._write(stored)
                for id_ in known:
                    del self._counts[id_]
                self._take(stored)
            return len(known)

    def close(self) -> None:
        """Write the pending uses."""
        with contextlib.suppress(OSError):
            self.flush()

    @contextlib.contextmanager
    def _exclusive(self) -> Iterator[None]:
        make_private_folder(self._path.parent)
        with exclusive_lock(self._path.with_suffix(".lock")):
            yield

    def _refresh(self) -> None:
        """Read the file if another process changed it."""
        with self._lock:
            self._read = True
            try:
                status = self._path.stat()
            except OSError:
                return
            stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
            if stamp != self._stamp:
                self._take(self._read_stored())
                self._stamp = stamp

    def _read_stored(self) -> dict[str, JsonObject]:
        try:
            raw = orjson.loads(self._path.read_bytes())
        except OSError:
            return {}
        except orjson.JSONDecodeError:
            raw = None
        if not isinstance(raw, dict):
            self._set_aside()
        return (
            {id_: line for id_, line in raw.items() if isinstance(line, dict)}
            if isinstance(raw, dict)
            else {}
        )

    def _set_aside(self) -> None:
        """Rename a damaged file, so that counting goes on and its content is not lost."""
        aside = self._path.with_name(
            f"{self._path.stem}.damaged-{time.time_ns()}{self._path.suffix}"
        )
        with contextlib.suppress(OSError):
            self._path.rename(aside)
            log.error("the usage counters could not be read and were moved to %s", aside.name)

    def _take(self, stored: dict[str, JsonObject]) -> None:
        for id_, count in self._counts.items():
            if id_ not in stored:
                count.stored = 0
        for id_, line in stored.items():
            count = self._counts.setdefault(id_, UseCount())
            used = line.get("usageCount")
            count.stored = used if isinstance(used, int) and used >= 0 else 0
            if self._clamped and not line.get("firstSeenTs"):
                count.stored = min(count.stored, 1)  # a count without a beginning starts at one
            count.first_seen = count.first_seen or str(line.get("firstSeenTs") or "")
            count.last_used = max(count.last_used, str(line.get("lastUsedAt") or ""))

    def _write(self, stored: dict[str, JsonObject]) -> None:
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
