"""Instructions in the inverted index: all of them at first, then each soon after it changed, and
before any search.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager

from commonplace.instructions.model import Instruction
from commonplace.kernel.gc_control import gc_paused
from commonplace.search.lexical.inverted import InvertedIndex, TextMatches

MOST_WAITING = 64  # changes that a search may have to take in first: a few milliseconds' work
GATHER_SECONDS = 0.05  # a change that comes in soon after another waits with it
AT_ONCE = 4  # a quarter of a millisecond's work: a call that arrives meanwhile waits no longer
PAUSE_SECONDS = 0.0003


class InstructionIndex:
    """Titles and bodies.

    Its owner holds `lock` around each use; a thread takes in what changed, so that no writer waits
    for it.
    """

    def __init__(
        self, entries: Mapping[str, Instruction], lock: AbstractContextManager[object]
    ) -> None:
        self._lock = lock
        self._texts: dict[str, str] = {}  # lower-cased
        self._index = InvertedIndex(lambda name: self._texts.get(name, ""))
        self._waiting: deque[tuple[Instruction | None, Instruction | None]] = deque()
        self._news = threading.Event()
        self._closing = threading.Event()
        with gc_paused(freeze=True):
            for entry in entries.values():
                self._take(None, entry)
        self._follower = threading.Thread(
            target=self._follow, name="instructions-index", daemon=True
        )
        self._follower.start()

    def change(self, before: Instruction | None, after: Instruction | None) -> None:
        self._waiting.append((before, after))
        if len(self._waiting) > MOST_WAITING:
            self._catch_up()
        elif not self._news.is_set():
            self._news.set()

    def search(self, query: str, limit: int) -> TextMatches:
        self._catch_up()
        return self._index.search(query, limit)

    def matching(self, text: str) -> set[str]:
        """Ids of the instructions that contain a text."""
        self._catch_up()
        return self._index.matching(text)

    def close(self) -> None:
        self._closing.set()
        self._news.set()
        self._follower.join()

    def _follow(self) -> None:
        while not self._closing.is_set():
            self._news.wait()
            self._closing.wait(GATHER_SECONDS)
            self._news.clear()
            while self._waiting and not self._closing.is_set():
                with self._lock:
                    self._catch_up(AT_ONCE)
                time.sleep(PAUSE_SECONDS)

    def _catch_up(self, most: int = MOST_WAITING + 1) -> None:
        while self._waiting and most:
            self._take(*self._waiting.popleft())
            most -= 1

    def _take(self, before: Instruction | None, after: Instruction | None) -> None:
        old = before.text if before is not None else None
        new = after.text if after is not None else None
        if old == new:
            return
        if before is not None and old is not None:
            self._index.drop(before.id, *old)
            del self._texts[before.id]
        if after is not None and new is not None:
            self._texts[after.id] = "\n".join(new).lower()
            self._index.put(after.id, *new)
