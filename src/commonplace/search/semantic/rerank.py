"""Ranking by a Cohere-compatible rerank endpoint with the caller's own key."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from commonplace.search.semantic.encoder import MAX_TEXT_CHARS
from commonplace.search.semantic.model_http import ModelEndpoint, ModelMalformedError


@dataclass(frozen=True, slots=True)
class Ranked:
    """A text by its position in the request, and its relevance from 0 to 1."""

    at: int
    score: float


class Reranker(Protocol):
    """Ranks texts by relevance to a query."""

    async def rerank(self, query: str, texts: Sequence[str], limit: int, key: str) -> list[Ranked]:
        """Return the `limit` most relevant texts, best first. Raises ModelError."""
        ...


class ExternalReranker:
    """`Reranker` over HTTP."""

    def __init__(self, endpoint: ModelEndpoint, model: str) -> None:
        self._endpoint = endpoint
        self._model = model

    async def rerank(self, query: str, texts: Sequence[str], limit: int, key: str) -> list[Ranked]:
        wanted = min(limit, len(texts))
        documents = [_clean(text) for text in texts]
        answer = await self._endpoint.ask(
            {"model": self._model, "query": _clean(query), "documents": documents, "top_n": wanted},
            key,
        )
        return _parse_ranking(answer, len(texts), wanted)


def _parse_ranking(answer: dict[str, Any], count: int, wanted: int) -> list[Ranked]:
    try:
        found = [
            Ranked(int(row["index"]), float(row["relevance_score"])) for row in answer["results"]
        ]
    except (KeyError, TypeError, ValueError):
        raise ModelMalformedError(
            "the rerank model answered without the scores that were asked for"
        ) from None
    places = {row.at for row in found}
    if (
        len(places) != len(found)
        or len(found) < wanted
        or not all(0 <= row.at < count and math.isfinite(row.score) for row in found)
    ):
        raise ModelMalformedError(
            "the rerank model answered without the scores that were asked for"
        )
    found.sort(key=lambda row: (-row.score, row.at))
    return [Ranked(row.at, min(1.0, max(0.0, row.score))) for row in found[:wanted]]


def _clean(text: str) -> str:
    return text[:MAX_TEXT_CHARS].encode("utf-8", "replace").decode()
