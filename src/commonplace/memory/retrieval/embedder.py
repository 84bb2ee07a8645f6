"""The embedder as memory uses it: loaded in the background, and each text embedded once."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from commonplace.kernel.lru import LruCache
from commonplace.memory.engine.passages import is_subject, newest_lines
from commonplace.search.semantic.embed import Embedder, EmbedderUnavailableError, legibility

if TYPE_CHECKING:
    from commonplace.memory.retrieval.protocol import Vector

CONTEXT_SHARE = 0.25  # of the query's vector, when the caller gives the conversation
SUBJECT_SHARE = 0.45  # the same, when it is one line that names the subject
CONTEXT_CHARACTERS = 800  # of it, the newest: as many as a small model reads
REMEMBERED_TEXTS = 256
RETRY_SECONDS = 30.0  # between two attempts to load a model that failed


class BackgroundEmbedder(Embedder, Protocol):
    """An embedder that loads in the background; its state is ready, loading, idle or failed."""

    @property
    def state(self) -> str: ...

    def warm(self) -> None: ...


class CachedEmbedder:
    """An `Embedder` that remembers the texts it embedded last."""

    def __init__(self, embedder: BackgroundEmbedder) -> None:
        self._embedder = embedder
        self._recent: LruCache[str, Vector] = LruCache(REMEMBERED_TEXTS)
        self._retry_at = 0.0

    @property
    def identity(self) -> str:
        return self._embedder.identity

    @property
    def dimensions(self) -> int:
        return self._embedder.dimensions

    @property
    def state(self) -> str:
        return self._embedder.state

    def ready(self) -> bool:
        """Say whether the model can be used now; if not, start loading it."""
        state = self._embedder.state
        if state == "ready":
            return True
        if not state.startswith("failed"):
            self._embedder.warm()
        elif time.monotonic() >= self._retry_at:  # do not read a broken model at every query
            self._retry_at = time.monotonic() + RETRY_SECONDS
            self._embedder.warm()
        return False

    def embed(self, texts: Sequence[str]) -> Vector:
        """Embed texts, except those that are remembered."""
        import numpy as np

        vectors = {text: vector for text in texts if (vector := self._recent.get(text)) is not None}
        new = list(dict.fromkeys(text for text in texts if text not in vectors))
        if new:
            for text, vector in zip(new, self._embedder.embed(new), strict=True):
                vectors[text] = vector
                self._recent.put(text, vector)
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        return np.stack([vectors[text] for text in texts])

    def embed_query(self, text: str) -> Vector:
        return self._embedder.embed_query(text)

    def legibility(self, text: str) -> float:
        return legibility(self._embedder, text)

    def embed_question(self, query: str, context: str) -> Vector:
        """Embed a query, shifted towards the conversation; raises EmbedderUnavailableError."""
        return embed_question(self._embedder, query, context)


def embed_question(embedder: Embedder, query: str, context: str) -> Vector:
    """Embed a query, shifted towards the conversation; raises EmbedderUnavailableError."""
    if not query.strip():
        raise EmbedderUnavailableError("the query is empty")
    vector: Vector = embedder.embed_query(query)
    if not context.strip():
        return vector
    about = embedder.embed_query(newest_lines(context, CONTEXT_CHARACTERS))
    share = SUBJECT_SHARE if is_subject(context) else CONTEXT_SHARE
    shifted: Vector = (1 - share) * vector + share * about
    length = float((shifted * shifted).sum()) ** 0.5
    return shifted / length if length else vector
