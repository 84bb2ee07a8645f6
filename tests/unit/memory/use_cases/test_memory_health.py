"""The checks of doctor."""

from __future__ import annotations

from pathlib import Path

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.engine.documents import partition
from memory_calls import Calls, WordEmbedder

TEXT = "The gateway closes idle connections after thirty seconds."


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


def test_doctor_finds_an_incomplete_index_and_reindex_repairs_it(memory: Calls) -> None:
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
