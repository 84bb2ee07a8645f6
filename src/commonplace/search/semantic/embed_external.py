"""Embeddings from an OpenAI-compatible endpoint, asked with the caller's own key."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.paging import in_batches
from commonplace.search.model import KeyNeededError, Neighbours, Partition, Passage
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.search.semantic.encoder import MAX_TEXT_CHARS
from commonplace.search.semantic.local import nearest_on_disk
from commonplace.search.semantic.model_http import (
    NO_KEY,
    ModelEndpoint,
    ModelError,
    ModelMalformedError,
    ModelRejectedError,
)

if TYPE_CHECKING:
    from commonplace.search.model import Vectors
    from commonplace.search.semantic.vector import VectorIndex

BATCH_TEXTS = 64
BATCH_CHARACTERS = 200_000


class ExternalModel:
    """Texts to unit vectors.

    Implements `Embedder` for its identity only: embedding needs a key.
    """

    def __init__(self, endpoint: ModelEndpoint, model: str, dimensions: int) -> None:
        self._endpoint = endpoint
        self._model = model
        self.dimensions = dimensions
        self.identity = f"openai:{model}:{dimensions}"
        self._ask_for_length = (
            False  # some models have several lengths; others reject the parameter
        )

    def embed(self, texts: Sequence[str]) -> Vectors:
        raise EmbedderUnavailableError(NO_KEY)

    def embed_query(self, text: str) -> Vectors:
        raise EmbedderUnavailableError(NO_KEY)

    async def embed_one(self, text: str, key: str) -> Vectors:
        answer = await self._endpoint.ask(self._body([text]), key)
        if self._wrong_length(answer):
            answer = await self._endpoint.ask(self._body([text]), key)
        vector: Vectors = self._vectors(answer, 1)[0]
        return vector

    def embed_many(self, texts: Sequence[str], key: str) -> Vectors:
        """Embed in several requests. Blocking: for a worker thread."""
        import numpy as np

        made = [np.zeros((0, self.dimensions), dtype=np.float32)]
        for batch in in_batches(texts, _sent_length, BATCH_CHARACTERS, BATCH_TEXTS):
            answer = self._endpoint.ask_now(self._body(batch), key)
            if self._wrong_length(answer):
                answer = self._endpoint.ask_now(self._body(batch), key)
            made.append(self._vectors(answer, len(batch)))
        return np.concatenate(made)

    def _body(self, texts: Sequence[str]) -> JsonObject:
        # Such endpoints reject an empty text, and a lone surrogate cannot be sent.
        clean = [
            (text[:MAX_TEXT_CHARS].encode("utf-8", "replace").decode()) or " " for text in texts
        ]
        body: JsonObject = {"model": self._model, "input": clean, "encoding_format": "float"}
        return {**body, "dimensions": self.dimensions} if self._ask_for_length else body

    def _wrong_length(self, answer: JsonObject) -> bool:
        """Return whether to ask again for the configured length.

        True at most once in the life of a process.
        """
        if self._ask_for_length:
            return False
        try:
            self._ask_for_length = len(answer["data"][0]["embedding"]) != self.dimensions
        except (KeyError, IndexError, TypeError):
            return False
        return self._ask_for_length

    def _vectors(self, answer: JsonObject, count: int) -> Vectors:
        import numpy as np

        try:
            rows = sorted(answer["data"], key=lambda row: row["index"])
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
            in_order = [row["index"] for row in rows] == list(range(count))
        except (KeyError, TypeError, ValueError):
            raise ModelMalformedError(
                "the embedding model answered without the vectors that were asked for"
            ) from None
        if not in_order or vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise ModelMalformedError(
                "the embedding model answered without the vectors that were asked for"
            )
        if vectors.shape[1] != self.dimensions:
            raise ModelRejectedError(
                f"the embedding model makes vectors of {vectors.shape[1]} numbers, "
                f"settings.mcp.files.search.embedding.dimensions says "
                f"{self.dimensions}"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.where(lengths > 0, lengths, 1.0)).astype(np.float32)


class ExternalSemanticSide:
    """The semantic side of an external model with vectors in files.

    `SemanticSide` for queries, `KeyedListener` for the index worker.
    """

    def __init__(self, model: ExternalModel, vectors: VectorIndex) -> None:
        self._model = model
        self._vectors = vectors

    async def vector(self, query: str, model_key: str | None) -> Vectors:
        return await query_vector(self._model, query, model_key)

    async def nearest(
        self,
        partition: Partition,
        vector: Vectors,
        limit: int,
        prefix: str,
        also: Sequence[str],
        query: str = "",
    ) -> Neighbours:
        return await nearest_on_disk(self._vectors, partition, vector, limit, prefix, also)

    async def synchronise(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        model_key: str | None,
        *,
        most: int | None = None,
    ) -> int:
        def embed(texts: Sequence[str]) -> Vectors:
            if model_key is None:
                raise KeyNeededError
            return self._model.embed_many(texts, model_key)

        return await asyncio.to_thread(
            self._vectors.synchronise_with, partition, prefix, passages, embed, most
        )

    async def reuse(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        others: Sequence[Partition],
    ) -> None:
        await self._vectors.reuse(partition, prefix, passages, others)

    def close(self) -> None:
        self._vectors.close()


async def query_vector(model: ExternalModel, query: str, model_key: str | None) -> Vectors:
    if model_key is None:
        raise EmbedderUnavailableError(NO_KEY)
    try:
        return await model.embed_one(query, model_key)
    except ModelError as error:
        raise EmbedderUnavailableError(str(error)) from error


def _sent_length(text: str) -> int:
    return min(len(text), MAX_TEXT_CHARS)
