"""Clients of external models against a real server: their requests, and every failure."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commonplace.search.model import (
    KeyNeededError,
    LexicalMatch,
    LexicalResult,
    Partition,
    Passage,
    QueryTerm,
    SearchUnavailableError,
)
from commonplace.search.retriever import HybridRetriever
from commonplace.search.semantic.embed import EmbedderUnavailableError
from commonplace.search.semantic.embed_external import ExternalModel, ExternalSemanticSide
from commonplace.search.semantic.model_http import (
    ModelEndpoint,
    ModelError,
    ModelKeyRefusedError,
    ModelRejectedError,
    ModelUnavailableError,
)
from commonplace.search.semantic.rerank import ExternalReranker
from commonplace.search.semantic.vector import VectorIndex
from commonplace.storage.circuit_breaker import CircuitBreaker
from commonplace.storage.network_loop import NetworkLoop
from model_server import ModelServer, Request

KEY = "sk-caller-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as started:
        yield started


@pytest.fixture
def outbound() -> Iterator[NetworkLoop]:
    made = NetworkLoop()
    yield made
    made.close()


def embedding(
    server: ModelServer, outbound: NetworkLoop, seconds: float = 5.0, **options: Any
) -> ExternalModel:
    endpoint = ModelEndpoint(
        "embedding", f"{server.url}/v1/embeddings", seconds, outbound, **options
    )
    return ExternalModel(endpoint, "text-embedding-3-small", 64)


def embed(model: ExternalModel, text: str = "hello", key: str = KEY) -> Any:
    return asyncio.run(model.embed_one(text, key))


def test_texts_become_unit_vectors_in_their_order(
    server: ModelServer, outbound: NetworkLoop
) -> None:
    model = embedding(server, outbound)
    vectors = model.embed_many([f"word{n}" for n in range(130)], KEY)
    assert vectors.shape == (130, 64)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1)
    assert np.allclose(vectors[77], embed(model, "word77"))
    assert [len(request.body["input"]) for request in server.requests] == [64, 64, 2, 1]
    assert server.keys == {KEY}
    assert server.connections == 1  # reused, also between a worker thread and an event loop


def test_long_texts_are_cut_and_large_batches_split(
    server: ModelServer, outbound: NetworkLoop
) -> None:
    embedding(server, outbound).embed_many(["x" * 100_000] * 30 + [""], KEY)
    sizes = [sum(map(len, request.body["input"])) for request in server.requests]
    assert max(sizes) <= 200_000
    assert server.requests[-1].body["input"][-1] == " "


def test_a_model_with_several_lengths_is_asked_for_the_configured_one(
    server: ModelServer, outbound: NetworkLoop
) -> None:
    server.dimensions = 128
    model = embedding(server, outbound)
    assert embed(model).shape == (64,)
    assert [request.body.get("dimensions") for request in server.requests] == [None, 64]
    embed(model)
    assert server.requests[-1].body["dimensions"] == 64


def test_a_model_of_another_length_is_refused_with_the_setting_to_change(
    server: ModelServer, outbound: NetworkLoop
) -> None:
    server.fault = lambda request: (
        200,
        json.dumps({"data": [{"index": 0, "embedding": [0.5] * 8}]}).encode(),
    )
    with pytest.raises(ModelRejectedError, match=r"vectors of 8 numbers.*dimensions says 64"):
        embed(embedding(server, outbound))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{}",
        b'{"data": []}',
        b'{"data": [{"index": 1, "embedding": [1.0]}]}',
        b'{"data": [{"index": 0, "embedding": "AAAA"}]}',
        b'{"data": [{"index": 0, "embedding": [[1.0]]}]}',
        b"<html>",
        json.dumps({"data": [{"index": 0, "embedding": [float("nan")] * 64}]}).encode(),
    ],
)
def test_a_malformed_answer_is_refused(
    body: bytes, server: ModelServer, outbound: NetworkLoop
) -> None:
    server.fault = lambda request: (200, body)
    with pytest.raises(ModelRejectedError):
        embed(embedding(server, outbound))


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_a_transient_failure_is_retried(
    status: int, server: ModelServer, outbound: NetworkLoop
) -> None:
    server.fault = lambda request: (status, b"{}") if len(server.requests) < 3 else None
    assert embed(embedding(server, outbound)).shape == (64,)
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "error"),
    [(400, ModelRejectedError), (404, ModelRejectedError), (401, ModelKeyRefusedError)],
)
def test_a_permanent_failure_is_not_retried(
    status: int, error: type[ModelError], server: ModelServer, outbound: NetworkLoop
) -> None:
    server.fault = lambda request: (
        status,
        json.dumps({"error": f"you sent {request.key}"}).encode(),
    )
    with pytest.raises(error) as told:
        embed(embedding(server, outbound))
    assert len(server.requests) == 1
    assert KEY not in str(told.value)


def test_a_redirect_does_not_carry_the_key_away(server: ModelServer, outbound: NetworkLoop) -> None:
    server.fault = lambda request: (307, b"")
    with pytest.raises(ModelRejectedError, match="307"):
        embed(embedding(server, outbound))


def test_a_hanging_model_ends_with_the_time_limit(
    server: ModelServer, outbound: NetworkLoop
) -> None:
    server.fault = server.hang
    begun = time.monotonic()
    with pytest.raises(ModelUnavailableError, match=r"did not answer within 0.2 s"):
        embed(embedding(server, outbound, 0.2))
    assert time.monotonic() - begun < 3


def test_an_unreachable_model_is_reported(outbound: NetworkLoop) -> None:
    with ModelServer() as gone:
        pass
    with pytest.raises(ModelUnavailableError, match="cannot be reached"):
        embed(embedding(gone, outbound))


def test_repeated_failures_open_the_circuit_until_a_probe_succeeds(
    server: ModelServer, outbound: NetworkLoop
) -> None:
    now = 0.0
    events: list[str] = []
    model = embedding(
        server, outbound, breaker=CircuitBreaker(clock=lambda: now), count=events.append
    )
    server.fault = lambda request: (500, b"{}")
    for _ in range(2):
        with pytest.raises(ModelUnavailableError):
            embed(model)
    asked = len(server.requests)
    with pytest.raises(ModelUnavailableError, match="will not be called") as resting:
        embed(model)
    assert resting.value.rest_seconds > 0
    assert len(server.requests) == asked
    server.well()
    now = 1000.0
    assert embed(model).shape == (64,)
    assert embed(model).shape == (64,)
    assert events.count("embedding model resting") == 1
    assert events.count("embedding model answered") == 2


def test_a_refused_key_of_one_caller_does_not_stop_the_others(
    server: ModelServer, outbound: NetworkLoop
) -> None:
    model = embedding(server, outbound)
    server.refused_keys = {"sk-wrong"}
    for _ in range(20):
        with pytest.raises(ModelKeyRefusedError):
            embed(model, key="sk-wrong")
    assert embed(model).shape == (64,)


def test_vectors_are_made_with_the_key_and_removed_without_one(
    server: ModelServer, outbound: NetworkLoop, tmp_path: Path
) -> None:
    model = embedding(server, outbound)
    side = ExternalSemanticSide(model, VectorIndex(tmp_path, model))
    here = Partition("t", "files", "p")
    passages = [Passage(f"/a#{n}", f"walnut number{n}", f"d{n}") for n in range(3)]

    async def story() -> None:
        with pytest.raises(KeyNeededError):
            await side.synchronise(here, "/a#", passages, None)
        await side.synchronise(here, "/a#", passages, KEY)
        near = await side.nearest(here, await side.vector("number2", KEY), 1, "", [])
        assert next(iter(near.cosines)) == "/a#2"
        await side.synchronise(here, "/a#", passages[:1], None)
        assert (await side.nearest(here, await side.vector("walnut", KEY), 5, "", [])).rows == 1
        with pytest.raises(EmbedderUnavailableError, match="X-Model-Key"):
            await side.vector("walnut", None)

    asyncio.run(story())
    assert server.keys == {KEY}


class Words:
    """A lexical store with one document, or one that cannot be read."""

    def __init__(self, away: bool) -> None:
        self._away = away

    async def search(
        self,
        partition: Partition,
        terms: Any,
        *,
        limit: int,
        weights: Any,
        prefix: str = "",
        emphasis: Any = None,
    ) -> LexicalResult:
        if self._away:
            raise SearchUnavailableError("the index is away")
        return LexicalResult(
            (LexicalMatch("/a#0", 1.0, ("walnut",)),), (QueryTerm("walnut", 1, 1.0),), 1, 2.0
        )


@pytest.mark.parametrize(
    ("words_away", "model_away", "mode", "said"),
    [
        (False, False, "hybrid", ""),
        (False, True, "lexical", "ranked by words alone: the embedding model answered 500"),
        (
            True,
            False,
            "hybrid",
            "ranked by meaning alone: the words cannot be searched (the index is away)",
        ),
        (True, True, None, ""),
    ],
)
def test_one_side_replaces_the_other_and_without_both_it_is_an_error(
    words_away: bool,
    model_away: bool,
    mode: str | None,
    said: str,
    server: ModelServer,
    outbound: NetworkLoop,
    tmp_path: Path,
) -> None:
    model = embedding(server, outbound)
    side = ExternalSemanticSide(model, VectorIndex(tmp_path, model))
    here = Partition("t", "files", "p")
    asyncio.run(side.synchronise(here, "/a#", [Passage("/a#0", "green walnut", "d")], KEY))
    server.fault = (lambda request: (500, b"{}")) if model_away else None
    retriever = HybridRetriever(Words(words_away), external=side)
    asked = retriever.retrieve(here, "walnut", limit=5, weights={"text": 1.0}, model_key=KEY)
    if mode is None:
        with pytest.raises(SearchUnavailableError):
            asyncio.run(asked)
        return
    found = asyncio.run(asked)
    assert (found.mode, [hit.key for hit in found.hits]) == (mode, ["/a#0"])
    assert not said or said in found.notes


def rerank(server: ModelServer, outbound: NetworkLoop, texts: list[str], limit: int = 5) -> Any:
    reranker = ExternalReranker(
        ModelEndpoint("rerank", f"{server.url}/v1/rerank", 2.0, outbound), "rerank-v3.5"
    )
    return asyncio.run(reranker.rerank("green walnut", texts, limit, KEY))


def test_rerank_asks_as_cohere_does_and_returns_the_best_first(
    server: ModelServer, outbound: NetworkLoop
) -> None:
    ranked = rerank(server, outbound, ["red apple", "green walnut tree", "walnut"], 2)
    assert [row.at for row in ranked] == [1, 2]
    body = server.requests[0].body
    assert body == {
        "model": "rerank-v3.5",
        "query": "green walnut",
        "documents": ["red apple", "green walnut tree", "walnut"],
        "top_n": 2,
    }
    assert server.requests[0].key == KEY


@pytest.mark.parametrize(
    "results",
    [
        None,
        [],
        [{"index": 0, "relevance_score": 0.5}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 0, "relevance_score": 0.4}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 9, "relevance_score": 0.4}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 1, "relevance_score": float("nan")}],
        [{"index": 0, "relevance_score": 0.5}, {"index": 1}],
    ],
)
def test_a_malformed_rerank_answer_is_refused(
    results: Any, server: ModelServer, outbound: NetworkLoop
) -> None:
    def broken(request: Request) -> tuple[int, bytes]:
        return 200, json.dumps({"results": results}).encode()

    server.fault = broken
    with pytest.raises(ModelRejectedError):
        rerank(server, outbound, ["a", "b"])


def test_requests_in_flight_end_with_their_event_loop(server: ModelServer) -> None:
    outbound = NetworkLoop()
    server.fault = server.hang
    model = embedding(server, outbound, 30.0)

    async def given_up() -> None:
        async with asyncio.timeout(0.1):
            await model.embed_one("x", KEY)

    with pytest.raises(TimeoutError):
        asyncio.run(given_up())
    begun = time.monotonic()
    outbound.close()
    assert time.monotonic() - begun < 5
