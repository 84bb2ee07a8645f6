"""Finds entries by words and by meaning: entry and conversation, each as words and as a vector,
fused by the shared engine.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from commonplace.kernel.auth import Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.engine.documents import (
    COLLECTION,
    TEXT,
    WEIGHTS,
    document_key,
    entry_id,
    key_prefix,
    partition,
)
from commonplace.memory.errors import MODEL_NOT_AVAILABLE, failure
from commonplace.memory.model import Entry, EntryFilter
from commonplace.memory.retrieval.embedder import BackgroundEmbedder, CachedEmbedder
from commonplace.memory.retrieval.lexical import (
    POOL,
    QUERY_CHARACTERS,
    EntryPostings,
    LexicalIndex,
    admits,
    as_match,
)
from commonplace.memory.retrieval.protocol import (
    EntryMatch,
    IndexMatches,
    SearchText,
    SimilarMatches,
    Vector,
)
from commonplace.search.fusion import DEFAULT, fuse
from commonplace.search.lexical.text import query_terms
from commonplace.search.model import LexicalResult, Neighbours, Partition, Passage
from commonplace.search.retriever import ScoresKeys
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.search.semantic.vector import StaleVectorsError
from commonplace.search.semantic.vector_file import VectorFileError

# The order is the engine's own judgement. Only the scale is ours: WEAK_SCORE is where 99 of 100
# questions about something else stay
# below, chosen on half of the questions of cosqa and cranfield asked of each other's collection and
# reported on the other half
# (benchmarks/memory_quality.py). It moves no order.
JUDGEMENT = replace(DEFAULT, intercept=2.8)
POLL_SECONDS = 0.02
SIFTED = 8  # times as many vectors, as often as a filter that is applied after them leaves too few
NOBODY = "\x1e"  # begins no key: vectors are added and nobody's taken away
# Derived data: searched without, and made anew as entries are embedded.
_UNREADABLE = (StaleVectorsError, VectorFileError, CommonplaceError, OSError)


class VectorStore(Protocol):
    """Where vectors live: files beside SQLite's database, or PostgreSQL. Blocking."""

    def search(
        self,
        partition: Partition,
        query: Vector,
        limit: int,
        prefix: str = "",
        also: Iterable[str] = (),
    ) -> Neighbours:
        """The nearest below a prefix, and the cosines of the keys in `also`."""
        ...

    def synchronise_now(
        self, partition: Partition, prefix: str, passages: Sequence[Passage]
    ) -> int:
        """Make the vectors below a prefix those of the passages; embeds only what is new."""
        ...

    def clear(self, partition: Partition) -> None: ...

    def close(self) -> None: ...


