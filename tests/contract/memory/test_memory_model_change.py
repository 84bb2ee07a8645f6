"""Memory after a change of the model: old vectors serve until they are replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.model import EntryFilter
from commonplace.memory.retrieval.protocol import SearchText
from memory_calls import Calls, WordEmbedder

TEXT = "The gateway closes idle connections after thirty seconds."


class CountedModel(WordEmbedder):
    """Remembers the questions it was asked."""

    def __init__(self, identity: str) -> None:
        super().__init__()
        self.identity = identity
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Any:
        self.asked.append(text)
        return super().embed_query(text)


class OneEarlier:
    """An `EarlierEmbedders` with one model."""

    def __init__(self, model: CountedModel) -> None:
        self._model = model

    def find(self, identity: str) -> CountedModel | None:
        return self._model if identity == self._model.identity else None

    def close(self) -> None:
        """Nothing was opened."""


def test_entries_are_found_by_old_vectors_until_new_ones_are_made(tmp_path: Path, url: str) -> None:
    old, new = CountedModel("old/int8/1"), CountedModel("new/int8/2")
    first = Calls(tmp_path, embedder=old, url=url)
    entry = first.add("Idle connections", TEXT)
    first.add("Walnut harvest", "The harvest begins in october.")
    first.close()
    second = Calls(tmp_path, embedder=new, url=url, earlier=OneEarlier(old))

    def search(query: str) -> Any:
        index = second.service.index
        return second.run(index.search(LOCAL_TENANT, SearchText(query), EntryFilter(), 5))

    found = search("idle connections")
    assert found.semantic
    assert (found.matches[0].entry_id, found.matches[0].semantic is not None) == (entry, True)
    assert old.asked[-1] == "idle connections"
    assert second.run(second.service.vectors.fill(LOCAL_TENANT)) == 2
    asked = len(old.asked)
    found = search("connections idle")
    assert found.matches[0].entry_id == entry
    assert len(old.asked) == asked
    assert new.asked[-1] == "connections idle"
    second.close()
