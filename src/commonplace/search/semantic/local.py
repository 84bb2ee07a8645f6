"""The semantic side of a model on this machine, with its vectors in files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from commonplace.search.fusion import Parameters
from commonplace.search.model import Neighbours, Partition, Passage
from commonplace.search.profiles import parameters_of
from commonplace.search.semantic.embed import (
    Embedder,
    EmbedderUnavailableError,
    legibility,
)
from commonplace.search.semantic.installed import EarlierEmbedders, InstalledEmbedder
from commonplace.search.semantic.transition import merge_models
from commonplace.storage.failures import describe_publicly

if TYPE_CHECKING:
    from commonplace.search.model import Vectors
    from commonplace.search.semantic.vector import VectorIndex

log = logging.getLogger("commonplace.search")


class Semantics(Protocol):
    """A local model and the index of its vectors."""

    @property
    def embedder(self) -> Embedder: ...

    @property
    def vectors(self) -> VectorIndex: ...

    @property
    def earlier(self) -> EarlierEmbedders | None: ...


class LocalSemantics:
    """A local model and its vectors, both opened on first use. A `PassageListener`."""

    def __init__(
        self, embedder: InstalledEmbedder, folder: Path, earlier: EarlierEmbedders | None = None
    ) -> None:
        """`earlier` are the models whose vectors serve until those of `embedder` replace them."""
        self.embedder = embedder
        self.earlier = earlier
        self._folder = folder

    @cached_property
    def vectors(self) -> VectorIndex:
        from commonplace.search.semantic.vector import VectorIndex

        return VectorIndex(self._folder, self.embedder)

    async def synchronise(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        *,
        most: int | None = None,
    ) -> int:
        return await self.vectors.synchronise(partition, prefix, passages, most=most)

    async def reuse(
        self,
        partition: Partition,
        prefix: str,
        passages: Sequence[Passage],
        others: Sequence[Partition],
    ) -> None:
        await self.vectors.reuse(partition, prefix, passages, others)

    async def lacks_vectors(self, partition: Partition) -> bool:
        return await asyncio.to_thread(self.vectors.is_without, partition)

    def close(self) -> None:
        self.embedder.close()
        if self.earlier is not None:
            self.earlier.close()
        if "vectors" in self.__dict__:
            self.vectors.close()


class StaleEmbeddingsError(EmbedderUnavailableError):
    """All vectors were made by another model."""


class LocalSemanticSide:
    """`CalibratedSide` of the local model; it needs no caller's key."""

    def __init__(self, semantics: Semantics) -> None:
        self._semantics = semantics

    @property
    def parameters(self) -> Parameters:
        return parameters_of(self._semantics.embedder.identity)

    async def vector(self, query: str, model_key: str | None) -> Vectors:
        return await asyncio.to_thread(self._semantics.embedder.embed_query, query)

    async def legibility(self, query: str) -> float:
        return legibility(self._semantics.embedder, query)

    async def nearest(
        self,
        partition: Partition,
        vector: Vectors,
        limit: int,
        prefix: str,
        also: Sequence[str],
        query: str = "",
    ) -> Neighbours:
        vectors = self._semantics.vectors
        earlier = self._earlier_model(partition)
        if earlier is None:
            return await nearest_on_disk(vectors, partition, vector, limit, prefix, also)
        try:
            current = await nearest_on_disk(vectors, partition, vector, limit, prefix, also)
        except StaleEmbeddingsError:
            current = Neighbours({}, 0, True)
        asked = await asyncio.to_thread(earlier.embed_query, query)
        kept = await asyncio.to_thread(
            vectors.search_replaced, partition, asked, limit, prefix, also
        )
        of = parameters_of(earlier.identity)
        return merge_models(
            current, kept, limit, also, of=of, to=self.parameters, other_model=earlier.identity
        )

    def _earlier_model(self, partition: Partition) -> Embedder | None:
        """Return the model whose vectors in this partition are being replaced, if it is here."""
        identity = self._semantics.vectors.replaced_identity(partition)
        models = self._semantics.earlier
        return models.find(identity) if identity is not None and models is not None else None


async def nearest_on_disk(
    vectors: VectorIndex,
    partition: Partition,
    vector: Vectors,
    limit: int,
    prefix: str,
    also: Sequence[str],
) -> Neighbours:
    """Search vector files; raise EmbedderUnavailableError with a remedy if they are unusable."""
    from commonplace.search.semantic.vector import StaleVectorsError
    from commonplace.search.semantic.vector_file import VectorFileError

    try:
        return await asyncio.to_thread(vectors.search, partition, vector, limit, prefix, also)
    except StaleVectorsError:
        raise StaleEmbeddingsError(
            "the vectors were made by another model; they are being made again"
        ) from None
    except (VectorFileError, OSError) as error:
        log.warning("the vectors cannot be read", exc_info=error)
        raise EmbedderUnavailableError(
            f"the vectors cannot be read ({describe_publicly(error)}); run: commonplace reindex"
        ) from error
