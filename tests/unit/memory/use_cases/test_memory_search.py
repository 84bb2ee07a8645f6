"""Filters, totals and contradictions in a search."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.formats.batch import EntryBuilder
from commonplace.memory.model import Entry
from memory_calls import Calls


def keep(memory: Calls, entries: Iterable[Entry]) -> None:
    kept = list(entries)
    memory.run(memory.service.store.add_all(LOCAL_TENANT, kept, [], {}))
    memory.run(
        memory.service.index.embed(LOCAL_TENANT, kept)
    )  # without suggestions, which take long


def maker(memory: Calls) -> EntryBuilder:
    return EntryBuilder(memory.service.new_id, memory.clock())


def test_a_type_is_found_behind_any_number_of_better_matches_of_another(memory: Calls) -> None:
    make = maker(memory)
    better = [
        make.entry(f"wombat wombat wombat {n}", "", type_="bug", project="A") for n in range(2_300)
    ]
    only = make.entry(
        "A setting",
        "Of all the many settings of this house one concerns the wombat.",
        type_="config",
        project="B",
    )
    keep(memory, [*better, only])
    found = memory("rekall_search", query="wombat", type="config")
    assert ([result["id"] for result in found["results"]], found["total"]) == ([only.id], 1)


def test_a_type_is_found_by_meaning_behind_any_number_of_nearer_entries(
    embedding_memory: Calls,
) -> None:
    make = maker(embedding_memory)
    nearer = [
        make.entry(f"wombat wombat wombat {n}", "", type_="bug", project="A") for n in range(500)
    ]
    only = make.entry("Unrelated words", "altogether", type_="config", project="B")
    keep(embedding_memory, [*nearer, only])
    found = embedding_memory("rekall_search", query="wombat", type="config")
    assert found["mode"] == "hybrid"
    assert ([result["id"] for result in found["results"]], found["total"]) == ([only.id], 1)


@pytest.mark.parametrize(("matching", "total"), [(30, 30), (60, 50), (131, 50)])
def test_the_total_does_not_depend_on_the_limit(memory: Calls, matching: int, total: int) -> None:
    make = maker(memory)
    keep(memory, [make.entry(f"Wombat number {n}", "", type_="bug") for n in range(matching)])
    assert {
        memory("rekall_search", query="wombat", limit=limit)["total"] for limit in (1, 10, 20)
    } == {total}


def test_the_total_does_not_depend_on_the_limit_with_vectors(
    embedding_memory: Calls,
) -> None:
    make = maker(embedding_memory)
    keep(embedding_memory, [make.entry(f"Wombat number {n}", "", type_="bug") for n in range(131)])
    answers = [
        embedding_memory("rekall_search", query="wombat", limit=limit) for limit in (1, 10, 20)
    ]
    assert {(answer["mode"], answer["total"]) for answer in answers} == {("hybrid", 50)}


@pytest.mark.parametrize("written", ["web  app", " web app\n", "web app"])
def test_a_project_filter_is_normalised(memory: Calls, written: str) -> None:
    memory.add("Safari drops the header", project=written, tags=["http  header"])
    memory.add("Safari drops the cookie", project="another")
    for project in (written, "web app"):
        assert memory("rekall_search", query="safari", project=project)["total"] == 1
        assert memory("memory_list", project=project)["total"] == 1
    assert (
        memory("memory_list", tag="http  header")["total"]
        == memory("memory_list", tag="http header")["total"]
        == 1
    )


def test_a_blank_project_filters_nothing(memory: Calls) -> None:
    memory.add("Safari drops the header", project="web app")
    memory.add("Safari drops the cookie")
    assert memory("rekall_search", query="safari", project="")["total"] == 2
    assert memory("memory_list", project=" ", tag="")["total"] == 2


def test_a_result_names_active_contradicting_entries(memory: Calls) -> None:
    first, second = memory.add("Retry the webhook twice"), memory.add("Never repeat a delivery")
    memory("rekall_link", source_id=first, target_id=second, relation_type="contradicts")
    memory("rekall_link", source_id=second, target_id=first, relation_type="contradicts")
    assert memory("rekall_search", query="webhook")["results"][0]["contradicts"] == [second]
    memory("memory_delete", id=second)
    assert "contradicts" not in memory("rekall_search", query="webhook")["results"][0]
