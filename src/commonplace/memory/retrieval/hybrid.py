"""Find entries by words and by meaning, ranked by the shared hybrid engine."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from commonplace.kernel.auth import Tenant
from commonplace.memory.engine.documents import TEXT, document_key, entry_id, partition
from commonplace.memory.errors import MODEL_NOT_AVAILABLE, failure
from commonplace.memory.model import Entry, EntryFilter, VectorCoverage
from commonplace.memory.retrieval.embedder import (
    BackgroundEmbedder,
    CachedEmbedder,
    embed_question,
)
from commonplace.memory.retrieval.lexical import POOL, EntryPostings, LexicalIndex, as_match
from commonplace.memory.retrieval.protocol import (
    EntryMatch,
    IndexMatches,
    SearchText,
    SimilarMatches,
    Vector,
)
from commonplace.memory.retrieval.vectors import EntryVectors, VectorStore
from commonplace.search import hybrid
from commonplace.search.fusion import DEFAULT, Parameters
from commonplace.search.model import Neighbours
from commonplace.search.profiles import parameters_of
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.search.semantic.installed import EarlierEmbedders
from commonplace.search.semantic.transition import merge_models

# The order is the engine's own. Only the scale differs: 99 of 100 queries about something else
# score below WEAK_SCORE. The intercept was chosen on one half of the queries of cosqa and
# cranfield, asked of each other's collection, and measured on the other half
# (benchmarks/memory_quality.py).
HIGHER = 1.71  # log odds above the scores of files, whatever the model
JUDGEMENT = hybrid.Judgement(
    replace(DEFAULT, intercept=DEFAULT.intercept + HIGHER),
    illegible_below=0.0,
    size_prior=False,
    explained=False,
)
POLL_SECONDS = 0.02
MOST_UNREAD = 0.5  # of a query that a model is said to read


class EntryMeaning:
    """`SemanticQuery` against the vectors of a tenant's entries."""

    def __init__(
        self,
        vectors: EntryVectors,
        embedder: CachedEmbedder,
        tenant: Tenant,
        text: SearchText,
        wanted: EntryFilter,
        limit: int,
        earlier: EarlierEmbedders | None = None,
    ) -> None:
        self._earlier = earlier
        self._vectors = vectors
        self._embedder = embedder
        self._tenant = tenant
        self._text = text
        self._wanted = wanted
        self._limit = limit
        self._vector: Vector | None = None

    @property
    def parameters(self) -> Parameters:
        fitted = parameters_of(self._embedder.identity)
        return replace(fitted, intercept=fitted.intercept + HIGHER)

    async def embed(self) -> float:
        query, context = self._text.query, self._text.context
        self._vector = await asyncio.to_thread(self._embedder.embed_question, query, context)
        legibility = self._embedder.legibility(query)
        if legibility < hybrid.ILLEGIBLE_BELOW and not context:  # else the context has a meaning
            raise EmbedderUnavailableError(hybrid.ILLEGIBLE)
        return legibility

    async def nearest(self, also: Sequence[str]) -> Neighbours:
        return await asyncio.to_thread(self._nearest, also)

    def _nearest(self, also: Sequence[str]) -> Neighbours:
        """Return the nearest; each entry counts by the vector that it has."""
        assert self._vector is not None, "call embed first"
        identity = self._vectors.replaced_identity(self._tenant) if self._earlier else None
        model = self._earlier.find(identity) if self._earlier and identity else None
        where = (self._wanted, self._limit, also)
        if model is None:
            return self._vectors.near_query(self._tenant, self._vector, *where)
        try:
            current = self._vectors.near_query(self._tenant, self._vector, *where)
        except EmbedderUnavailableError:  # all vectors are of the other model
            current = Neighbours({}, 0, True)
        asked = embed_question(model, self._text.query, self._text.context)
        kept = self._vectors.near_query(self._tenant, asked, *where, replaced=True)
        of = parameters_of(model.identity)
        return merge_models(
            current,
            kept,
            self._limit,
            also,
            of=replace(of, intercept=of.intercept + HIGHER),
            to=self.parameters,
            other_model=model.identity,
        )


