"""The embedder as memory uses it: never waited for, never a reason to fail. Says why there are no vectors when somebody needs one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from commonplace.memory.errors import EMBEDDINGS_DISABLED, MODEL_NOT_AVAILABLE, failure
from commonplace.memory.model import Entry
from commonplace.memory.store import Vector
from commonplace.search.embed import Embedder, EmbedderUnavailableError

CONTEXT_SHARE = 0.25  # of the query's vector, when the caller tells what the conversation is about


class BackgroundEmbedder(Embedder, Protocol):
    """An embedder that loads by itself when told to `warm`, and says how far it is."""

    @property
    def state(self) -> str: ...

    def warm(self) -> None: ...


class Vectors:
    """Vectors when the model is there, None while it is not. The first wish for one begins to load it."""

    def __init__(self, embedder: BackgroundEmbedder | None, *, missing: str | None = None) -> None:
        self._embedder = embedder
        self._missing = missing  # configured, but not installed: why

    @property
    def identity(self) -> str | None:
        return None if self._embedder is None else self._embedder.identity

    @property
    def enabled(self) -> bool:
        return self._embedder is not None

    @property
    def loading(self) -> bool:
        return self._embedder is not None and self._embedder.state in ("idle", "loading")

    def ready(self) -> bool:
        if self._embedder is None:
            return False
        if self._embedder.state == "ready":
            return True
        self._embedder.warm()
        return False

    def of_query(self, query: str, context: str) -> Vector | None:
        """The query's meaning, leaning towards the context's."""
        if not query.strip() or not self.ready() or self._embedder is None:
            return None
        try:
            vector: Vector = self._embedder.embed_query(query)
            if not context.strip():
                return vector
            about = self._embedder.embed_query(context)
        except EmbedderUnavailableError:
            return None
        leaning: Vector = (1 - CONTEXT_SHARE) * vector + CONTEXT_SHARE * about
        length = float((leaning * leaning).sum()) ** 0.5
        return leaning / length if length else vector

    def of_entries(self, entries: Sequence[Entry]) -> list[tuple[Vector | None, Vector | None]]:
        """(summary, context) of each; (None, None) where the model is not there."""
        nothing: list[tuple[Vector | None, Vector | None]] = [(None, None)] * len(entries)
        if not entries or not self.ready() or self._embedder is None:
            return nothing
        texts = [entry.text for entry in entries]
        contexts = [(at, entry.context) for at, entry in enumerate(entries) if entry.context.strip()]
        try:
            vectors = self._embedder.embed(texts + [context for _, context in contexts])
        except EmbedderUnavailableError:
            return nothing
        found: list[tuple[Vector | None, Vector | None]] = [(vectors[at], None) for at in range(len(entries))]
        for row, (at, _) in enumerate(contexts, start=len(entries)):
            found[at] = (found[at][0], vectors[row])
        return found

    def require(self) -> None:
        """For what only vectors can do."""
        if self._embedder is None and self._missing is None:
            raise failure(EMBEDDINGS_DISABLED, "Embeddings are switched off.", hint="Set search.embeddings to local, then retry.")
        if self._embedder is None or self._embedder.state.startswith("failed"):
            why = self._missing or (self._embedder.state if self._embedder is not None else "")
            raise failure(MODEL_NOT_AVAILABLE, f"The embedding model cannot be used: {why}", hint="commonplace models install")
        if not self.ready():
            raise failure(MODEL_NOT_AVAILABLE, "The embedding model is loading.", hint="Retry in a few seconds.", retryable=True)
