"""The search use case: retrieve candidates, drop those whose file changed, rank the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from commonplace.files.engine.reindex import WEIGHTS
from commonplace.files.errors import INVALID_QUERY, SEARCH_BACKEND_ERROR, search_is_off
from commonplace.files.mentions import Mentions, find_mentions
from commonplace.files.model import (
    FileSearchResult,
    FoundChunk,
    Project,
    StoredChunk,
    is_prefix_of_paths,
)
from commonplace.files.store.protocol import ChunkStore, FileStore, SymbolStore
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.kernel.settings import FilesSearch
from commonplace.search.lexical.retriever import MAX_QUERY_CHARACTERS
from commonplace.search.model import (
    Partition,
    Retrieval,
    Retriever,
    SearchHit,
    SearchUnavailableError,
)
from commonplace.search.partitions import choose_partitions
from commonplace.search.relevance.evidence import CandidateText
from commonplace.search.relevance.passages import RankedRange, choose_passages
from commonplace.search.relevance.query import QueryReading, read_query
from commonplace.search.relevance.ranking import keys_to_read, rank_by_text
from commonplace.search.semantic.model_http import NO_KEY, ModelError
from commonplace.search.semantic.rerank import Reranker
from commonplace.storage.errors import STORAGE_UNAVAILABLE

MOST_RETRIEVED = 2_000
NAMED_SHARE = 0.5  # of the candidates by words that may be chunks which the query names
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
        files: FileStore,
        symbols: SymbolStore | None = None,
    ) -> None:
        self._chunks = chunks
        self._files = files
        self._retriever = retriever
        self._options = options
        self._reranker = reranker
        self._symbols = symbols

    def check_enabled(self) -> None:
        if not self._options.enabled:
            raise search_is_off()

    async def search(self, query: FileQuery) -> FileSearchResult:
        if not is_prefix_of_paths(query.path_prefix):
            return FileSearchResult([], "lexical")
        options, widen = self._options, 1
        reading = read_query(query.text[:MAX_QUERY_CHARACTERS])
        mentions = await self._find_mentions(query, reading)
        while True:
            wanted = widen * (options.bm25_candidates + options.vector_candidates)
            retrieval = await self._retrieve(query, reading, mentions, wanted, widen)
            known = _KnownChunks(self._chunks, query)
            hits = await self._judge(reading, mentions, retrieval, known)
            live = await known.live(hits, wanted if self._reranker else _candidates(query.limit))
            if len(live) >= query.limit or len(live) == len(hits) or wanted >= MOST_RETRIEVED:
                break
            widen *= WIDER
        ranking = await self._rank(query, live)
        chunks = await self._add_lines(query, ranking.chunks)
        served = [part.id for found in chunks for part in found.parts]
        self._chunks.note_served(query.tenant, served)
        best = max((found.score for found in chunks), default=0.0)
        # the scores of another model are not calibrated, so nothing can be said about them
        doubted = retrieval.doubt is not None and not ranking.mode and best < retrieval.doubt_below
        doubt = (retrieval.doubt,) if doubted and retrieval.doubt else ()
        return FileSearchResult(
            chunks,
            retrieval.mode + ranking.mode,
            retrieval.notes + ranking.notes + doubt,
        )

    async def likeliest(
        self, tenant: str, projects: Sequence[Project], text: str, most: int
    ) -> list[Project]:
        """Return the projects that a query is likeliest about by words, in the given order."""
        partitions = [Partition(tenant, "files", project) for project in projects]
        reading = read_query(text[:MAX_QUERY_CHARACTERS])
        chosen = await choose_partitions(self._retriever, partitions, reading, most, WEIGHTS)
        return [Project(partition.scope) for partition in chosen]

    async def _add_lines(self, query: FileQuery, chunks: Sequence[FoundChunk]) -> list[FoundChunk]:
        """Add the lines of the passages, which the index knows unless the file just changed.

        A file that was deleted meanwhile drops out.
        """
        found = []
        for chunk in chunks:
            first, last = chunk.parts[0].lines, chunk.parts[-1].lines
            if first is not None and last is not None:
                found.append(replace(chunk, lines=(first[0], last[1])))
                continue
            before = await self._files.slice(
                query.tenant, query.project, chunk.path, 0, chunk.start
            )
            if before is not None:
                line = 1 + before.content.count(b"\n")
                lines = (line, line + chunk.content[:-1].count("\n"))
                found.append(replace(chunk, lines=lines))
        return found

    async def _find_mentions(self, query: FileQuery, reading: QueryReading) -> Mentions:
        """Find the chunks that the query names; a part of the candidates by words."""
        if self._symbols is None:
            return Mentions()
        most = max(1, int(NAMED_SHARE * self._options.bm25_candidates))
        return await find_mentions(
            self._symbols,
            query.tenant,
            query.project,
            reading,
            most=most,
            prefix=query.path_prefix,
        )

    async def _judge(
        self,
        reading: QueryReading,
        mentions: Mentions,
        retrieval: Retrieval,
        known: _KnownChunks,
    ) -> tuple[SearchHit, ...]:
        """Rank the hits by what their texts add."""
        chunks = await known.read(keys_to_read(reading, retrieval))
        texts = {chunk.key: _candidate(chunk, mentions) for chunk in chunks}
        return rank_by_text(reading, retrieval, texts, definers=mentions.definers)

    async def _retrieve(
        self,
        query: FileQuery,
        reading: QueryReading,
        mentions: Mentions,
        limit: int,
        widen: int,
    ) -> Retrieval:
        try:
            return await self._retriever.retrieve(
                Partition(query.tenant, "files", query.project),
                query.text,
                limit=limit,
                weights=WEIGHTS,
                prefix=query.path_prefix,
                model_key=query.model_key,
                widen=widen,
                reading=reading,
                named=mentions.keys,
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

    async def _rank(
        self, query: FileQuery, live: Sequence[tuple[StoredChunk, SearchHit]]
    ) -> _Ranking:
        """Rank by the rerank model if there is one and it answers, else by fused scores."""
        fused = [
            FoundChunk(chunk, hit.score, _explain(hit), words=hit.words) for chunk, hit in live
        ]
        if self._reranker is None or not live:
            return _Ranking(merge_chunks(fused, query.limit))
        if query.model_key is None:
            notes = (f"ranked by fused scores: {NO_KEY}",)
            return _Ranking(merge_chunks(fused, query.limit), notes=notes)
        try:
            rows = await self._reranker.rerank(
                query.text, [found.content for found in fused], query.limit, query.model_key
            )
        except ModelError as error:
            notes = (f"ranked by fused scores: {error}",)
            return _Ranking(merge_chunks(fused, query.limit), notes=notes)
        chunks = [
            FoundChunk(
                fused[row.at].chunk,
                row.score,
                {**fused[row.at].explain, "fused": fused[row.at].score, "rerank": row.score},
                words=fused[row.at].words,
            )
            for row in rows
        ]
        return _Ranking(chunks, "+rerank")


class _KnownChunks:
    """The chunks of one query that were read so far."""

    def __init__(self, store: ChunkStore, query: FileQuery) -> None:
        self._store = store
        self._query = query
        self._read: dict[str, StoredChunk | None] = {}

    async def read(self, keys: Sequence[str]) -> list[StoredChunk]:
        """Return the chunks that are still in their file; the index lags behind writes."""
        missing = [key for key in keys if key not in self._read]
        if missing:
            chunks = await self._store.chunks(self._query.tenant, self._query.project, missing)
            self._read |= dict.fromkeys(missing)
            self._read |= {
                chunk.key: chunk for chunk in chunks if chunk.live == chunk.text.encode()
            }
        found = (self._read[key] for key in keys)
        return [chunk for chunk in found if chunk is not None]

    async def live(
        self, hits: Sequence[SearchHit], most: int
    ) -> list[tuple[StoredChunk, SearchHit]]:
        """Return the first hits whose chunk is still in its file."""
        found: list[tuple[StoredChunk, SearchHit]] = []
        remaining = iter(hits)
        while len(found) < most and (part := list(islice(remaining, most))):
            stored = {chunk.key: chunk for chunk in await self.read([hit.key for hit in part])}
            found += [(stored[hit.key], hit) for hit in part if hit.key in stored]
        return found[:most]


def _candidate(chunk: StoredChunk, mentions: Mentions) -> CandidateText:
    place = mentions.places.get(chunk.key)
    return CandidateText(
        chunk.key,
        chunk.path,
        chunk.text,
        (place.start_line, place.end_line) if place is not None else None,
        mentions.defines.get(chunk.key, frozenset()),
    )


def _candidates(limit: int) -> int:
    """Return how many chunks are read for so many passages: some of them touch."""
    return limit + limit // 2 + 2


def merge_chunks(ranked: Sequence[FoundChunk], limit: int) -> list[FoundChunk]:
    """Return at most `limit` passages, best first; chunks that touch become one."""
    rows = [
        RankedRange(at, found.path, found.start, found.end, found.score)
        for at, found in enumerate(ranked)
    ]
    passages = []
    for passage in choose_passages(rows, limit):
        best = ranked[passage.parts[0].at]
        explain = dict(best.explain)
        if len(passage.parts) > 1:
            explain["merged_chunks"] = len(passage.parts)
        if passage.score != best.score:
            explain["before_crowding"] = best.score
        passages.append(
            FoundChunk(
                best.chunk,
                round(passage.score, 6),
                explain,
                tuple(ranked[part.at].chunk for part in passage.parts[1:]),
                words=best.words,
            )
        )
    return passages


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
