"""Hybrid search: candidates by words and by meaning, fused into one ranking.

The engine knows neither stores nor collections. A domain describes one query as a `LexicalQuery`
and as any number of `SemanticQuery` values, best model first; `search` asks both sides at once,
scores every candidate on both, and fuses the scores:

    result = await search(words, [external, local], Judgement())

A side that is unavailable makes the ranking poorer, never wrong; the result says why.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from commonplace.search.fusion import DEFAULT, Calibration, Parameters, Weights, fuse, size_prior
from commonplace.search.model import (
    LexicalResult,
    Neighbours,
    SearchHit,
    SearchUnavailableError,
)
from commonplace.search.semantic.embed import EmbedderUnavailableError

ILLEGIBLE = "the embedding model does not read this script"
ILLEGIBLE_BELOW = 0.05
NOT_EMBEDDED = "nothing has been embedded here yet"


class LexicalQuery(Protocol):
    """One query against the words of a collection. Both may raise SearchUnavailableError."""

    async def find(self) -> LexicalResult:
        """Return the best candidates."""
        ...

    async def score(self, keys: Sequence[str]) -> LexicalResult | None:
        """Return the scores of the given documents; None where the store cannot compute them."""
        ...


class SemanticQuery(Protocol):
    """One query against the vectors of a model. Both may raise EmbedderUnavailableError."""

    @property
    def parameters(self) -> Parameters | None:
        """Return the parameters fitted to the model; None: those of the judgement."""
        ...

    async def embed(self) -> float:
        """Embed the query; return how well the model reads it, from 0 to 1."""
        ...

    async def nearest(self, also: Sequence[str]) -> Neighbours:
        """Return the nearest documents, and the cosines of the documents in `also`."""
        ...


@dataclass(frozen=True, slots=True)
class Judgement:
    """How the evidence of both sides becomes one score."""

    parameters: Parameters = DEFAULT
    fixed: Weights | None = None  # None: weights are judged per query
    illegible_below: float = ILLEGIBLE_BELOW  # a model that reads less of the query is skipped
    size_prior: bool = True  # the same evidence says more in a small collection
    explained: bool = True  # fill `SearchHit.explain`


@dataclass(frozen=True, slots=True)
class HybridResult:
    """Every candidate, best first, and which sides contributed."""

    hits: tuple[SearchHit, ...]
    words: LexicalResult
    neighbours: Neighbours | None  # None: ranked by words alone
    answered_by: int | None  # position of the semantic query that gave the neighbours
    skipped: tuple[str, ...]  # why each semantic query before it was skipped
    lexical_error: SearchUnavailableError | None = None  # set: ranked by meaning alone
    calibration: Calibration | None = None  # None: the weights are fixed
    parameters: Parameters = DEFAULT  # those that the scores were made with


async def search(
    words: LexicalQuery, meanings: Sequence[SemanticQuery], judgement: Judgement
) -> HybridResult:
    """Rank the candidates of both sides; raise SearchUnavailableError if neither answers."""
    finding = asyncio.ensure_future(_find(words))
    try:
        answer = await _first_answer(meanings, finding, judgement.illegible_below)
        found = await finding
    finally:
        finding.cancel()  # has no effect unless this call ends early
    near = answer.neighbours
    lexical_error = found if isinstance(found, SearchUnavailableError) else None
    if isinstance(found, SearchUnavailableError):
        if near is None:
            raise found
        found = LexicalResult()
    elif near is not None:
        found = await _complete(words, found, near)
    documents = found.documents or (near.rows if near is not None else 0)
    prior = size_prior(documents, with_meaning=near is not None) if judgement.size_prior else 0.0
    parameters = answer.parameters or judgement.parameters
    hits = fuse(
        found,
        near.cosines if near is not None else None,
        parameters,
        judgement.fixed,
        near.vectors if near is not None else None,
        legibility=answer.legibility,
        prior=prior,
        explained=judgement.explained,
    )
    unread = 1.0 if near is None else 1.0 - answer.legibility
    return HybridResult(
        tuple(hits),
        found,
        near,
        answer.position,
        tuple(answer.skipped),
        lexical_error,
        Calibration(parameters, unread, prior) if judgement.fixed is None else None,
        parameters,
    )


@dataclass(frozen=True, slots=True)
class _SemanticAnswer:
    skipped: list[str]
    position: int | None = None
    neighbours: Neighbours | None = None
    legibility: float = 1.0
    parameters: Parameters | None = None


async def _find(words: LexicalQuery) -> LexicalResult | SearchUnavailableError:
    try:
        return await words.find()
    except SearchUnavailableError as error:  # the semantic side may still answer
        return error


async def _first_answer(
    meanings: Sequence[SemanticQuery],
    finding: Awaitable[LexicalResult | SearchUnavailableError],
    illegible_below: float,
) -> _SemanticAnswer:
    """Ask one semantic query after the other until one has neighbours."""
    skipped: list[str] = []
    for position, meaning in enumerate(meanings):
        try:
            legibility = await meaning.embed()
            if legibility < illegible_below:
                skipped.append(ILLEGIBLE)
                continue
            found = await finding
            matches = found.matches if isinstance(found, LexicalResult) else ()
            near = await meaning.nearest([match.key for match in matches])
        except EmbedderUnavailableError as error:
            skipped.append(str(error))
            continue
        if near.rows > 0:
            return _SemanticAnswer(skipped, position, near, legibility, meaning.parameters)
        skipped.append(NOT_EMBEDDED)
    return _SemanticAnswer(skipped)


async def _complete(words: LexicalQuery, found: LexicalResult, near: Neighbours) -> LexicalResult:
    """Add the lexical scores of what only meaning found: without them it would count as 0."""
    known = {match.key for match in found.matches}
    missing = [key for key in near.cosines if key not in known]
    if not missing:
        return found
    try:
        scored = await words.score(missing)
    except SearchUnavailableError:  # the words themselves were found: rank with those
        return found
    if scored is None:
        return found
    return replace(found, matches=(*found.matches, *scored.matches)) if found.terms else scored
