"""The hybrid retriever: words and meaning side by side, each candidate of one side scored by the
other too, then fused.

Whatever is missing (the model, the vectors, one of the two stores) makes the answer poorer, never
wrong, and the answer says so.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from commonplace.search.fusion import (
    DEFAULT,
    Parameters,
    Weights,
    describe,
    doubt_about,
    fuse,
    size_prior,
)
from commonplace.search.lexical.retriever import MAX_QUERY_CHARACTERS
from commonplace.search.lexical.text import query_terms
from commonplace.search.model import (
    LexicalResult,
    LexicalStore,
    Partition,
    Retrieval,
    SearchUnavailableError,
)
from commonplace.search.semantic.embed import Embedder, EmbedderUnavailableError, legibility
from commonplace.storage.failures import public_reason

if TYPE_CHECKING:
    from commonplace.search.semantic.vector import Neighbours, VectorIndex

log = logging.getLogger("commonplace.search")
NO_MODEL = "no embedding model is installed; run: commonplace models install"
UNREAD = "the embedding model does not read this script"
UNREAD_BELOW = 0.05


@runtime_checkable
class ScoresKeys(Protocol):
    """A lexical store that can also score given documents, wherever they rank."""

    async def score_keys(
        self,
        partition: Partition,
        terms: Sequence[str],
        keys: Sequence[str],
        *,
        weights: Mapping[str, float],
    ) -> LexicalResult: ...


class Side(Protocol):
    """A semantic side: how a query becomes a vector, and what is nearest to it.

    Either says why it cannot by EmbedderUnavailableError.
    """

    async def vector(self, query: str, model_key: str | None) -> Any: ...

    async def nearest(
        self, partition: Partition, vector: Any, limit: int, prefix: str, also: Sequence[str]
    ) -> Neighbours: ...


@runtime_checkable
class ReadingSide(Protocol):
    """A side of the local model, whose cosines the scores were calibrated on; it can say how far
    it reads a query, 0 to 1.
    """

    async def legibility(self, query: str) -> float: ...


class Semantics(Protocol):
    """The local semantic side: who embeds, and where the vectors are."""

    @property
    def embedder(self) -> Embedder: ...

    @property
    def vectors(self) -> VectorIndex: ...


@dataclass(frozen=True, slots=True)
class Policy:
    """How many candidates each side gives at most, and how they are combined."""

    lexical_candidates: int = 30
    semantic_candidates: int = 30
    fixed: Weights | None = None  # None: judged per query
    parameters: Parameters = DEFAULT


class HybridRetriever:
    """Implements `Retriever`. Without `semantics` it is lexical, and says why."""

    def __init__(
        self,
        lexical: LexicalStore,
        semantics: Semantics | None = None,
        policy: Policy | None = None,
        without: str = NO_MODEL,
        external: Side | None = None,
    ) -> None:
        """`external` is asked first; where it cannot answer, the local side does, and the answer
        says so.
        """
        self._lexical = lexical
        self._sides: list[Side] = [
            side
            for side in (external, LocalSide(semantics) if semantics is not None else None)
            if side is not None
        ]
        self._policy = policy or Policy()
        self._without = without

    async def retrieve(
        self,
        partition: Partition,
        query: str,
        *,
        limit: int,
        weights: Mapping[str, float],
        prefix: str = "",
        model_key: str | None = None,
        widen: int = 1,
    ) -> Retrieval:
        notes: list[str] = []
        if len(query) > MAX_QUERY_CHARACTERS:
            notes.append(f"only the first {MAX_QUERY_CHARACTERS} characters of the query were used")
            query = query[:MAX_QUERY_CHARACTERS]
        terms = query_terms(query)
        finding = asyncio.ensure_future(
            self._words(partition, terms, self._policy.lexical_candidates * widen, weights, prefix)
        )
        try:
            wanted = self._policy.semantic_candidates * widen
            side, near, read = await self._near(
                partition, query, finding, wanted, prefix, notes, model_key
            )
            words = await finding
        finally:
            finding.cancel()  # of no effect unless this call ends early
        if isinstance(words, SearchUnavailableError):
            if near is None:
                raise words
            notes.append(f"ranked by meaning alone: the words cannot be searched ({words})")
            words = LexicalResult()
        elif near is not None:
            words = await self._completed(partition, terms, words, near, weights)
        cosines, vectors = (near.cosines, near.vectors) if near is not None else (None, None)
        passages = words.documents or (near.rows if near is not None else 0)
        prior = size_prior(passages, with_meaning=near is not None)
        hits = fuse(
            words,
            cosines,
            self._policy.parameters,
            self._policy.fixed,
            vectors,
            legibility=read,
            prior=prior,
        )[:limit]
        if near is not None and near.rows < words.documents:
            notes.append(
                f"meaning covers {near.rows} of {words.documents} passages; the others were "
                f"ranked by words alone"
            )
        measured = self._policy.fixed is None and (side is None or isinstance(side, ReadingSide))
        doubt = doubt_about(hits[0].score) if hits and measured else None
        return Retrieval(
            tuple(hits), "hybrid" if near is not None else "lexical", tuple(notes), doubt
        )

    def parameters(self) -> dict[str, Any]:
        """What is in force, for `doctor`."""
        return {
            **describe(self._policy.parameters),
            "fixed_weights": self._policy.fixed is not None,
        }

    async def _words(
        self,
        partition: Partition,
        terms: Sequence[str],
        limit: int,
        weights: Mapping[str, float],
        prefix: str,
    ) -> LexicalResult | SearchUnavailableError:
        try:
            return await self._lexical.search(
                partition, terms, limit=limit, weights=weights, prefix=prefix
            )
        except SearchUnavailableError as error:  # the other side may still answer
            return error

    async def _near(
        self,
        partition: Partition,
        query: str,
        finding: Awaitable[LexicalResult | SearchUnavailableError],
        wanted: int,
        prefix: str,
        notes: list[str],
        model_key: str | None,
    ) -> tuple[Side | None, Neighbours | None, float]:
        """The first side that has any neighbours, they, and how far it read the query; the notes
        say why one was passed over.
        """
        reasons: list[str] = [] if self._sides else [self._without]
        for side in self._sides if query.strip() else ():
            try:
                vector = await side.vector(query, model_key)
                read = await self._read(side, query)
                if read < UNREAD_BELOW:
                    reasons.append(UNREAD)
                    continue
                words = await finding
                also = (
                    [match.key for match in words.matches]
                    if isinstance(words, LexicalResult)
                    else []
                )
                near = await side.nearest(partition, vector, wanted, prefix, also)
            except EmbedderUnavailableError as error:
                reasons.append(str(error))
                continue
            if near.rows > 0:
                notes += [f"meaning by the local model: {reason}" for reason in reasons]
                return side, near, read
            reasons.append("nothing has been embedded here yet")
        if reasons:
            notes.append(f"ranked by words alone: {'; '.join(dict.fromkeys(reasons))}")
        return None, None, 1.0

    async def _read(self, side: Side, query: str) -> float:
        """How far a side's model reads the query.

        Weights that somebody set hold whatever the query.
        """
        return (
            await side.legibility(query)
            if self._policy.fixed is None and isinstance(side, ReadingSide)
            else 1.0
        )

    async def _completed(
        self,
        partition: Partition,
        terms: Sequence[str],
        words: LexicalResult,
        near: Neighbours,
        weights: Mapping[str, float],
    ) -> LexicalResult:
        """The lexical side of what only meaning found: without it such a hit would count as
        holding no word at all.
        """
        known = {match.key for match in words.matches}
        missing = [key for key in near.cosines if key not in known]
        if not missing or not terms or not isinstance(self._lexical, ScoresKeys):
            return words
        try:
            found = await self._lexical.score_keys(partition, terms, missing, weights=weights)
        except SearchUnavailableError:  # as if nobody had asked: the words themselves were found
            return words
        if not words.terms:
            return found
        return replace(words, matches=(*words.matches, *found.matches))


class LocalSide:
    """The model on this machine and its vectors.

    The caller's key for models is not its business.
    """

    def __init__(self, semantics: Semantics) -> None:
        self._semantics = semantics

    async def vector(self, query: str, model_key: str | None) -> Any:
        return await asyncio.to_thread(self._semantics.embedder.embed_query, query)

    async def legibility(self, query: str) -> float:
        return legibility(self._semantics.embedder, query)

    async def nearest(
        self, partition: Partition, vector: Any, limit: int, prefix: str, also: Sequence[str]
    ) -> Neighbours:
        return await nearest_on_disk(
            self._semantics.vectors, partition, vector, limit, prefix, also
        )


async def nearest_on_disk(
    vectors: VectorIndex,
    partition: Partition,
    vector: Any,
    limit: int,
    prefix: str,
    also: Sequence[str],
) -> Neighbours:
    """Neighbours from vector files; what is wrong with them is said with what to do."""
    from commonplace.search.semantic.vector import StaleVectorsError
    from commonplace.search.semantic.vector_file import VectorFileError

    try:
        return await asyncio.to_thread(vectors.search, partition, vector, limit, prefix, also)
    except StaleVectorsError:
        raise EmbedderUnavailableError(
            "the vectors were made by another model; run: commonplace reindex"
        ) from None
    except (VectorFileError, OSError) as error:
        log.warning("the vectors cannot be read", exc_info=error)
        raise EmbedderUnavailableError(
            f"the vectors cannot be read ({public_reason(error)}); run: commonplace reindex"
        ) from error
