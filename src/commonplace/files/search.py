"""The search use case: retrieve candidates, drop those whose file changed, rank the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from commonplace.files.engine.reindex import WEIGHTS
from commonplace.files.errors import INVALID_QUERY, SEARCH_BACKEND_ERROR
from commonplace.files.model import (
    FileSearchResult,
    FoundChunk,
    Project,
    StoredChunk,
    is_prefix_of_paths,
)
from commonplace.files.store.protocol import ChunkStore
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.settings import FilesSearch
from commonplace.search.model import (
    Partition,
    Retrieval,
    Retriever,
    SearchHit,
    SearchUnavailableError,
)
from commonplace.search.semantic.model_http import NO_KEY, ModelError
from commonplace.search.semantic.rerank import Reranker
from commonplace.storage.errors import STORAGE_UNAVAILABLE

MOST_RETRIEVED = 2_000
WIDER = 8  # times as many candidates, as often as too many were stale


@dataclass(frozen=True, slots=True)
class FileQuery:
    """A checked search of one caller."""

    tenant: str
    project: Project
    text: str
    path_prefix: str
    limit: int
    model_key: str | None  # the caller's own key for external models


@dataclass(frozen=True, slots=True)
class _Ranking:
    chunks: list[FoundChunk]
    mode: str = ""  # what was done beyond retrieval
    notes: tuple[str, ...] = ()  # why it was not


class FileSearch:
    """Finds chunks of live files. `reranker` works with the caller's own key only."""

    def __init__(
        self,
        chunks: ChunkStore,
        retriever: Retriever,
        options: FilesSearch,
        reranker: Reranker | None,
    ) -> None:
        self._chunks = chunks
        self._retriever = retriever
        self._options = options
        self._reranker = reranker

    def check_enabled(self) -> None:
        if not self._options.enabled:
            raise CommonplaceError(
                SEARCH_BACKEND_ERROR,
                "Search is switched off.",
                hint="Set settings.mcp.files.search.enabled to true.",
            )

    async def search(self, query: FileQuery) -> FileSearchResult:
        if not is_prefix_of_paths(query.path_prefix):
            return FileSearchResult([], "lexical")
        options, widen = self._options, 1
        while True:
            wanted = widen * (options.bm25_candidates + options.vector_candidates)
            retrieval = await self._retrieve(query, wanted, widen)
            most = query.limit if self._reranker is None else wanted
            live = await self._live(query, retrieval.hits, most)
            if (
                len(live) >= query.limit
                or len(live) == len(retrieval.hits)
                or wanted >= MOST_RETRIEVED
            ):
                break
            widen *= WIDER
        ranking = await self._rank(query, live)
        self._chunks.note_served(query.tenant, [found.chunk.id for found in ranking.chunks])
        # the scores of another model are not calibrated, so nothing can be said about them
        doubt = (retrieval.doubt,) if retrieval.doubt is not None and not ranking.mode else ()
        return FileSearchResult(
            ranking.chunks,
            retrieval.mode + ranking.mode,
            retrieval.notes + ranking.notes + doubt,
        )

    async def _retrieve(self, query: FileQuery, limit: int, widen: int) -> Retrieval:
        try:
            return await self._retriever.retrieve(
                Partition(query.tenant, "files", query.project),
                query.text,
                limit=limit,
                weights=WEIGHTS,
                prefix=query.path_prefix,
                model_key=query.model_key,
                widen=widen,
            )
        except SearchUnavailableError as unavailable:
            cause = unavailable.__cause__
            if isinstance(cause, CommonplaceError) and cause.code is STORAGE_UNAVAILABLE:
                # the database is away for every call, not for search alone
                raise cause from unavailable
            raise CommonplaceError(
                SEARCH_BACKEND_ERROR,
                "The search index cannot be read now.",
                hint="Retry; then run commonplace doctor. The server's log says why.",
                retryable=True,
            ) from unavailable

    async def _live(
        self, query: FileQuery, hits: Sequence[SearchHit], most: int
    ) -> list[tuple[StoredChunk, SearchHit]]:
        """Keep the first hits whose chunk is still in its file; the index lags behind writes."""
        found: list[tuple[StoredChunk, SearchHit]] = []
        remaining = iter(hits)
        while len(found) < most and (part := list(islice(remaining, most))):
            keys = [hit.key for hit in part]
            chunks = await self._chunks.chunks(query.tenant, query.project, keys)
            stored = {chunk.key: chunk for chunk in chunks}
            pairs = ((stored[hit.key], hit) for hit in part if hit.key in stored)
            found += [(chunk, hit) for chunk, hit in pairs if chunk.live == chunk.text.encode()]
        return found[:most]

    async def _rank(
        self, query: FileQuery, live: Sequence[tuple[StoredChunk, SearchHit]]
    ) -> _Ranking:
        """Rank by the rerank model if there is one and it answers, else by fused scores."""
        fused = [FoundChunk(chunk, hit.score, _explain(hit)) for chunk, hit in live]
        if self._reranker is None or not live:
            return _Ranking(fused[: query.limit])
        if query.model_key is None:
            return _Ranking(fused[: query.limit], notes=(f"ranked by fused scores: {NO_KEY}",))
        try:
            rows = await self._reranker.rerank(
                query.text, [found.content for found in fused], query.limit, query.model_key
            )
        except ModelError as error:
            return _Ranking(fused[: query.limit], notes=(f"ranked by fused scores: {error}",))
        chunks = [
            FoundChunk(
                fused[row.at].chunk,
                row.score,
                {**fused[row.at].explain, "fused": fused[row.at].score, "rerank": row.score},
            )
            for row in rows
        ]
        return _Ranking(chunks, "+rerank")


def check_query(text: str) -> None:
    if not text.strip():
        raise CommonplaceError(
            INVALID_QUERY,
            "The query is empty.",
            hint="Describe in words what you are looking for.",
            details={"field": "query"},
        )


def _explain(hit: SearchHit) -> JsonObject:
    return {
        "semantic": hit.semantic,
        "lexical": hit.lexical,
        "terms": list(hit.terms),
        **hit.explain,
    }
