"""An LRU cache of parsed documents, bounded by count and by bytes of source text."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field

from commonplace.kernel.gc_control import gc_unfreeze
from commonplace.openapi.model import ApiDocument

CACHE_ENTRIES = 10
CACHE_BYTES = 64 * 1024 * 1024


@dataclass(slots=True)
class CachedDocument:
    """A parsed document and the state of the file it was read from."""

    document: ApiDocument
    stamp: tuple[int, ...] = ()
    digest: bytes = b""
    racy: bool = False  # changed so recently that a second change could carry the same time


@dataclass(slots=True)
class DocumentCache:
    """The most recently used documents. Thread-safe.

    `most_bytes` bounds the source texts; the parsed trees take a few times as much memory.
    """

    most_entries: int = CACHE_ENTRIES
    most_bytes: int = CACHE_BYTES
    entries: OrderedDict[str, CachedDocument] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: str) -> CachedDocument | None:
        """Return an entry and mark it as the most recently used."""
        with self.lock:
            entry = self.entries.get(key)
            if entry is not None:
                self.entries.move_to_end(key)
            return entry

    def put(self, key: str, entry: CachedDocument) -> None:
        """Add or replace an entry and evict what no longer fits."""
        evicted = []
        with self.lock:
            before = self.entries.get(key)
            if before is not None and before.document is not entry.document:
                evicted.append(before.document)
            self.entries[key] = entry
            self.entries.move_to_end(key)
            self._evict(0, evicted)
        _release(evicted)

    def make_room(self, size: int) -> None:
        """Evict what would not fit beside a document of `size` bytes, before it is parsed."""
        evicted: list[ApiDocument] = []
        with self.lock:
            self._evict(size, evicted)
        _release(evicted)

    def _evict(self, coming: int, evicted: list[ApiDocument]) -> None:
        total = sum(len(entry.document.raw) for entry in self.entries.values()) + coming
        while len(self.entries) > self.most_entries or (
            total > self.most_bytes and len(self.entries) > (0 if coming else 1)
        ):
            document = self.entries.popitem(last=False)[1].document
            total -= len(document.raw)
            evicted.append(document)


def _release(evicted: list[ApiDocument]) -> None:
    """Free evicted documents now.

    Their resolvers refer back to them, and an old cycle would wait for a full collection.
    """
    kept = any(document.kept for document in evicted)
    for document in evicted:
        document.derived.clear()  # a call that still uses the document derives it again
    evicted.clear()
    if kept:
        gc_unfreeze()
