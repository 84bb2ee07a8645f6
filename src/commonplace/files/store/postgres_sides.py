"""Semantic sides of files with vectors in PostgreSQL: a local model, or an external one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.files.store.postgres_embeddings import STALE, PostgresEmbeddings
from commonplace.search.fusion import Parameters
from commonplace.search.model import KeyNeededError, Neighbours, Partition, Passage
from commonplace.search.profiles import parameters_of
from commonplace.search.semantic.embed import Embedder, EmbedderUnavailableError, legibility
from commonplace.search.semantic.embed_external import ExternalModel, query_vector
from commonplace.search.semantic.installed import EarlierEmbedders
from commonplace.search.semantic.transition import merge_models

if TYPE_CHECKING:
    from commonplace.search.model import Vectors


class PostgresLocalSide:
    """`SemanticSide` for queries, `PassageListener` for the index worker."""

    def __init__(
        self,
        embedder: Embedder,
        embeddings: PostgresEmbeddings,
        earlier: EarlierEmbedders | None = None,
    ) -> None:
        """`earlier` are the models whose vectors serve until those of `embedder` replace them."""
        self._embedder = embedder
        self._earlier = earlier
        self.embeddings = embeddings

    @property
    def parameters(self) -> Parameters:
        return parameters_of(self._embedder.identity)

    async def vector(self, query: str, model_key: str | None) -> Vectors:
        return await asyncio.to_thread(self._embedder.embed_query, query)

    async def legibility(self, query: str) -> float:
        return legibility(self._embedder, query)

    async def nearest(
        self,
        partition: Partition,
        vector: Vectors,
        limit: int,
        prefix: str,
        also: Sequence[str],
        query: str = "",
    ) -> Neighbours:
        current = await self.embeddings.nearest(partition, vector, limit, prefix, also)
        if current.other_model is None:
            return current
        model = self._earlier.find(current.other_model) if self._earlier is not None else None
        if model is None or model.dimensions != self.embeddings.dimensions:
            if current.rows == 0:
                raise EmbedderUnavailableError(STALE)
            return current
        asked = await asyncio.to_thread(model.embed_query, query)
        of_model = self.embeddings.of_model(model.identity)
        kept = await of_model.nearest(partition, asked, limit, prefix, also)
        of = parameters_of(model.identity)
        return merge_models(
            current, kept, limit, also, of=of, to=self.parameters, other_model=model.identity
        )

    async def synchronise(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        *,
        most: int | None = None,
    ) -> int:
        return await self.embeddings.synchronise(partition, passages, self._embedder.embed, most)

    async def lacks_vectors(self, partition: Partition) -> bool:
        return await self.embeddings.lacks_vectors(partition)

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
        self,
        partition: Partition,
        vector: Vectors,
        limit: int,
        prefix: str,
        also: Sequence[str],
        query: str = "",
    ) -> Neighbours:
        near = await self.embeddings.nearest(partition, vector, limit, prefix, also)
        if near.rows == 0 and near.other_model is not None:
            raise EmbedderUnavailableError(STALE)
        return near

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
