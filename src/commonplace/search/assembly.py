"""Assembly of the search engine from settings: the installed model, its vectors, the retriever.

semantic = open_semantic_search(settings.data, settings.mcp.files.search.embedding)
retriever = hybrid_retriever(postings, semantic, settings.mcp.files.search)
files = build_files(database, data, retriever=retriever, listener=semantic.listener)
semantic.close()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from commonplace.kernel.settings import Embedding, FilesSearch
from commonplace.search.fusion import Weights
from commonplace.search.model import LexicalStore, PassageListener
from commonplace.search.retriever import NO_MODEL, HybridPolicy, HybridRetriever, SemanticSide
from commonplace.search.semantic.bulk import default_threads
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.search.semantic.embed_external import ExternalModel, ExternalSemanticSide
from commonplace.search.semantic.installed import EarlierModels, open_installed
from commonplace.search.semantic.local import LocalSemantics
from commonplace.search.semantic.model_http import ModelEndpoint
from commonplace.search.semantic.models.chosen_model import AUTO, resolve
from commonplace.search.semantic.rerank import ExternalReranker
from commonplace.storage.network_loop import NetworkLoop

_PACKAGES = ("numpy", "onnxruntime", "tokenizers")


@dataclass(frozen=True, slots=True)
class SemanticSearch:
    """Search by meaning as configured, or the reason why there is none."""

    semantics: LocalSemantics | None
    absent: str = ""
    findings: tuple[dict[str, str], ...] = field(default=())

    @property
    def listener(self) -> PassageListener | None:
        return self.semantics

    def doctor(self) -> Iterator[dict[str, str]]:
        """Yield name, status, finding and fix of each check."""
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


def open_semantic_search(
    data: Path, settings: Embedding | None = None, threads: int = 0, models: Path | None = None
) -> SemanticSearch:
    """Open the configured local model, if it is installed.

    `threads` 0: see `default_threads`; `models`: the folder of models.
    """
    settings = settings or Embedding()
    if settings.provider == "off":
        return SemanticSearch(None, "settings.mcp.files.search.embedding.provider is 'off'")
    missing = [package for package in _PACKAGES if find_spec(package) is None]
    if missing:
        return SemanticSearch(
            None, f"{', '.join(missing)} not installed; install commonplace[embeddings]"
        )
    folder = models or data / "models"
    # beside an external model: for callers without a key
    name = resolve(folder, settings.model if settings.provider == "local" else AUTO)
    threads = threads or default_threads()
    try:
        embedder = open_installed(folder, name, threads)
    except EmbedderUnavailableError as error:
        absent = NO_MODEL if not (folder / name).exists() else str(error)
        return SemanticSearch(None, absent)
    return SemanticSearch(
        LocalSemantics(embedder, data / "vectors", EarlierModels(folder, threads))
    )


def hybrid_policy(settings: FilesSearch) -> HybridPolicy:
    """Return the configured candidates and weights; two weights add up to 1."""
    semantic, lexical = settings.fallback.semantic_weight, settings.fallback.lexical_weight
    fixed = None
    if semantic is not None or lexical is not None:
        fixed = Weights(
            semantic=semantic if semantic is not None else 1 - (lexical or 0.0),
            lexical=lexical if lexical is not None else 1 - (semantic or 0.0),
        )
    return HybridPolicy(settings.bm25_candidates, settings.vector_candidates, fixed)


def hybrid_retriever(
    postings: LexicalStore,
    meaning: SemanticSearch,
    settings: FilesSearch | None = None,
    external: SemanticSide | None = None,
) -> HybridRetriever:
    return HybridRetriever(
        postings,
        meaning.semantics,
        hybrid_policy(settings or FilesSearch()),
        meaning.absent or NO_MODEL,
        external,
    )


@dataclass(slots=True)
class ExternalModels:
    """The configured external models."""

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

    def on_disk(self, data: Path) -> ExternalSemanticSide | None:
        """Return the semantic side of the embedding model, with vectors in the data folder."""
        if self.embedding is None:
            return None
        from commonplace.search.semantic.vector import VectorIndex

        return ExternalSemanticSide(
            self.embedding, VectorIndex(data / "vectors-external", self.embedding)
        )


def open_external(
    settings: FilesSearch, outbound: NetworkLoop, count: Callable[[str], None] = lambda event: None
) -> ExternalModels | None:
    """Open the configured external models on the loop `outbound`; None if all are off."""
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
