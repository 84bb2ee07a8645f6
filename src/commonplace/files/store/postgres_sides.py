"""Semantic sides of files with vectors in PostgreSQL: a local model, or an external one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.files.store.postgres_embeddings import PostgresEmbeddings
from commonplace.search.fusion import Parameters
from commonplace.search.model import KeyNeededError, Neighbours, Partition, Passage
from commonplace.search.profiles import parameters_of
from commonplace.search.semantic.embed import Embedder, legibility
from commonplace.search.semantic.embed_external import ExternalModel, query_vector

if TYPE_CHECKING:
    from commonplace.search.model import Vectors


class PostgresLocalSide:
    """`SemanticSide` for queries, `PassageListener` for the index worker."""

    def __init__(self, embedder: Embedder, embeddings: PostgresEmbeddings) -> None:
        self._embedder = embedder
        self.embeddings = embeddings

    @property
    def parameters(self) -> Parameters:
        return parameters_of(self._embedder.identity)

    async def vector(self, query: str, model_key: str | None) -> Vectors:
        return await asyncio.to_thread(self._embedder.embed_query, query)

    async def legibility(self, query: str) -> float:
        return legibility(self._embedder, query)

    async def nearest(
        self, partition: Partition, vector: Vectors, limit: int, prefix: str, also: Sequence[str]
    ) -> Neighbours:
        return await self.embeddings.nearest(partition, vector, limit, prefix, also)

    async def synchronise(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        *,
        most: int | None = None,
    ) -> int:
        return await self.embeddings.synchronise(partition, passages, self._embedder.embed, most)

    def close(self) -> None:
        self.embeddings.close()


class PostgresExternalSide:
    """`SemanticSide` for queries, `KeyedListener` for the index worker."""

    def __init__(self, model: ExternalModel, embeddings: PostgresEmbeddings) -> None:
        self._model = model
        self.embeddings = embeddings

    async def vector(self, query: str, model_key: str | None) -> Vectors:
        return await query_vector(self._model, query, model_key)

    async def nearest(
        self, partition: Partition, vector: Vectors, limit: int, prefix: str, also: Sequence[str]
    ) -> Neighbours:
        return await self.embeddings.nearest(partition, vector, limit, prefix, also)

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

        return await self.embeddings.synchronise(partition, passages, embed, most)

    def close(self) -> None:
        self.embeddings.close()