class HybridIndex(LexicalIndex):
    """Words always; meaning as soon as the model is there.

    `vectors` opens their store with the embedder that makes them.
    """

    def __init__(
        self,
        postings: EntryPostings,
        embedder: BackgroundEmbedder,
        vectors: Callable[[CachedEmbedder], VectorStore],
    ) -> None:
        super().__init__(postings)
        self._meaning = CachedEmbedder(embedder)
        self._vectors = vectors(self._meaning)

    @property
    def loading(self) -> bool:
        return self._meaning.state in ("idle", "loading")

    def ready(self) -> bool:
        return self._meaning.ready()

    def require(self) -> None:
        if self._meaning.state.startswith("failed"):
            raise failure(
                MODEL_NOT_AVAILABLE,
                f"The embedding model cannot be used: {self._meaning.state}",
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
            if self._meaning.state.startswith("failed"):
                return f"the embedding model cannot be used ({self._meaning.state})"
            if time.monotonic() > until:
                return "the embedding model is still loading"
        return ""

    async def search(
        self, tenant: Tenant, sought: SearchText, wanted: EntryFilter, limit: int
    ) -> IndexMatches:
        if not self.ready():
            return await super().search(tenant, sought, wanted, limit)
        size = max(limit, POOL)
        terms = query_terms(sought.query[:QUERY_CHARACTERS])
        vector, words = await asyncio.gather(  # the model first: it works beside the words
            asyncio.to_thread(self._meaning.of_question, sought.query, sought.context),
            self.by_words(tenant, terms, wanted, size),
        )
        cosines = (
            await asyncio.to_thread(self._near, tenant, vector, wanted, size, words)
            if vector is not None
            else None
        )
        if cosines is None:
            return await super().search(tenant, sought, wanted, limit)
        words = await self._completed(
            tenant,
            terms,
            words,
            [key for key in cosines if key not in {m.key for m in words.matches}],
        )
        read = self._meaning.legibility(sought.query)
        matches = [
            as_match(hit)
            for hit in fuse(words, cosines, JUDGEMENT, legibility=read, explained=False)
        ]
        return IndexMatches(tuple(matches[:limit]), min(len(matches), POOL), True)

    async def similar(
        self, tenant: Tenant, entry: Entry, limit: int, also: Sequence[Entry] = ()
    ) -> SimilarMatches:
        sharing, rarity = await self._sharing(tenant, entry, limit)
        terms = {match.key: match.terms for match in sharing.matches}
        for other in also:
            terms.setdefault(document_key(other), ())
        cosines = await asyncio.to_thread(self._like, tenant, entry, limit, list(terms))
        held = {
            **sharing.held,
            **await self.postings.held(
                partition(tenant), [key for key in cosines if key not in sharing.held]
            ),
        }
        found = [
            EntryMatch(
                entry_id(key),
                cosines.get(key, 0.0),
                None,
                cosines.get(key),
                terms.get(key, ()),
                held.get(key, {}).get(TEXT),
            )
            for key in dict.fromkeys([*cosines, *terms])
        ]
        return SimilarMatches(
            tuple(sorted(found, key=lambda match: (-match.score, match.entry_id))), rarity
        )

    async def embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        if not entries or not self.ready():
            return frozenset()
        return await asyncio.to_thread(self._embed, tenant, entries)

    async def forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        await asyncio.to_thread(self._forget, tenant, entries)

    async def forget_all(self, tenant: Tenant) -> None:
        for field in (summaries(tenant), contexts(tenant)):
            await asyncio.to_thread(self._vectors.clear, field)

    async def vectors_of(self, tenant: Tenant, entry: Entry) -> tuple[bool, bool]:
        key = document_key(entry)
        return key in self._present(summaries(tenant), [key]), key in self._present(
            contexts(tenant), [key]
        )

    async def missing(self, tenant: Tenant, entries: Sequence[Entry]) -> list[Entry]:
        keys = {document_key(entry): entry for entry in entries}
        present = await asyncio.to_thread(self._present, summaries(tenant), list(keys))
        return [entry for key, entry in keys.items() if key not in present]

    def close(self) -> None:
        self._vectors.close()

    def _near(
        self, tenant: Tenant, vector: Vector, wanted: EntryFilter, limit: int, words: LexicalResult
    ) -> dict[str, float] | None:
        """How near entries are to the question: by what they say, lifted where the conversation
        they came from is near too.
        """
        also = [match.key for match in words.matches]
        try:
            said = self._nearest(summaries(tenant), vector, wanted, limit, also)
            around = self._nearest(contexts(tenant), vector, wanted, limit, [*also, *said.cosines])
            late = [key for key in around.cosines if key not in said.cosines]
            said_late = (
                self._vectors.search(summaries(tenant), vector, 0, "", late).cosines if late else {}
            )
        except _UNREADABLE:
            return None
        if not said.rows:
            return None
        own = said.cosines | said_late
        return {
            key: max(cosine, (cosine + around.cosines.get(key, cosine)) / 2)
            for key, cosine in own.items()
        }

    def _nearest(
        self, field: Partition, vector: Vector, wanted: EntryFilter, limit: int, also: Sequence[str]
    ) -> Neighbours:
        """The nearest that a filter admits.

        A type without a project is sifted by key: until there are enough, or no more.
        """
        prefix = key_prefix(wanted)
        sifted = wanted.type is not None and wanted.project is None
        size = limit * SIFTED if sifted else limit
        near = self._vectors.search(field, vector, size, prefix, also)
        while sifted:
            ranked = sorted(near.cosines, key=lambda key: -near.cosines[key])[
                :size
            ]  # without those of `also` that are farther
            admitted = [key for key in ranked if admits(wanted, key)][:limit]
            if len(admitted) == limit or near.rows < size:
                return replace(
                    near,
                    cosines={
                        key: near.cosines[key] for key in (*admitted, *also) if key in near.cosines
                    },
                )
            size *= SIFTED
            near = self._vectors.search(field, vector, size, prefix, also)
        return near

    async def _completed(
        self, tenant: Tenant, terms: Sequence[str], words: LexicalResult, keys: Sequence[str]
    ) -> LexicalResult:
        """The words of what only meaning found: without them such an entry would count as
        holding none.
        """
        if not keys or not terms or not isinstance(self.postings, ScoresKeys):
            return words
        found = await self.postings.score_keys(partition(tenant), terms, keys, weights=WEIGHTS)
        return replace(words, matches=(*words.matches, *found.matches)) if words.terms else found

    def _like(
        self, tenant: Tenant, entry: Entry, limit: int, also: Sequence[str]
    ) -> dict[str, float]:
        if not self.ready():
            return {}
        try:
            vector: Vector = self._meaning.embed([entry.text])[0]
            near = self._vectors.search(summaries(tenant), vector, limit + 1, "", also).cosines
        except (EmbedderUnavailableError, *_UNREADABLE):
            return {}
        near.pop(document_key(entry), None)
        return near

    def _embed(self, tenant: Tenant, entries: Sequence[Entry]) -> frozenset[str]:
        fields = (
            (summaries(tenant), [(entry, entry.text) for entry in entries]),
            (contexts(tenant), [(e, e.context) for e in entries]),
        )
        try:
            for field, texts in fields:
                passages = [_passage(entry, text) for entry, text in texts if text.strip()]
                if passages:
                    self._vectors.synchronise_now(field, NOBODY, passages)
        except (EmbedderUnavailableError, CommonplaceError, OSError):
            return frozenset()
        return frozenset(entry.id for entry in entries)

    def _forget(self, tenant: Tenant, entries: Sequence[Entry]) -> None:
        for entry in entries:
            for field in (summaries(tenant), contexts(tenant)):
                try:
                    self._vectors.synchronise_now(field, document_key(entry), [])
                except (CommonplaceError, OSError):
                    # found again and passed over: what is searched is checked against the entries
                    continue

    def _present(self, field: Partition, keys: Sequence[str]) -> frozenset[str]:
        import numpy as np

        nowhere = np.zeros(self._meaning.dimensions, dtype=np.float32)
        try:
            return frozenset(self._vectors.search(field, nowhere, 0, "", keys).cosines)
        except _UNREADABLE:
            return frozenset()


def _passage(entry: Entry, text: str) -> Passage:
    return Passage(document_key(entry), text, hashlib.sha256(text.encode()).hexdigest())


def summaries(tenant: Tenant) -> Partition:
    return Partition(tenant, COLLECTION, "summary")


def contexts(tenant: Tenant) -> Partition:
    return Partition(tenant, COLLECTION, "context")
