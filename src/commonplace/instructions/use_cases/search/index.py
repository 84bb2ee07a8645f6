"""Search index of the catalogue, built on first use."""

from __future__ import annotations

import threading
from collections.abc import Collection
from typing import TYPE_CHECKING

from commonplace.instructions.store.protocol import CatalogueStore

if TYPE_CHECKING:
    from commonplace.instructions.store.search_index import InstructionIndex
    from commonplace.search.whole_texts.texts import TextQuery

CACHED_MATCHES = 32


class CatalogueSearch:
    """Builds the index once and follows the catalogue from then on."""

    def __init__(self, store: CatalogueStore) -> None:
        self._store = store
        self._index: InstructionIndex | None = None
        self._building = threading.Lock()
        self._matches: dict[str, tuple[int, set[str]]] = {}  # by text, with the generation

    @property
    def ready(self) -> bool:
        """Tell whether the index is built."""
        return self._index is not None

    def prepare(self) -> None:
        """Load the catalogue and build the index, once."""
        with self._building:
            if self._index is not None:
                return
            from commonplace.instructions.store.search_index import InstructionIndex

            self._store.open()
            with self._store.lock:
                known = dict(self._store.current().entries)
            index = InstructionIndex(known, self._store.lock)
            with self._store.lock:
                present = self._store.catalogue.entries
                for id_ in known.keys() | present.keys():
                    before, after = known.get(id_), present.get(id_)
                    if before is not after:
                        index.update(before, after)
                self._store.catalogue.subscribe(index.update)
                self._index = index

    def ask(self, query: str, allowed: Collection[str] | None = None) -> TextQuery:
        """Return a query. Needs `prepare` first; the caller holds the store's lock."""
        assert self._index is not None
        return self._index.ask(query, allowed)

    def find_matching(self, text: str) -> set[str]:
        """Return the ids that contain a text, cached for the following pages.

        Needs `prepare` first; the caller holds the store's lock.
        """
        assert self._index is not None
        generation = self._store.catalogue.generation
        cached = self._matches.get(text)
        if cached is None or cached[0] != generation:
            if len(self._matches) >= CACHED_MATCHES:
                self._matches.clear()
            cached = self._matches[text] = (generation, self._index.find_matching(text))
        return cached[1]

    def close(self) -> None:
        """Stop the thread of the index."""
        if self._index is not None:
            self._index.close()
