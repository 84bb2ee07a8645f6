"""References to entries and their successors."""

from __future__ import annotations

import pytest

from memory_calls import Calls


def supersede(memory: Calls, new: str, old: str) -> None:
    memory("rekall_link", source_id=new, target_id=old, relation_type="supersedes")


IDLE = "The gateway closes idle connections after {} s; keep the pool's timeout below that."


@pytest.mark.parametrize("reference", ["nope12345", "x", "not an id"])
def test_an_unknown_id_is_quoted_as_the_caller_wrote_it(memory: Calls, reference: str) -> None:
    error = memory.error("rekall_show", id=reference)
    assert error.code.name == "ENTRY_NOT_FOUND"
    assert f"'{reference}'" in error.message
    assert error.details["id"] == reference


def test_the_named_successor_is_the_active_one(memory: Calls) -> None:
    first, second, third = (
        memory.add(f"Way number {n}", f"The way {n} to deploy") for n in range(3)
    )
    supersede(memory, second, first)
    supersede(memory, third, second)
    shown = memory("rekall_show", id=first)
    assert shown["superseded_by"]["id"] == third
    assert third in shown["hint"]
    found = {
        r["id"]: r for r in memory("rekall_search", query="the way to deploy", limit=10)["results"]
    }
    assert found[first]["superseded_by"]["id"] == found[second]["superseded_by"]["id"] == third


def test_no_successor_is_named_if_none_is_active(memory: Calls) -> None:
    first, second = (memory.add(f"Way number {n}", f"The way {n} to deploy") for n in range(2))
    supersede(memory, second, first)
    memory("memory_update", id=second, status="obsolete")
    shown = memory("rekall_show", id=first)
    assert "superseded_by" not in shown
    assert "so is its successor" in shown["hint"]


def test_a_successor_settles_the_contradiction_of_the_pair(memory: Calls) -> None:
    old = memory.add("Idle connections", IDLE.format(30))
    new = memory.add("Idle connections again", IDLE.format(90))
    memory("rekall_link", source_id=new, target_id=old, relation_type="contradicts")
    assert memory("rekall_search", query="idle connections")["results"][0]["contradicts"]
    supersede(memory, new, old)
    for result in memory("rekall_search", query="idle connections")["results"]:
        assert "contradicts" not in result
    for id_, side in ((old, "incoming"), (new, "outgoing")):
        links = memory("rekall_show", id=id_)["links"][side]
        assert [link["relation_type"] for link in links] == ["supersedes"]
    assert [link["relation_type"] for link in memory("memory_related", id=old)["links"]] == [
        "supersedes"
    ]
    memory("memory_update", id=old, status="active")
    assert all(
        result["contradicts"]
        for result in memory("rekall_search", query="idle connections")["results"]
    )
