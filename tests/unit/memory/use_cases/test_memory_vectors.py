"""Filling in missing vectors."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from commonplace.kernel.errors import CommonplaceError
from memory_calls import Calls, WordEmbedder

TEXT = "The gateway closes idle connections after thirty seconds."


async def background_fill() -> int:
    """Wait for the task that fills in missing vectors."""
    [task] = [task for task in asyncio.all_tasks() if task.get_name() == "memory-vectors"]
    return int(await task)


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


def test_missing_vectors_of_every_tenant_are_filled_on_demand(tmp_path: Path) -> None:
    embedder = WordEmbedder(state="failed: no file")  # nothing is filled in the background
    memory = Calls(tmp_path, embedder=embedder)
    memory("rekall_add", tenant="a", type="bug", title="Idle connections", content=TEXT)
    memory("rekall_add", tenant="b", type="bug", title="Lunch menu", content="soup on friday")
    embedder.state = "loading"
    with pytest.raises(CommonplaceError) as raised:
        memory.run(memory.service.embed_missing())
    assert (raised.value.code.name, raised.value.retryable) == ("MODEL_NOT_AVAILABLE", True)
    embedder.state = "ready"
    assert memory.run(memory.service.prepare(0)) == ""
    assert memory.run(memory.service.embed_missing()) == 2
    assert memory.run(memory.service.embed_missing()) == 0
    memory.close()
