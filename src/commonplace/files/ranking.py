"""From live candidates to the chunks that are returned: by the rerank model where there is one
and it answers, else by fused scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.files.model import FilePath, StoredChunk
from commonplace.search.model import SearchHit
from commonplace.search.semantic.model_http import NO_KEY, ModelError
from commonplace.search.semantic.rerank import Reranker


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk as it is returned, and why it stands where it stands."""

    chunk: StoredChunk
    score: float
    explain: Mapping[str, Any]

    @property
    def path(self) -> FilePath:
        return self.chunk.path

    @property
    def content(self) -> str:
        return self.chunk.text


@dataclass(frozen=True, slots=True)
class Ranking:
    """`mode` is what was done beyond retrieval; the notes say why it was not."""

    chosen: list[FoundChunk]
    mode: str = ""
    notes: tuple[str, ...] = ()


async def ranked(
    reranker: Reranker | None,
    key: str | None,
    query: str,
    live: Sequence[tuple[StoredChunk, SearchHit]],
    most: int,
) -> Ranking:
    """The best `most` of the candidates, which come in the order of their fused scores."""
    fused = [FoundChunk(chunk, hit.score, _explained(hit)) for chunk, hit in live]
    if reranker is None or not live:
        return Ranking(fused[:most])
    if key is None:
        return Ranking(fused[:most], notes=(f"ranked by fused scores: {NO_KEY}",))
    try:
        rows = await reranker.rerank(query, [one.content for one in fused], most, key)
    except ModelError as error:
        return Ranking(fused[:most], notes=(f"ranked by fused scores: {error}",))
    explained = [(fused[row.at], row.score) for row in rows]
    return Ranking(
        [
            FoundChunk(one.chunk, score, {**one.explain, "fused": one.score, "rerank": score})
            for one, score in explained
        ],
        "+rerank",
    )


def _explained(hit: SearchHit) -> dict[str, Any]:
    return {
        "semantic": hit.semantic,
        "lexical": hit.lexical,
        "terms": list(hit.terms),
        **hit.explain,
    }
