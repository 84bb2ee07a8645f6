"""With an embedder: vectors of entry and conversation, suggestions by cosine, and no failure
while the model is away.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.kernel.errors import CommonplaceError
from commonplace.memory.engine.documents import partition
from commonplace.memory.model import EntryType
from commonplace.memory.retrieval.embedder import CachedEmbedder
from commonplace.memory.retrieval.hybrid import HybridIndex
from commonplace.memory.service import MemoryService
from commonplace.search.semantic.vector import VectorIndex
from memory_calls import Calls, WordEmbedder

TEXT = "The gateway closes idle connections after thirty seconds."


async def background_fill() -> int:
    """Wait for the task that fills in missing vectors."""
    [task] = [task for task in asyncio.all_tasks() if task.get_name() == "memory-vectors"]
    return int(await task)


class CountingEmbedder(WordEmbedder):
    """Counts how often it is told to load."""

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


def test_links_are_suggested_from_the_threshold_on(embedding_memory: Calls) -> None:
    first = embedding_memory.add("Idle connections", TEXT)
    added = embedding_memory(
        "rekall_add", type="bug", title="Idle connections", content=TEXT + " Again.", project="p"
    )
    assert added["similar_entries"][0]["id"] == first
    assert added["similar_entries"][0]["score"] >= 0.75
    [suggestion] = embedding_memory("rekall_suggest_links")["suggestions"]
    assert suggestion["score"] >= 0.75
    assert suggestion["reason"].startswith("Similar meaning")
    far = embedding_memory("rekall_add", type="bug", title="Lunch menu", content="soup on friday")
    assert far["suggestions_created"] == 0


def test_search_finds_by_meaning_and_says_how(embedding_memory: Calls) -> None:
    entry = embedding_memory.add("Idle connections", TEXT)
    answer = embedding_memory("rekall_search", query="idle connections", why=True)
    assert answer["mode"] == "hybrid"
    [result] = answer["results"]
    assert result["id"] == entry
    assert result["why"]["semantic"] > 0
    assert result["why"]["lexical"] > 0


def test_a_conversation_vector_lifts_its_entry(embedding_memory: Calls) -> None:
    plain = embedding_memory.add("Retry with backoff one", "Wait longer each time, first kind.")
    told = embedding_memory.add(
        "Retry with backoff two",
        "Wait longer each time, second kind.",
        context="zookeeper quorum lost",
    )
    results = embedding_memory("rekall_search", query="zookeeper quorum retry backoff")["results"]
    assert [r["id"] for r in results] == [told, plain]


def test_filters_hold_for_vectors_too(embedding_memory: Calls) -> None:
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


def test_while_the_model_loads_words_answer_and_the_hint_says_so(tmp_path: Path) -> None:
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


def test_missing_vectors_are_filled_in_the_background(tmp_path: Path) -> None:
    memory = Calls(tmp_path)
    first = memory.add("Idle connections", TEXT)
    second = memory.add("Connections that idle", "closes the gateway after thirty seconds")
    memory.close()
    again = Calls(tmp_path, embedder=WordEmbedder())
    again("rekall_search", query="idle")
    assert again.run(background_fill()) == 2
    for entry in (first, second):
        assert again("rekall_show", id=entry)["embeddings"]["summary"] is True
    again.close()


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


def test_a_failed_model_is_named_only_where_nothing_else_can_be_done(tmp_path: Path) -> None:
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


def test_a_search_for_meaning_is_answered_where_there_is_a_model(embedding_memory: Calls) -> None:
    entry = embedding_memory.add("Idle connections", TEXT)
    found = embedding_memory("rekall_search", query="idle connections", mode="meaning")
    assert (found["mode"], found["results"][0]["id"]) == ("hybrid", entry)


def test_a_model_that_failed_is_not_read_again_at_every_question(tmp_path: Path) -> None:
    embedder = CountingEmbedder(state="failed: no such file")
    memory = Calls(tmp_path, embedder=embedder)
    for _ in range(5):
        memory("rekall_search", query="idle")
    assert embedder.loads == 1
    memory.close()


def test_missing_vectors_of_every_tenant_are_made_on_demand(tmp_path: Path) -> None:
    embedder = WordEmbedder(state="loading")
    memory = Calls(tmp_path, embedder=embedder)
    memory("rekall_add", tenant="a", type="bug", title="Idle connections", content=TEXT)
    memory("rekall_add", tenant="b", type="bug", title="Lunch menu", content="soup on friday")
    with pytest.raises(CommonplaceError) as raised:
        memory.run(memory.service.embed_missing())
    assert (raised.value.code.name, raised.value.retryable) == ("MODEL_NOT_AVAILABLE", True)
    embedder.state = "ready"
    assert memory.run(memory.service.prepare(0)) == ""
    assert memory.run(memory.service.embed_missing()) == 2
    assert memory.run(memory.service.embed_missing()) == 0
    memory.close()


def test_only_entries_that_are_near_are_called_similar(embedding_memory: Calls) -> None:
    near = embedding_memory.add("Idle connections", TEXT)
    embedding_memory.add("Lunch menu", "soup on friday")
    added = embedding_memory(
        "rekall_add", type="bug", title="Idle connections closed", content=TEXT, project="p"
    )
    assert [similar["id"] for similar in added["similar_entries"]] == [near]
    assert all(0.5 <= similar["score"] <= 1 for similar in added["similar_entries"])
    assert (
        embedding_memory("rekall_add", type="bug", title="Something else entirely")[
            "similar_entries"
        ]
        == []
    )


def test_doctor_counts_what_can_be_found_by_words_and_by_meaning(tmp_path: Path) -> None:
    memory = Calls(tmp_path)
    memory.add("Idle connections", TEXT)
    memory("rekall_add", tenant="b", type="bug", title="Lunch menu")
    checks = {check["name"]: check for check in memory.service.doctor()}
    assert checks["memory"]["finding"].startswith("2 entries of 2 tenants")
    assert (
        checks["memory vectors"]["status"],
        "switched off" in checks["memory vectors"]["finding"],
    ) == ("note", True)
    assert "memory index" not in checks
    memory.close()
    again = Calls(tmp_path, embedder=WordEmbedder())
    missing = {check["name"]: check for check in again.service.doctor()}["memory vectors"]
    assert (missing["status"], missing["fix"]) == ("warn", "commonplace memory embed")
    again.run(again.service.embed_missing())
    assert {check["name"]: check for check in again.service.doctor()}["memory vectors"][
        "status"
    ] == "ok"
    again.close()


def test_doctor_finds_an_index_that_lost_an_entry_and_reindex_mends_it(memory: Calls) -> None:
    entry = memory.add("Idle connections", TEXT)
    store = memory.service.store
    postings = memory.service.index.postings
    store.units.count_now(lambda c: postings.clear(c, partition(LOCAL_TENANT)))
    assert memory("rekall_search", query="idle")["results"] == []
    broken = {check["name"]: check for check in memory.service.doctor()}["memory index"]
    assert (broken["status"], broken["fix"]) == ("fail", "commonplace memory reindex")
    assert memory.run(memory.service.reindex()) == (1, 0)
    assert "memory index" not in {check["name"] for check in memory.service.doctor()}
    assert [result["id"] for result in memory("rekall_search", query="idle")["results"]] == [entry]


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


def test_three_episodes_are_one_cluster_by_cosine(embedding_memory: Calls) -> None:
    for n in range(3):
        embedding_memory.add(
            f"Deploy failed, case {n}",
            "The deploy failed: disk full on the build runner, docker cache cleared.",
        )
    [cluster] = embedding_memory("rekall_suggest_generalize")["suggestions"]
    assert len(cluster["entries"]) == 3
    assert cluster["score"] >= 0.8


def test_closing_memory_leaves_no_build_of_a_vector_index_running(tmp_path: Path) -> None:
    memory = Calls(tmp_path)
    before = set(threading.enumerate())
    vectors: list[VectorIndex] = []

    def open_vectors(embedder: CachedEmbedder) -> VectorIndex:
        vectors.append(VectorIndex(tmp_path / "vectors", embedder, ann_rows=1))
        return vectors[0]

    index = HybridIndex(memory.service.index.postings, WordEmbedder(), open_vectors)
    service = MemoryService(memory.service.store, index)
    memory.run(service.add(LOCAL_TENANT, service.draft(EntryType.BUG, "Idle connections", TEXT)))
    assert vectors[0]._builders  # one row is enough to begin
    service.close()
    assert not [t for t in set(threading.enumerate()) - before if "ann" in t.name and t.is_alive()]
    memory.close()
