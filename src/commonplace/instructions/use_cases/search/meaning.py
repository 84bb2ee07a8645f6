"""Vectors of the catalogue: made in the background, shared by processes, used by searches."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Protocol

from commonplace.instructions.errors import NO_EMBEDDING_MODEL
from commonplace.instructions.model import Instruction
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.search.model import Passage
    from commonplace.search.whole_texts.meaning import TextMeaning

GATHER_SECONDS = 0.2  # changes within this time are embedded together
RETRY_SECONDS = 15.0  # after a failure, or while another process embeds
EMBEDDED_AT_ONCE = 16  # texts; a closing server waits for no more
PAUSE_SECONDS = 0.0005

log = logging.getLogger("commonplace.instructions")


class OpenMeaning(Protocol):
    """Opens search by meaning; None where no model is installed."""

    def __call__(self) -> TextMeaning | None: ...


class CatalogueMeaning:
    """Keeps the vectors of a catalogue up to date, from the first search on."""

    def __init__(self, store: CatalogueStore, open_meaning: OpenMeaning | None) -> None:
        self._store = store
        self._open = open_meaning
        self._meaning: TextMeaning | None = None
        self._opening = threading.Lock()
        self._opened = open_meaning is None
        self._changed: set[str] = set()
        self._wake = threading.Event()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def usable(self) -> TextMeaning | None:
        """Search by meaning, once `prepare` has opened it."""
        return self._meaning

    @property
    def prepared(self) -> bool:
        """Tell whether `prepare` has nothing to do any more."""
        return self._opened

    def prepare(self, *, in_background: bool = True) -> None:
        """Open the model and start to embed what has no vector; blocking, once."""
        with self._opening:
            if self._opened or self._open is None:
                return
            self._meaning = self._open()
            self._opened = True
            if self._meaning is not None and in_background:
                with self._store.lock:
                    self._changed.update(self._store.catalogue.entries)
                    self._store.catalogue.subscribe(self._note_change)
                self._wake.set()
                self._thread = threading.Thread(
                    target=self._run, name="instructions-meaning", daemon=True
                )
                self._thread.start()

    def embed_now(self) -> int:
        """Make every missing vector now; return how many instructions were embedded.

        Raises EmbedderUnavailableError.
        """
        self._store.open()
        self.prepare(in_background=False)
        meaning = self._meaning
        if meaning is None:
            return 0
        with self._store.lock:
            ids = sorted(self._store.catalogue.entries)
        embedded = sum(self._embed(meaning, id_) for id_ in ids)
        self._drop_removed(meaning)
        return embedded

    def close(self) -> None:
        """Stop to embed; what is missing is made after the next start."""
        self._closing.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()

    def _note_change(self, before: Instruction | None, after: Instruction | None) -> None:
        changed = after or before
        if changed is not None:
            self._changed.add(changed.id)
            self._wake.set()

    def _run(self) -> None:
        meaning = self._meaning
        assert meaning is not None
        first = True
        while not self._closing.is_set():
            self._wake.wait()
            self._closing.wait(GATHER_SECONDS)
            self._wake.clear()
            try:
                with meaning.embedding() as leads:
                    if leads:
                        self._embed_changed(meaning)
                        if first:
                            self._drop_removed(meaning)
                            first = False
                        continue
            # a broken model or a full disk: searches go on by words, and it is tried again
            except Exception as error:
                log.warning("instructions cannot be embedded: %s", error)
            self._closing.wait(RETRY_SECONDS)
            self._wake.set()

    def _embed_changed(self, meaning: TextMeaning) -> None:
        while self._changed and not self._closing.is_set():
            id_ = self._changed.pop()
            try:
                self._embed(meaning, id_)
            except BaseException:
                self._changed.add(id_)
                raise
            time.sleep(PAUSE_SECONDS)  # calls come first

    def _embed(self, meaning: TextMeaning, id_: str) -> bool:
        passages = self._cut(id_)
        if meaning.is_current(id_, passages):
            return False
        while meaning.synchronise(id_, passages, EMBEDDED_AT_ONCE):
            if self._closing.is_set():
                break
        return True

    def _cut(self, id_: str) -> list[Passage]:
        from commonplace.instructions.engine.searchable import read_searchable
        from commonplace.search.whole_texts.passages import cut_passages

        entry = self._store.catalogue.entries.get(id_)
        if entry is None:
            return []
        text = read_searchable(entry)
        return cut_passages(id_, text.title, text.body, text.summary)

    def _drop_removed(self, meaning: TextMeaning) -> None:
        for id_ in meaning.find_names() - self._store.catalogue.entries.keys():
            meaning.synchronise(id_, [])


def require_meaning(meaning: CatalogueMeaning) -> CatalogueMeaning:
    """Return search by meaning. Raises NO_EMBEDDING_MODEL where no model is installed."""
    meaning.prepare(in_background=False)
    if meaning.usable is None:
        raise CommonplaceError(
            NO_EMBEDDING_MODEL,
            "No embedding model is installed, so instructions are searched by words.",
            hint="Run: commonplace models install",
        )
    return meaning
