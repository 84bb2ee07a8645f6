"""Usage counters: updated in memory, limited per second, stored in batches."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.instructions.engine.usage import ReportedUse, add_use, summarise_uses
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject

log = logging.getLogger("commonplace.instructions")

PER_SECOND = 10  # uses of one id in one wall-clock second
ALWAYS_COUNTED = 2  # the first uses of an id pass whatever the rate
RETRY_SECONDS = 1.0  # after a storage that could not be reached

StoredLines = Mapping[str, JsonObject]
"""Stored counters by id: usageCount, firstSeenTs, lastUsedAt, and sums of what was reported."""


@dataclass(slots=True)
class UseCount:
    """Uses of one id: stored, and pending in this process."""

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


@dataclass(frozen=True, slots=True)
class PendingUses:
    """Uses since the last flush: numbers and times by id, and what callers reported."""

    counts: Mapping[str, tuple[int, str, str]]  # uses, first seen, last used
    reported: Sequence[tuple[str, ReportedUse]] = ()

    def add_to(self, lines: dict[str, JsonObject]) -> None:
        """Add the uses to stored counters."""
        for id_, (uses, first_seen, last_used) in self.counts.items():
            line = lines.setdefault(id_, {"usageCount": 0, "firstSeenTs": first_seen})
            line["usageCount"] = int(line.get("usageCount") or 0) + uses
            line["lastUsedAt"] = max(str(line.get("lastUsedAt") or ""), last_used)
        for id_, use in self.reported:
            if id_ in lines:
                add_use(lines[id_], use)


class UsageStorage(Protocol):
    """Durable counters that several processes share."""

    def changed(self) -> StoredLines | None:
        """Return all counters if a process changed them since the last call, else None."""
        ...

    def read(self) -> StoredLines:
        """Return all counters as they are now."""
        ...

    def add(self, uses: PendingUses) -> StoredLines:
        """Add uses durably; return all counters."""
        ...

    def remove(self, ids: Iterable[str]) -> StoredLines:
        """Delete the counters of these ids; return the others."""
        ...


class UsageStore:
    """Counters in memory and in a storage.

    Each process adds its own uses to the storage, so the counts of several processes add up.
    """

    def __init__(
        self,
        storage: UsageStorage,
        *,
        clock: Callable[[], str],
        flush_seconds: float = 0.075,
        rate_limited: bool = True,
        clamped: bool = True,
    ) -> None:
        self._storage = storage
        self._clock = clock
        self._flush_seconds = flush_seconds
        self._rate_limited = rate_limited
        self._clamped = clamped
        self._lock = threading.RLock()
        self._counts: dict[str, UseCount] = {}
        self._uses: list[tuple[str, ReportedUse]] = []  # since the last flush
        self._timer: threading.Timer | None = None
        self._read = False

    def of(self, id_: str) -> UseCount | None:
        """Return the counter of an id."""
        return self.known().get(id_)

    def known(self) -> Mapping[str, UseCount]:
        """Return all counters; do not modify them."""
        if not self._read:
            self.refresh()
        return self._counts

    def all(self) -> list[tuple[str, UseCount]]:
        """Return the counters above zero, with the uses of other processes."""
        with self._lock:
            self.refresh()
            return [(id_, count) for id_, count in self._counts.items() if count.total > 0]

    def details(self) -> dict[str, JsonObject]:
        """Return sums of the reported context and metrics, by id."""
        self.flush()
        return {
            id_: shown
            for id_, line in self._storage.read().items()
            if (shown := summarise_uses(line))
        }

    def track(self, id_: str, use: ReportedUse | None = None) -> tuple[UseCount, bool]:
        """Count a use; the second value is False if the rate limit ignored it."""
        with self._lock:
            self.refresh()
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
                self._flush_now(count, use)
            else:
                self._flush_later(self._flush_seconds)
            return count, True

    def _flush_now(self, count: UseCount, use: ReportedUse | None) -> None:
        """Store a use before it is acknowledged; take it back if that fails."""
        try:
            self.flush()
        except (OSError, CommonplaceError):
            count.pending = max(0, count.pending - 1)
            if use is not None and self._uses:
                self._uses.pop()
            raise

    def _flush_later(self, seconds: float) -> None:
        if self._timer is None:
            self._timer = threading.Timer(seconds, self._flush_by_timer)
            self._timer.daemon = True
            self._timer.start()

    def _flush_by_timer(self) -> None:
        try:
            self.flush()
        except CommonplaceError as error:  # the uses stay pending
            if not error.retryable:
                raise
            log.warning("usage counters could not be stored now: %s", error.message)
            with self._lock:
                self._flush_later(RETRY_SECONDS)

    def flush(self) -> None:
        """Add the pending uses to the storage, durably."""
        with self._lock:
            timer, self._timer = self._timer, None
            if timer is not None:
                timer.cancel()
            fresh = {id_: count for id_, count in self._counts.items() if count.pending}
            if not fresh:
                return
            counts = {
                id_: (count.pending, count.first_seen, count.last_used)
                for id_, count in fresh.items()
            }
            stored = self._storage.add(PendingUses(counts, tuple(self._uses)))
            self._uses.clear()
            for count in fresh.values():
                count.pending = 0
            self._take(stored)

    def prune(self, ids: Iterable[str]) -> int:
        """Forget removed instructions; return how many had a counter."""
        removed = set(ids)
        with self._lock:
            self.refresh()
            known = [id_ for id_ in removed if id_ in self._counts]
            if known:
                stored = self._storage.remove(known)
                for id_ in known:
                    del self._counts[id_]
                self._take(stored)
            return len(known)

    def close(self) -> None:
        """Store the pending uses."""
        with contextlib.suppress(OSError, CommonplaceError):
            self.flush()

    def refresh(self) -> None:
        """Take over the counters if another process changed them."""
        with self._lock:
            self._read = True
            stored = self._storage.changed()
            if stored is not None:
                self._take(stored)

    def refresh_soon(self) -> None:
        """Do the same unless the counters are in use; the next refresh then does it.

        For threads of the storage, which must not wait for a flush that waits for them.
        """
        if self._lock.acquire(blocking=False):
            try:
                self.refresh()
            finally:
                self._lock.release()

    def _take(self, stored: StoredLines) -> None:
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
