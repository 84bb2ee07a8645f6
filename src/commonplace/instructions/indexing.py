"""Instructions in the inverted index: all of them at first, then each as it changes."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.instructions.model import Instruction
from commonplace.kernel.collector import collector_off
from commonplace.search.inverted import Found, InvertedIndex

WAITING = 8  # changes at most that a search must catch up with: half a millisecond's work


class InstructionIndex:
    """Titles and bodies. Not thread-safe: its owner holds one lock around each use of a finished one."""

    def __init__(self, entries: Mapping[str, Instruction]) -> None:
        self._texts: dict[str, str] = {}  # lower-cased
        self._index = InvertedIndex(lambda name: self._texts.get(name, ""))
        self._waiting: list[tuple[Instruction | None, Instruction | None]] = []
        with collector_off(keep=True):
            for entry in entries.values():
                self._take(None, entry)

    def change(self, before: Instruction | None, after: Instruction | None) -> None:
        self._waiting.append((before, after))
        if len(self._waiting) > WAITING:
            self.catch_up()

    def search(self, query: str, limit: int) -> Found:
        self.catch_up()
        return self._index.search(query, limit)

    def matching(self, text: str) -> set[str]:
        """Ids of the instructions that contain a text."""
        self.catch_up()
        return self._index.matching(text)

    def catch_up(self) -> None:
        waiting, self._waiting = self._waiting, []
        for before, after in waiting:
            self._take(before, after)

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
