"""Long entries have a vector of each passage, in vector files and in PostgreSQL."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.engine.documents import document_key
from commonplace.memory.engine.passages import MOST_PASSAGES, summary_passages
from commonplace.memory.model import EntryFilter, EntryType
from commonplace.memory.retrieval.protocol import SearchText
from commonplace.memory.retrieval.vectors import NO_KEY, summaries
from commonplace.memory.use_cases.vectors import VectorBackfill
from commonplace.search.model import Passage
from memory_calls import Calls, WordEmbedder
from waiting import is_met_within

FILLER = " ".join(
    f"Walnut harvest number {number} begins in october with rakes and baskets."
    for number in range(30)
)
ANSWER = "The gateway closes idle connections after thirty seconds."
QUERY = "gateway idle connections"


def cosine(memory: Calls, query: str = QUERY) -> float:
    """Return the cosine of the nearest entry to a query."""
    index = memory.service.index
    found = memory.run(index.search(LOCAL_TENANT, SearchText(query), EntryFilter(), 5))
    return float(found.matches[0].semantic or 0.0)


def settle(memory: Calls) -> None:
    memory.run(memory.service.settle())


def finish_fill(memory: Calls) -> None:
    """Wait for the look at missing vectors that the first entry of a tenant starts."""

    async def finish() -> None:
        task = memory.service.vectors.start(LOCAL_TENANT)
        if task is not None:
            await task

    memory.run(finish())


def vectors_of(memory: Calls, entry: str) -> int:
    """Return how many vectors an entry has."""
    return int(memory("rekall_show", id=entry)["vectors"]["embedded"])


def test_an_answer_behind_other_text_is_found_by_its_passage(embedding_memory: Calls) -> None:
    entry = embedding_memory.add("Notes", f"{FILLER}\n\n{ANSWER}", context=f"{FILLER}\n\n{ANSWER}")
    settle(embedding_memory)
    assert cosine(embedding_memory) > 0.5
    shown = embedding_memory("rekall_show", id=entry)
    assert shown["embeddings"] == {"summary": True, "context": True}
    assert shown["vectors"]["embedded"] == shown["vectors"]["when_complete"] > 10


def test_the_first_passages_are_embedded_before_the_answer_and_the_others_soon(
    tmp_path: Path, url: str
) -> None:
    class Gated(WordEmbedder):
        """Embeds several texts at once only after the gate is open."""

        gate = threading.Event()

        def embed(self, texts: Any) -> Any:
            assert len(texts) < 2 or self.gate.wait(20)
            return super().embed(texts)

    embedder = Gated()
    memory = Calls(tmp_path, embedder=embedder, url=url)
    draft = memory.service.draft(EntryType.BUG, "Notes", f"{FILLER}\n\n{ANSWER}", context=FILLER)

    added = memory.run(memory.service.add(LOCAL_TENANT, draft))
    assert added.embedded
    assert vectors_of(memory, added.entry.id) == 2
    embedder.gate.set()
    settle(memory)
    assert vectors_of(memory, added.entry.id) > 10
    memory.close()


def test_vectors_of_an_entry_are_bounded(embedding_memory: Calls) -> None:
    entry = embedding_memory.add("Notes", "word after word. " * 50_000, context="talk. " * 1_600)
    settle(embedding_memory)
    assert vectors_of(embedding_memory, entry) <= 2 * MOST_PASSAGES


def test_passages_follow_changes_deletion_and_restoration(embedding_memory: Calls) -> None:
    memory = embedding_memory
    entry = memory.add("Notes", f"{FILLER}\n\n{ANSWER}")
    settle(memory)
    before = vectors_of(memory, entry)
    memory("memory_update", id=entry, content=FILLER)
    settle(memory)
    assert vectors_of(memory, entry) == before - 1
    assert cosine(memory) < 0.2
    memory("memory_delete", id=entry)
    settle(memory)
    assert memory.run(memory.service.index.count_vectors(LOCAL_TENANT)) == 0
    memory("memory_delete", id=entry, restore=True)
    settle(memory)
    assert vectors_of(memory, entry) == before - 1


def test_an_entry_that_is_deleted_while_it_waits_leaves_no_vector(embedding_memory: Calls) -> None:
    memory = embedding_memory
    draft = memory.service.draft(EntryType.BUG, "Notes", f"{FILLER}\n\n{ANSWER}")

    async def work() -> int:
        added = await memory.service.add(LOCAL_TENANT, draft)
        await memory.service.delete(LOCAL_TENANT, added.entry.id)
        await memory.service.settle()
        return await memory.service.index.count_vectors(LOCAL_TENANT)

    assert memory.run(work()) == 0


def test_vectors_without_passages_serve_until_they_are_completed(
    embedding_memory: Calls,
) -> None:
    """As after an upgrade from a version that embedded the beginning of an entry only."""
    memory = embedding_memory
    short = memory.add("Lunch menu", "Soup on friday.")
    entry = memory.add("Notes", f"{ANSWER} {FILLER}\n\nZookeeper quorum was lost.")
    settle(memory)
    finish_fill(memory)
    index = memory.service.index
    known = memory.run(memory.service.find(LOCAL_TENANT, entry))
    first = Passage(document_key(known), known.text, "digest of an earlier version")
    store = index.vectors.store
    store.synchronise_now(summaries(LOCAL_TENANT), document_key(known), [first])
    assert vectors_of(memory, entry) == 1
    assert cosine(memory, "walnut harvest") > 0.3
    missing = memory.run(
        index.find_missing(LOCAL_TENANT, memory.run(memory.service.store.everything(LOCAL_TENANT)))
    )
    assert [e.id for e in missing] == [entry]
    memory.service.vectors.restart(LOCAL_TENANT)
    assert memory.run(memory.service.vectors.fill(LOCAL_TENANT)) == 1
    assert vectors_of(memory, entry) == len(summary_passages(known))
    assert vectors_of(memory, short) == 1
    assert cosine(memory, "zookeeper quorum lost") > 0.5


def test_similar_entries_are_judged_by_their_beginnings(embedding_memory: Calls) -> None:
    memory = embedding_memory
    memory.add("Notes", f"{FILLER}\n\n{ANSWER}")
    settle(memory)
    added = memory("rekall_add", type="bug", title="Gateway", content=ANSWER)
    assert added["similar_entries"] == []


def test_passages_of_another_model_serve_until_they_are_replaced(tmp_path: Path, url: str) -> None:
    class Named(WordEmbedder):
        def __init__(self, identity: str) -> None:
            super().__init__()
            self.identity = identity

    class Earlier:
        def find(self, identity: str) -> WordEmbedder | None:
            return old if identity == old.identity else None

        def close(self) -> None:
            """Nothing was opened."""

    old, new = Named("old/int8/1"), Named("new/int8/2")
    first = Calls(tmp_path, embedder=old, url=url)
    entry = first.add("Notes", f"{FILLER}\n\n{ANSWER}")
    settle(first)
    vectors = vectors_of(first, entry)
    first.close()
    second = Calls(tmp_path, embedder=new, url=url, earlier=Earlier())
    assert cosine(second) > 0.3
    assert vectors_of(second, entry) == 0
    assert second.run(second.service.vectors.fill(LOCAL_TENANT)) == 1
    assert vectors_of(second, entry) == vectors
    assert second.service.index.vectors.replaced_identity(LOCAL_TENANT) is None
    second.close()


@pytest.mark.parametrize("limit", [1, 3])
def test_a_long_entry_takes_one_place_among_the_nearest(
    embedding_memory: Calls, limit: int
) -> None:
    memory = embedding_memory
    sentence = "The gateway number {} closes idle connections after thirty seconds."
    text = "\n\n".join(f"{sentence.format(n)} {sentence.format(n + 1)}" for n in range(40))
    memory.add("Gateways", text)
    others = [memory.add(f"Gateway {n}", f"{n} closes idle connections") for n in range(3)]
    settle(memory)
    store = memory.service.index.vectors.store
    query = WordEmbedder().embed_query("gateway closes idle connections")
    near = store.search(summaries(LOCAL_TENANT), query, limit).cosines
    assert len(near) == limit
    every = store.search(summaries(LOCAL_TENANT), query, 10).cosines
    assert len(every) == len(others) + 1
    assert not store.search(summaries(LOCAL_TENANT), query, 10, NO_KEY).cosines


def test_passages_follow_when_the_model_has_loaded_after_a_search(tmp_path: Path, url: str) -> None:
    embedder = WordEmbedder("loading")
    memory = Calls(tmp_path, embedder=embedder, url=url)
    entry = memory.add("Notes", f"{FILLER}\n\n{ANSWER}")
    memory("rekall_search", query=QUERY)
    embedder.state = "ready"

    def is_complete() -> bool:
        memory.run(asyncio.sleep(0.01))
        vectors = memory("rekall_show", id=entry)["vectors"]
        return bool(vectors["embedded"] == vectors["when_complete"])

    assert is_met_within(10, is_complete)
    memory.close()


def test_an_entry_that_changes_while_it_is_embedded_has_the_vectors_of_its_text(
    embedding_memory: Calls,
) -> None:
    memory = embedding_memory
    service = memory.service
    entry = memory.add("Notes", f"{FILLER}\n\n{ANSWER}")
    settle(memory)
    read_before = memory.run(service.store.everything(LOCAL_TENANT))
    memory("memory_update", id=entry, content=ANSWER)

    class EarlierReading:
        """The store as a fill read it before the change."""

        def __getattr__(self, name: str) -> Any:
            return getattr(service.store, name)

        async def everything(self, tenant: Any) -> Any:
            return read_before

    store: Any = EarlierReading()

    async def fill() -> None:
        await VectorBackfill(store, service.index, service.suggestions).fill(LOCAL_TENANT)

    def is_embedded() -> bool:
        memory.run(asyncio.sleep(0.01))
        return vectors_of(memory, entry) == 1

    memory.run(fill())
    assert is_met_within(10, is_embedded)
    assert cosine(memory) > 0.5
