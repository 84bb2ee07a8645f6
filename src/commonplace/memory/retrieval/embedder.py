"""The embedder as memory uses it: loaded in the background, never waited for, and each text
embedded once.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from commonplace.search.semantic.embed import Embedder, EmbedderUnavailableError, legibility

if TYPE_CHECKING:
    from commonplace.memory.retrieval.protocol import Vector

CONTEXT_SHARE = 0.25  # of the query's vector, when the caller tells what the conversation is about
REMEMBERED = 256
RETRY_SECONDS = 30.0  # between two tries to load a model that failed


class BackgroundEmbedder(Embedder, Protocol):
    """An embedder that loads by itself when told to `warm`, and says how far it is: ready,
    loading, idle, or failed.
    """

    @property
    def state(self) -> str: ...

    def warm(self) -> None: ...


class CachedEmbedder:
    """An `Embedder` for the vector index that remembers what it embedded last, and whether it
    can be asked at all.
    """

    def __init__(self, embedder: BackgroundEmbedder) -> None:
        self._embedder = embedder
        self._recent: OrderedDict[str, Vector] = OrderedDict()
        self._guard = threading.Lock()
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
        """Whether it answers now; if not, it begins to load."""
        state = self._embedder.state
        if state == "ready":
            return True
        if not state.startswith("failed"):
            self._embedder.warm()
        elif (
            time.monotonic() >= self._retry_at
        ):  # a broken model is not read again at every question
            self._retry_at = time.monotonic() + RETRY_SECONDS
            self._embedder.warm()
        return False

    def embed(self, texts: Sequence[str]) -> Any:
        import numpy as np

        with self._guard:
            known = {text: self._recent[text] for text in texts if text in self._recent}
        new = list(dict.fromkeys(text for text in texts if text not in known))
        if new:
            known |= dict(zip(new, self._embedder.embed(new), strict=True))
            with self._guard:
                self._recent.update((text, known[text]) for text in new)
                while len(self._recent) > REMEMBERED:
                    self._recent.popitem(last=False)
        return (
            np.stack([known[text] for text in texts])
            if texts
            else np.zeros((0, self.dimensions), dtype=np.float32)
        )

    def embed_query(self, text: str) -> Any:
        return self._embedder.embed_query(text)

    def legibility(self, text: str) -> float:
        return legibility(self._embedder, text)

    def of_question(self, query: str, context: str) -> Vector | None:
        """The question's meaning, leaning towards the conversation's; None where the model went
        away.
        """
        if not query.strip():
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
