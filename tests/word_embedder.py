"""A fake embedding model of search tests."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


class WordEmbedder:
    """A fake model: a text is the sum of its words' fixed random directions.

    Counts what it embeds.
    """

    def __init__(self, identity: str = "fake/1", dimensions: int = 64) -> None:
        self.identity = identity
        self.dimensions = dimensions
        self.embedded: list[str] = []

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        self.embedded += texts
        return np.stack([self.embed_query(text) for text in texts])

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        total = np.zeros(self.dimensions)
        for word in text.split():
            seed = int.from_bytes(
                hashlib.sha256(word.encode("utf-8", "surrogatepass")).digest()[:8], "big"
            )
            total += np.random.default_rng(seed).normal(size=self.dimensions)
        return (total / np.linalg.norm(total)).astype(np.float32)
