"""An LRU cache of parsed documents, bounded by count and by bytes of source text."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.kernel.gc_control import gc_unfreeze
from commonplace.kernel.lru import LruCache
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


class DocumentCache(LruCache[str, CachedDocument]):
    """The most recently used documents. Thread-safe.

    `most_bytes` bounds the source texts; the parsed trees take a few times as much memory.
    """

    def __init__(self, most_entries: int = CACHE_ENTRIES, most_bytes: int = CACHE_BYTES) -> None:
        super().__init__(
            most_entries,
            max_size=most_bytes,
            size_of=lambda entry: len(entry.document.raw),
            on_evict=self._release,
        )
        self.most_entries = most_entries

    def _release(self, evicted: list[CachedDocument]) -> None:
        """Free evicted documents now.

        Their resolvers refer back to them, and an old cycle would wait for a full collection.
        """
        cached = {id(entry.document) for entry in self.values()}
        documents = [entry.document for entry in evicted if id(entry.document) not in cached]
        evicted.clear()
        frozen = any(document.kept for document in documents)
        while documents:
            documents.pop().derived.clear()  # a call that still uses it derives it again
        if frozen:
            gc_unfreeze()
