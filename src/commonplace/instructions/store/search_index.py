"""Search index of titles, bodies and labels, updated soon after a change and before any search."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Collection, Mapping
from contextlib import AbstractContextManager

from commonplace.instructions.engine.searchable import read_searchable
from commonplace.instructions.model import Instruction
from commonplace.kernel.gc_control import gc_paused
from commonplace.search.whole_texts.texts import TextQuery, TextSearch

MAX_PENDING = 64  # changes that a search may have to index first: a few milliseconds
GATHER_SECONDS = 0.05  # changes within this time are indexed together
GROUP_SIZE = 4  # a quarter of a millisecond: other calls do not wait longer
PAUSE_SECONDS = 0.0003


class InstructionIndex:
    """Search index of instructions. The caller holds `lock` around each use.

    A thread indexes changes, so that writers do not wait.
    """

    def __init__(
        self, entries: Mapping[str, Instruction], lock: AbstractContextManager[object]
    ) -> None:
        self._lock = lock
        self._texts: dict[str, str] = {}  # lower-cased
        self._index = TextSearch(lambda name: self._texts.get(name, ""))
        self._pending: deque[tuple[Instruction | None, Instruction | None]] = deque()
        self._changed = threading.Event()
        self._closing = threading.Event()
        with gc_paused(freeze=True):
            for entry in entries.values():
                self._index_change(None, entry)
        self._thread = threading.Thread(target=self._run, name="instructions-index", daemon=True)
        self._thread.start()

    def update(self, before: Instruction | None, after: Instruction | None) -> None:
        """Queue a change of an instruction."""
        self._pending.append((before, after))
        if len(self._pending) > MAX_PENDING:
            self._index_pending()
        elif not self._changed.is_set():
            self._changed.set()

    def ask(self, query: str, allowed: Collection[str] | None = None) -> TextQuery:
        """Return a query against the allowed instructions as they are now."""
        self._index_pending()
        return self._index.ask(query, allowed)

    def find_matching(self, text: str) -> set[str]:
        """Return the ids of the instructions that contain a text."""
        self._index_pending()
        return self._index.find_matching(text)

    def close(self) -> None:
        """Stop the thread."""
        self._closing.set()
        self._changed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.is_set():
            self._changed.wait()
            self._closing.wait(GATHER_SECONDS)
            self._changed.clear()
            while self._pending and not self._closing.is_set():
                with self._lock:
                    self._index_pending(GROUP_SIZE)
                time.sleep(PAUSE_SECONDS)

    def _index_pending(self, limit: int = MAX_PENDING + 1) -> None:
        while self._pending and limit:
            self._index_change(*self._pending.popleft())
            limit -= 1

    def _index_change(self, before: Instruction | None, after: Instruction | None) -> None:
        old = read_searchable(before) if before is not None else None
        new = read_searchable(after) if after is not None else None
        if old == new:
            return
        if before is not None and old is not None:
            self._index.drop(before.id, old.title, old.body, old.labels)
            del self._texts[before.id]
        if after is not None and new is not None:
            self._texts[after.id] = new.lowered
            self._index.put(after.id, new.title, new.body, new.labels, new.standing)
