"""The hybrid `Retriever` of a partitioned collection: words and vectors of one partition."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from commonplace.kernel.json_types import JsonObject
from commonplace.search import hybrid
from commonplace.search.fusion import DEFAULT, Parameters, Weights, describe, doubt_about
from commonplace.search.lexical.retriever import cut_query
from commonplace.search.lexical.text import query_terms
from commonplace.search.model import (
    EVEN,
    LexicalMatch,
    LexicalResult,
    LexicalStore,
    Neighbours,
    Partition,
    ReadQuery,
    Retrieval,
    SearchHit,
)
from commonplace.search.relevance.candidates import (
    COVERING_AHEAD,
    FILES_AHEAD,
    LEAST_COVERED_TERMS,
    MEANING_PLACES,
    MESSAGE_AHEAD,
    MESSAGE_SHARE,
    READ_AHEAD,
    choose_in_files,
    choose_message_holders,
    keep_covering,
    spread_over_files,
)
from commonplace.search.semantic.local import LocalSemanticSide, Semantics

if TYPE_CHECKING:
    from commonplace.search.model import Vectors

REPORT_TRUST = 0.25  # of the meaning of a report: its vector is a mixture of what it says
NO_MODEL = "no embedding model is installed; run: commonplace models install"


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
        emphasis: Mapping[str, float] = EVEN,
    ) -> LexicalResult: ...


class SemanticSide(Protocol):
    """A model and its vectors. Raises EmbedderUnavailableError with the reason."""

    async def vector(self, query: str, model_key: str | None) -> Vectors: ...

    async def nearest(
        self,
        partition: Partition,
        vector: Vectors,
        limit: int,
        prefix: str,
        also: Sequence[str],
        query: str = "",
    ) -> Neighbours:
        """Return the nearest; `query` is the text of the vector, for a model that it replaces."""
        ...


@runtime_checkable
class CalibratedSide(Protocol):
    """A side whose model the scores were calibrated on.

    It can say how well it reads a query, from 0 to 1.
    """

    @property
    def parameters(self) -> Parameters: ...

    async def legibility(self, query: str) -> float: ...


@dataclass(frozen=True, slots=True)
class HybridPolicy:
    """How many candidates each side gives at most, and how they are combined."""

    lexical_candidates: int = 30
    semantic_candidates: int = 30
    fixed: Weights | None = None  # None: judged per query
    parameters: Parameters = DEFAULT


@dataclass(frozen=True, slots=True)
class PartitionWords:
    """`LexicalQuery` against one partition of a lexical store."""

    store: LexicalStore
    partition: Partition
    terms: Sequence[str]
    limit: int
    weights: Mapping[str, float]
    prefix: str
    emphasis: Mapping[str, float] = field(default_factory=dict)
    named: Sequence[str] = ()  # keys that the query names: candidates whatever their words
    spread: bool = False  # candidates are chosen by their files, none of which has all
    covering: bool = False  # texts that hold the whole query are candidates before others
    messages: Sequence[Sequence[str]] = ()  # terms of texts that are searched by themselves
    asked_kinds: Collection[str] = ()  # kinds of files that the query asks for

    async def find(self) -> LexicalResult:
        named = list(dict.fromkeys([*self.named, *await self._find_messages()]))
        limit = max(1, self.limit - len(named))
        ahead = FILES_AHEAD if self.spread else COVERING_AHEAD if self.covering else 1
        found = await self.store.search(
            self.partition,
            self.terms,
            limit=limit * ahead + len(named),
            weights=self.weights,
            prefix=self.prefix,
            emphasis=self.emphasis,
        )
        scores = {match.key: match for match in found.matches}
        others = tuple(match for match in found.matches if match.key not in set(named))
        if self.covering:
            others = keep_covering(others, found.terms, limit)
        if self.spread:
            chosen = choose_in_files(found.matches, limit, named, self.asked_kinds)
            others = tuple(match for match in others if match.key in chosen)
        missing = [key for key in named if key not in scores]
        scored = await self.score(missing) if missing else None
        scores |= {match.key: match for match in (scored.matches if scored is not None else ())}
        matches = [*others[:limit], *(scores.get(key, LexicalMatch(key, 0.0, ())) for key in named)]
        matches.sort(key=lambda match: (-match.score, match.key))
        return replace(found, matches=tuple(matches))

    async def _find_messages(self) -> list[str]:
        """Return documents that hold most words of a message."""
        keys: list[str] = []
        most = int(MESSAGE_SHARE * self.limit)
        for terms in self.messages:
            found = await self.store.search(
                self.partition,
                terms,
                limit=MESSAGE_AHEAD,
                weights=self.weights,
                prefix=self.prefix,
            )
            keys += choose_message_holders(found.matches, found.terms, most)
        return list(dict.fromkeys(keys))[:most]

    async def score(self, keys: Sequence[str]) -> LexicalResult | None:
        if not self.terms or not isinstance(self.store, ScoresKeys):
            return None
        return await self.store.score_keys(
            self.partition, self.terms, keys, weights=self.weights, emphasis=self.emphasis
        )


class PartitionMeaning:
    """`SemanticQuery` against one partition of a semantic side."""

    def __init__(
        self,
        side: SemanticSide,
        partition: Partition,
        query: str,
        limit: int,
        prefix: str,
        model_key: str | None,
        judge_legibility: bool,
        spread: bool = False,
    ) -> None:
        self._side = side
        self._partition = partition
        self._query = query
        self._limit = limit
        self._prefix = prefix
        self._model_key = model_key
        self._judged: CalibratedSide | None = None
        if judge_legibility and isinstance(side, CalibratedSide):
            self._judged = side
        self._spread = spread
        self._vector: Vectors | None = None

    @property
    def parameters(self) -> Parameters | None:
        return self._side.parameters if isinstance(self._side, CalibratedSide) else None

    async def embed(self) -> float:
        self._vector = await self._side.vector(self._query, self._model_key)
        if self._judged is None:
            return 1.0
        read = await self._judged.legibility(self._query)
        return REPORT_TRUST * read if self._spread else read

    async def nearest(self, also: Sequence[str]) -> Neighbours:
        assert self._vector is not None, "call embed first"
        places = self._limit
        if self._spread and self._judged is not None:
            places = max(1, int(MEANING_PLACES * places))
        limit = READ_AHEAD * places if self._spread else places
        near = await self._side.nearest(
            self._partition, self._vector, limit, self._prefix, also, self._query
        )
        return _spread(near, also, places) if self._spread else near


class HybridRetriever:
    """Implements `Retriever`. Without a semantic side it is lexical, and says why."""

    def __init__(
        self,
        lexical: LexicalStore,
        semantics: Semantics | None = None,
        policy: HybridPolicy | None = None,
        without: str = NO_MODEL,
        external: SemanticSide | None = None,
    ) -> None:
        """Ask `external` first; if it cannot answer, ask the local model and say so."""
        self._lexical = lexical
        self._sides: list[SemanticSide] = [
            side
            for side in (external, LocalSemanticSide(semantics) if semantics is not None else None)
            if side is not None
        ]
        self._policy = policy or HybridPolicy()
        self._without = without

    @property
    def words(self) -> LexicalStore:
        return self._lexical

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
        reading: ReadQuery | None = None,
        named: Sequence[str] = (),
    ) -> Retrieval:
        policy = self._policy
        query, notes = cut_query(query)
        spread = reading is not None and reading.is_weighed
        covering = reading is not None and not spread and len(reading.terms) >= LEAST_COVERED_TERMS
        words = PartitionWords(
            self._lexical,
            partition,
            query_terms(query) if reading is None else _strongest_terms(reading),
            policy.lexical_candidates * widen,
            weights,
            prefix,
            EVEN if reading is None or not reading.is_weighed else reading.terms,
            named,
            spread,
            covering,
            () if reading is None else reading.messages,
            () if reading is None else reading.asked_kinds,
        )
        if reading is not None:
            query = reading.meaning
        # configured weights hold however well the model reads the query
        judged = policy.fixed is None
        wanted = policy.semantic_candidates * widen
        meanings = [
            PartitionMeaning(side, partition, query, wanted, prefix, model_key, judged, spread)
            for side in (self._sides if query.strip() else ())
        ]
        # a language that a model reads badly is told apart from a report, which it trusts less
        illegible_below = hybrid.ILLEGIBLE_BELOW * (REPORT_TRUST if spread else 1.0)
        result = await hybrid.search(
            words, meanings, hybrid.Judgement(policy.parameters, policy.fixed, illegible_below)
        )
        side = None if result.answered_by is None else self._sides[result.answered_by]
        hits = result.hits[:limit]
        calibrated = judged and (side is None or isinstance(side, CalibratedSide))
        return Retrieval(
            hits,
            "hybrid" if side is not None else "lexical",
            (*notes, *self._notes(result, hits)),
            doubt_about(hits[0].score, result.parameters) if hits and calibrated else None,
            result.words.terms,
            result.words.documents,
            result.calibration,
            result.parameters.abstain_below,
        )

    def parameters(self) -> JsonObject:
        """Return the parameters in force, for `doctor`."""
        return {
            **describe(self._policy.parameters),
            "fixed_weights": self._policy.fixed is not None,
        }

    def _notes(self, result: hybrid.HybridResult, hits: Sequence[SearchHit]) -> list[str]:
        """Say which side was skipped or incomplete, and why."""
        near = result.neighbours
        if near is None:
            reasons = result.skipped if self._sides else (self._without,)
            joined = "; ".join(dict.fromkeys(reasons))
            return [f"ranked by words alone: {joined}"] if reasons else []
        notes = [f"meaning by the local model: {reason}" for reason in result.skipped]
        if near.other_model is not None:
            name = near.other_model.partition("/")[0]
            notes.append(f"passages are being embedded again; until then vectors of {name} serve")
        if result.lexical_error is not None:
            notes.append(
                f"ranked by meaning alone: the words cannot be searched ({result.lexical_error})"
            )
        unread = sum(near.cosines.get(hit.key) == 0.0 for hit in hits)
        if unread:
            notes.append(
                f"{unread} of the passages found are in a script that the embedding model does not "
                f"read; they were ranked by words alone"
            )
        if near.rows < result.words.documents:
            notes.append(
                f"meaning covers {near.rows} of {result.words.documents} passages; the others "
                f"were ranked by words alone"
            )
        return notes


def _spread(near: Neighbours, also: Sequence[str], limit: int) -> Neighbours:
    """Keep the documents asked for, and the nearest others, spread over files."""
    nearest = sorted(near.cosines, key=lambda key: (-near.cosines[key], key))
    kept = spread_over_files(nearest, limit).union(also)
    return replace(
        near,
        cosines={key: cosine for key, cosine in near.cosines.items() if key in kept},
        vectors={key: vector for key, vector in near.vectors.items() if key in kept},
    )


def _strongest_terms(reading: ReadQuery) -> list[str]:
    """Return the terms of a reading, the strongest first: a store reads so many of them."""
    return sorted(reading.terms, key=lambda term: -reading.terms[term])
