"""Search with an embedder, and without failures while the model is away."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.model import EntryType
from commonplace.memory.retrieval.embedder import CachedEmbedder
from commonplace.memory.retrieval.hybrid import HybridIndex
from commonplace.memory.service import MemoryService
from commonplace.search.semantic.vector import VectorIndex
from commonplace.search.semantic.vector_file import VectorView
from memory_calls import Calls, WordEmbedder

TEXT = "The gateway closes idle connections after thirty seconds."


class CountingEmbedder(WordEmbedder):
    """Counts how often it is asked to load."""

    loads = 0

    def warm(self) -> None:
        self.loads += 1


def test_both_vectors_exist_when_there_is_a_conversation(embedding_memory: Calls) -> None:
    added = embedding_memory(
        "rekall_add",
        type="bug",
        title="Idle connections",
        content=TEXT,
        context="clients reconnect",
    )
    assert added["embeddings_calculated"] is True
    assert embedding_memory("rekall_show", id=added["id"])["embeddings"] == {
        "summary": True,
        "context": True,
    }
    bare = embedding_memory.add("No conversation")
    assert embedding_memory("rekall_show", id=bare)["embeddings"] == {
        "summary": True,
        "context": False,
    }


def test_search_finds_by_meaning_and_explains_it(embedding_memory: Calls) -> None:
    entry = embedding_memory.add("Idle connections", TEXT)
    answer = embedding_memory("rekall_search", query="idle connections", why=True)
    assert answer["mode"] == "hybrid"
    [result] = answer["results"]
    assert result["id"] == entry
    assert result["why"]["semantic"] > 0
    assert result["why"]["lexical"] > 0


def test_a_near_conversation_raises_its_entry(embedding_memory: Calls) -> None:
    plain = embedding_memory.add("Retry with backoff one", "Wait longer each time, first kind.")
    told = embedding_memory.add(
        "Retry with backoff two",
        "Wait longer each time, second kind.",
        context="zookeeper quorum lost",
    )
    results = embedding_memory("rekall_search", query="zookeeper quorum retry backoff")["results"]
    assert [r["id"] for r in results] == [told, plain]


def test_filters_apply_to_vectors(embedding_memory: Calls) -> None:
    embedding_memory.add("Idle connections", TEXT, project="a")
    wanted = embedding_memory.add("Idle connections", TEXT, project="b", type="config")
    for filters in ({"project": "b"}, {"type": "config"}, {"project": "b", "type": "config"}):
        assert [
            r["id"]
            for r in embedding_memory("rekall_search", query="idle connections", **filters)[
                "results"
            ]
        ] == [wanted]
    assert (
        embedding_memory("rekall_search", query="idle connections", project="a", type="config")[
            "results"
        ]
        == []
    )


def test_search_uses_words_while_the_model_loads(tmp_path: Path) -> None:
    embedder = WordEmbedder(state="loading")
    memory = Calls(tmp_path, embedder=embedder)
    added = memory("rekall_add", type="bug", title="Idle connections", content=TEXT)
    assert added["embeddings_calculated"] is False
    answer = memory("rekall_search", query="idle connections")
    assert (answer["mode"], len(answer["results"])) == ("lexical", 1)
    assert "loading" in answer["hint"]
    embedder.state = "ready"
    assert memory.run(memory.service.vectors.fill(LOCAL_TENANT)) == 1
    assert memory("rekall_show", id=added["id"])["embeddings"]["summary"] is True
    assert memory("rekall_search", query="idle connections")["mode"] == "hybrid"
    memory.close()


def test_another_model_replaces_the_vectors(tmp_path: Path) -> None:
    memory = Calls(tmp_path, embedder=WordEmbedder())
    entry = memory.add("Idle connections", TEXT)
    memory.close()
    newer = WordEmbedder()
    newer.identity = "words/2"
    again = Calls(tmp_path, embedder=newer)
    assert again("rekall_search", query="idle connections")["results"][0]["id"] == entry
    again.run(again.service.vectors.fill(LOCAL_TENANT))
    assert again("rekall_show", id=entry)["embeddings"]["summary"] is True
    again.close()


def test_a_failed_model_is_reported_only_when_it_is_required(tmp_path: Path) -> None:
    memory = Calls(tmp_path, embedder=WordEmbedder(state="failed: no such file"))
    assert (
        memory("rekall_add", type="bug", title="Idle connections", content=TEXT)["created"] is True
    )
    assert len(memory("rekall_search", query="idle")["results"]) == 1
    with pytest.raises(CommonplaceError) as raised:
        memory.run(memory.service.embed_missing())
    assert (raised.value.code.name, raised.value.code.http_status) == ("MODEL_NOT_AVAILABLE", 503)
    assert "no such file" in memory.run(memory.service.prepare(0))
    refused = memory.error("rekall_search", query="idle", mode="meaning")
    assert (refused.code.name, refused.details["http_status"]) == ("MODEL_NOT_AVAILABLE", 503)
    assert "commonplace models" in str(refused.hint)
    memory.close()


def test_without_an_embedder_vectors_are_disabled(memory: Calls) -> None:
    with pytest.raises(CommonplaceError) as raised:
        memory.run(memory.service.embed_missing())
    assert (raised.value.code.name, raised.value.code.http_status) == ("EMBEDDINGS_DISABLED", 503)
    assert memory.run(memory.service.prepare(0)) == "embeddings are switched off"
    refused = memory.error("rekall_search", query="idle", mode="meaning")
    assert (refused.code.name, refused.details["http_status"]) == ("EMBEDDINGS_DISABLED", 503)


def test_a_search_that_requires_meaning_works_with_a_model(embedding_memory: Calls) -> None:
    entry = embedding_memory.add("Idle connections", TEXT)
    found = embedding_memory("rekall_search", query="idle connections", mode="meaning")
    assert (found["mode"], found["results"][0]["id"]) == ("hybrid", entry)


def test_a_failed_model_is_not_loaded_at_every_query(tmp_path: Path) -> None:
    embedder = CountingEmbedder(state="failed: no such file")
    memory = Calls(tmp_path, embedder=embedder)
    for _ in range(5):
        memory("rekall_search", query="idle")
    assert embedder.loads == 1
    memory.close()


def test_changed_and_deleted_entries_change_their_vectors(embedding_memory: Calls) -> None:
    entry = embedding_memory.add("Idle connections", TEXT)
    embedding_memory(
        "memory_update", id=entry, content="soup on friday", title="Lunch menu", project="kitchen"
    )
    [result] = embedding_memory(
        "rekall_search", query="friday soup menu", project="kitchen", why=True
    )["results"]
    assert result["why"]["semantic"] > 0.5
    embedding_memory("memory_delete", id=entry)
    assert embedding_memory("rekall_search", query="friday soup menu")["results"] == []
    embedding_memory("memory_delete", id=entry, restore=True)
    assert (
        embedding_memory("rekall_search", query="friday soup menu", why=True)["results"][0]["why"][
            "semantic"
        ]
        > 0.5
    )


def test_closing_memory_stops_the_build_of_a_vector_index(tmp_path: Path) -> None:
    memory = Calls(tmp_path)
    begun = threading.Event()
    stopped: list[bool] = []

    def build(view: VectorView, path: Path, *, stopping: threading.Event) -> int:
        begun.set()
        stopped.append(stopping.wait(20))
        return 0

    def open_vectors(embedder: CachedEmbedder) -> VectorIndex:
        return VectorIndex(tmp_path / "vectors", embedder, ann_rows=1, build=build)

    index = HybridIndex(memory.service.index.postings, WordEmbedder(), open_vectors)
    service = MemoryService(memory.service.store, index)
    memory.run(service.add(LOCAL_TENANT, service.draft(EntryType.BUG, "Idle connections", TEXT)))
    assert begun.wait(10)
    service.close()
    assert stopped == [True]
    memory.close()
