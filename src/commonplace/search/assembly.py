"""Puts the search engine together from settings: the installed model if there is one, vectors
below the data folder, the retriever.

meaning = open_meaning(settings.data, settings.mcp.files.search.embedding,
models=settings.models_directory) retriever = hybrid(postings, meaning, settings.mcp.files.search)
# build_files(retriever=..., listener=meaning.listener) meaning.close()
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.kernel.settings import Embedding, FilesSearch
from commonplace.search.fusion import Weights
from commonplace.search.hybrid import NO_MODEL, HybridRetriever, Policy, Side
from commonplace.search.model import LexicalStore, Partition, Passage, PassageListener
from commonplace.search.semantic.embed import EmbedderUnavailableError, LocalEmbedder
from commonplace.search.semantic.embed_external import ExternalModel, ExternalSide
from commonplace.search.semantic.model_http import ModelEndpoint
from commonplace.search.semantic.rerank import ExternalReranker
from commonplace.storage.network_loop import Outbound

if TYPE_CHECKING:
    from commonplace.search.semantic.vector import VectorIndex

_PACKAGES = ("numpy", "onnxruntime", "tokenizers")


class LocalSemantics:
    """A local model and its vectors; both cost nothing until first used. A `PassageListener`."""

    def __init__(self, embedder: LocalEmbedder, folder: Path) -> None:
        self.embedder = embedder
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

    def close(self) -> None:
        self.embedder.close()
        if "vectors" in self.__dict__:
            self.vectors.close()


@dataclass(frozen=True, slots=True)
class Meaning:
    """Search by meaning as configured: there, or absent for a reason."""

    semantics: LocalSemantics | None
    absent: str = ""
    findings: tuple[dict[str, str], ...] = field(default=())

    @property
    def listener(self) -> PassageListener | None:
        return self.semantics

    def doctor(self) -> Iterator[dict[str, str]]:
        """Name, status, finding and fix of each check."""
        if self.semantics is None:
            fix = "commonplace models install" if self.absent == NO_MODEL else ""
            yield {
                "name": "search by meaning",
                "status": "note",
                "finding": f"off: {self.absent}",
                "fix": fix,
            }
            return
        description = self.semantics.embedder.description
        finding = (
            f"{description.identity}, {description.dimensions} dimensions, "
            f"{self.semantics.embedder.state}"
        )
        yield {"name": "search by meaning", "status": "ok", "finding": finding, "fix": ""}

    def close(self) -> None:
        if self.semantics is not None:
            self.semantics.close()


def open_meaning(
    data: Path, settings: Embedding | None = None, threads: int = 0, models: Path | None = None
) -> Meaning:
    """The local model of the settings, if it is installed.

    `threads` 0: half of the processors; `models`: where models are.
    """
    settings = settings or Embedding()
    if settings.provider == "off":
        return Meaning(None, "settings.mcp.files.search.embedding.provider is 'off'")
    name = (
        settings.model if settings.provider == "local" else Embedding().model
    )  # beside an external model: for callers without a key
    missing = [package for package in _PACKAGES if find_spec(package) is None]
    if missing:
        return Meaning(None, f"{', '.join(missing)} not installed; install commonplace[embeddings]")
    folder = (models or data / "models") / name
    try:
        embedder = LocalEmbedder(folder, threads or max(1, (os.cpu_count() or 1) // 2))
    except EmbedderUnavailableError as error:
        absent = NO_MODEL if not folder.exists() else str(error)
        return Meaning(None, absent)
    return Meaning(LocalSemantics(embedder, data / "vectors"))


def policy(settings: FilesSearch) -> Policy:
    """Candidates and weights of the settings; a weight that is not given is what the other
    leaves of 1.
    """
    semantic, lexical = settings.fallback.semantic_weight, settings.fallback.lexical_weight
    fixed = None
    if semantic is not None or lexical is not None:
        fixed = Weights(
            semantic=semantic if semantic is not None else 1 - (lexical or 0.0),
            lexical=lexical if lexical is not None else 1 - (semantic or 0.0),
        )
    return Policy(settings.bm25_candidates, settings.vector_candidates, fixed)


def hybrid(
    postings: LexicalStore,
    meaning: Meaning,
    settings: FilesSearch | None = None,
    external: Side | None = None,
) -> HybridRetriever:
    return HybridRetriever(
        postings,
        meaning.semantics,
        policy(settings or FilesSearch()),
        meaning.absent or NO_MODEL,
        external,
    )


@dataclass(slots=True)
class ExternalModels:
    """The external models of the settings."""

    embedding: ExternalModel | None
    reranker: ExternalReranker | None
    endpoints: tuple[ModelEndpoint, ...]

    def doctor(self) -> Iterator[dict[str, str]]:
        for endpoint in self.endpoints:
            finding = f"{endpoint.name} model at {endpoint.place}, asked with the caller's key only"
            plain = endpoint.in_the_clear
            fix = "Use https: the callers' keys cross the network in the clear." if plain else ""
            yield {
                "name": "external models",
                "status": "warn" if plain else "ok",
                "finding": finding,
                "fix": fix,
            }

    def on_disk(self, data: Path) -> ExternalSide | None:
        """The semantic side of the embedding model with its vectors below the data folder."""
        if self.embedding is None:
            return None
        from commonplace.search.semantic.vector import VectorIndex

        return ExternalSide(self.embedding, VectorIndex(data / "vectors-external", self.embedding))


def open_external(
    settings: FilesSearch, outbound: Outbound, count: Callable[[str], None] = lambda event: None
) -> ExternalModels | None:
    """None while every external model is off. Their connections live on `outbound`."""
    embedding, rerank = settings.embedding, settings.rerank
    endpoints: list[ModelEndpoint] = []

    def endpoint(name: str, url: str, timeout_ms: int) -> ModelEndpoint:
        endpoints.append(ModelEndpoint(name, url, timeout_ms / 1000, outbound, count))
        return endpoints[-1]

    model = reranker = None
    if embedding.provider == "openai":
        model = ExternalModel(
            endpoint("embedding", embedding.endpoint, embedding.timeout_ms),
            embedding.model,
            embedding.dimensions,
        )
    if rerank.enabled:
        reranker = ExternalReranker(
            endpoint("rerank", rerank.endpoint, rerank.timeout_ms), rerank.model
        )
    return ExternalModels(model, reranker, tuple(endpoints)) if endpoints else None
