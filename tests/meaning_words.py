"""A fake model of tests whose synonyms are near each other, with vectors in a folder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.search.semantic.vector import VectorIndex
from word_embedder import WordEmbedder

SYNONYMS = {"feline": "cat", "kitten": "cat", "canine": "dog", "puppy": "dog"}


class SynonymEmbedder(WordEmbedder):
    """A `WordEmbedder` that reads synonyms alike, and can be made to fail."""

    def __init__(self, identity: str = "synonyms/1") -> None:
        super().__init__(identity)
        self.failure: str | None = None

    def embed_query(self, text: str) -> npt.NDArray[np.float32]:
        if self.failure is not None:
            raise EmbedderUnavailableError(self.failure)
        words = re.findall(r"\w+", text.lower()) or ["nothing"]
        return super().embed_query(" ".join(SYNONYMS.get(word, word) for word in words))

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        vectors = np.stack([self.embed_query(text) for text in texts])
        self.embedded += texts
        return vectors


@dataclass
class FolderSemantics:
    """Implements `Semantics`."""

    folder: Path
    embedder: SynonymEmbedder = field(default_factory=SynonymEmbedder)
    earlier: None = None

    def __post_init__(self) -> None:
        self.vectors = VectorIndex(self.folder, self.embedder)
