"""Installed models as embedders: one model, or several whose vectors are joined."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from commonplace.search.semantic.embed import (
    Embedder,
    EmbedderUnavailableError,
    LocalEmbedder,
    ModelDescription,
)

if TYPE_CHECKING:
    from commonplace.search.model import Vectors


class InstalledEmbedder(Embedder, Protocol):
    """An embedder of an installed model; it loads on first use."""

    @property
    def description(self) -> ModelDescription: ...

    @property
    def state(self) -> str: ...

    def warm(self) -> None: ...

    def legibility(self, text: str) -> float: ...

    def close(self) -> None: ...


class EarlierEmbedders(Protocol):
    """Finds the model that made vectors which are being replaced."""

    def find(self, identity: str) -> Embedder | None: ...

    def close(self) -> None: ...


class JoinedEmbedder:
    """Vectors of several models, one after the other; their cosine is the mean of the cosines.

    In a query each model counts as far as it reads it.
    """

    def __init__(self, description: ModelDescription, parts: Sequence[LocalEmbedder]) -> None:
        self.description = description
        self._parts = parts
        if sum(part.dimensions for part in parts) != description.dimensions:
            raise EmbedderUnavailableError(
                f"{description.name} was made of other models; run: commonplace models install "
                f"{description.name} --force"
            )

    @property
    def identity(self) -> str:
        return self.description.identity

    @property
    def dimensions(self) -> int:
        return self.description.dimensions

    @property
    def state(self) -> str:
        """Return the state of the part that is least ready."""
        states = [part.state for part in self._parts]
        failed = next((state for state in states if state.startswith("failed")), None)
        return failed or next((state for state in ("idle", "loading") if state in states), "ready")

    def warm(self) -> None:
        for part in self._parts:
            part.warm()

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        joined: Vectors = np.concatenate([part.embed(texts) for part in self._parts], axis=1)
        return joined / np.float32(math.sqrt(len(self._parts)))

    def embed_query(self, text: str) -> Vectors:
        import numpy as np

        weights = [part.legibility(text) for part in self._parts]
        if not any(weights):
            weights = [1.0] * len(self._parts)
        length = math.sqrt(sum(weight * weight for weight in weights))
        vectors = [part.embed_query(text) for part in self._parts]
        joined: Vectors = np.concatenate(
            [
                vector * np.float32(weight / length)
                for vector, weight in zip(vectors, weights, strict=True)
            ]
        )
        return joined

    def legibility(self, text: str) -> float:
        return max(part.legibility(text) for part in self._parts)

    def close(self) -> None:
        for part in self._parts:
            part.close()


def open_installed(models: Path, name: str, threads: int = 1) -> InstalledEmbedder:
    """Open an installed model; raise EmbedderUnavailableError with a remedy if there is none."""
    description = ModelDescription.read(models / name)
    if not description.parts:
        return LocalEmbedder(models / name, threads)
    parts = [LocalEmbedder(models / part, threads) for part in description.parts]
    return JoinedEmbedder(description, parts)


class EarlierModels:
    """The installed models whose vectors still serve while the model in use replaces them."""

    def __init__(self, models: Path, threads: int = 1) -> None:
        self._models = models
        self._threads = threads
        self._open: dict[str, InstalledEmbedder | None] = {}
        self._guard = threading.Lock()

    def find(self, identity: str) -> InstalledEmbedder | None:
        """Return the model that made vectors of this identity, if it is still installed."""
        with self._guard:
            if identity not in self._open:
                self._open[identity] = self._look(identity)
            return self._open[identity]

    def close(self) -> None:
        for embedder in self._open.values():
            if embedder is not None:
                embedder.close()

    def _look(self, identity: str) -> InstalledEmbedder | None:
        name = identity.partition("/")[0]
        try:
            if ModelDescription.read(self._models / name).identity != identity:
                return None
            return open_installed(self._models, name, self._threads)
        except (EmbedderUnavailableError, OSError):
            return None