class HybridIndex:
    """Searches words always, and meaning as soon as the model is ready."""

    def __init__(
        self,
        postings: EntryPostings,
        embedder: BackgroundEmbedder,
        open_vectors: Callable[[CachedEmbedder], VectorStore],
        earlier: EarlierEmbedders | None = None,
    ) -> None:
        """Open the vectors with the embedder that makes them.

        `earlier` are models whose vectors serve until those of the embedder replace them.
        """
        self._earlier = earlier
        self.words = LexicalIndex(postings)
        self.embedder = CachedEmbedder(embedder)
        self.vectors = EntryVectors(open_vectors(self.embedder), self.embedder)

    @property
    def postings(self) -> EntryPostings:
        return self.words.postings

    @property
    def loading(self) -> bool:
        return self.embedder.state in ("idle", "loading")

    def ready(self) -> bool:
        return self.embedder.ready()

    def require(self) -> None:
        if self.embedder.state.startswith("failed"):
            raise failure(
                MODEL_NOT_AVAILABLE,
                f"The embedding model cannot be used: {self.embedder.state}",
                hint="commonplace models check",
            )
        if not self.ready():
            raise failure(
                MODEL_NOT_AVAILABLE,
                "The embedding model is loading.",
                hint="Retry in a few seconds.",
                retryable=True,
            )

    async def prepare(self, seconds: float) -> str:
        until = time.monotonic() + seconds
        while not self.ready():
            await asyncio.sleep(POLL_SECONDS)
            if self.embedder.state.startswith("failed"):
                return f"the embedding model cannot be used ({self.embedder.state})"
            if time.monotonic() > until:
                return "the embedding model is still loading"
        return ""

    async def search(
        self, tenant: Tenant, text: SearchText, wanted: EntryFilter, limit: int
    ) -> IndexMatches:
        if not self.ready():
            return await self.words.search(tenant, text, wanted, limit)
        size = max(limit, POOL)
        meaning = EntryMeaning(
            self.vectors, self.embedder, tenant, text, wanted, size, self._earlier
        )
        result = await hybrid.search(
            self.words.query(tenant, text, wanted, size), [meaning], JUDGEMENT
        )
        if result.lexical_error is not None:
            raise result.lexical_error
        if result.neighbours is None:
            ranked = await self.words.rank(tenant, text, wanted, limit, result.words)
            return replace(ranked, is_unread=hybrid.ILLEGIBLE in result.skipped)
        matches = await self.words.raise_by_context(
            tenant, text, wanted, size, [as_match(hit) for hit in result.hits]
        )
        unread = result.calibration.unread if result.calibration is not None else 0.0
        return IndexMatches(
            tuple(matches[:limit]),
            min(len(matches), POOL),
            True,
            self.embedder.identity if unread <= MOST_UNREAD else None,
            result.words.documents,
            unread > MOST_UNREAD,
        )

    async def similar(
        self, tenant: Tenant, entry: Entry, limit: int, also: Sequence[Entry] = ()
    ) -> SimilarMatches:
        sharing, rarity = await self.words.find_sharing(tenant, entry, limit)
        terms = {match.key: match.terms for match in sharing.matches}
        for other in also:
            terms.setdefault(document_key(other), ())
        cosines: dict[str, float] = {}
        if self.ready():
            cosines = await asyncio.to_thread(
                self.vectors.near_entry, tenant, entry, limit, list(terms)
            )
        unread = [key for key in cosines if key not in sharing.contents]
        counts = {**sharing.contents, **await self.postings.contents(partition(tenant), unread)}
        matches = [
            EntryMatch(
                entry_id(key),
                cosines.get(key, 0.0),
                None,
                cosines.get(key),
                terms.get(key, ()),
                counts.get(key, {}).get(TEXT),
            )
            for key in dict.fromkeys([*cosines, *terms])
        ]
        matches.sort(key=lambda match: (-match.score, match.entry_id))
        return SimilarMatches(tuple(matches), rarity)

    async def embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        if not entries or not self.ready():
            return frozenset()
        return await asyncio.to_thread(self.vectors.embed, tenant, entries)

    async def embed_whole(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        if not entries or not self.ready():
            return frozenset()
        return await asyncio.to_thread(self.vectors.embed_whole, tenant, entries)

    async def forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        await asyncio.to_thread(self.vectors.forget, tenant, entries)

    async def forget_all(self, tenant: Tenant) -> None:
        await asyncio.to_thread(self.vectors.clear, tenant)

    async def erase(self, tenant: Tenant, entry_ids: Collection[str]) -> None:
        await asyncio.to_thread(self.vectors.erase, tenant, entry_ids)

    async def coverage(self, tenant: Tenant, entry: Entry) -> VectorCoverage:
        return await asyncio.to_thread(self.vectors.coverage, tenant, entry)

    async def count_vectors(self, tenant: Tenant) -> int:
        return await asyncio.to_thread(self.vectors.count, tenant)

    async def find_missing(self, tenant: Tenant, entries: Sequence[Entry]) -> list[Entry]:
        return await asyncio.to_thread(self.vectors.find_missing, tenant, entries)

    def close(self) -> None:
        self.vectors.store.close()
