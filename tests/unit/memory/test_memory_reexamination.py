"""What an edit, a successor or a repeated add means for suggestions, links and entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_calls import Calls, WordEmbedder

IDLE = "The gateway closes idle connections after {} s; keep the pool's timeout below that."


def pairs(memory: Calls) -> list[dict[str, Any]]:
    suggestions: list[dict[str, Any]] = memory("rekall_suggest_links", limit=50)["suggestions"]
    return suggestions


def supersede(memory: Calls, new: str, old: str) -> None:
    memory("rekall_link", source_id=new, target_id=old, relation_type="supersedes")


@pytest.fixture(params=["words", "vectors"])
def calls(request: pytest.FixtureRequest, tmp_path: Path, url: str) -> Iterator[Calls]:
    """Memory on both databases, by words alone and with vectors."""
    made = Calls(tmp_path, embedder=WordEmbedder() if request.param == "vectors" else None, url=url)
    yield made
    made.close()


def test_an_edit_turns_a_suggested_link_into_a_contradiction_under_its_id(calls: Calls) -> None:
    calls.add("Idle connections", IDLE.format(30))
    second = calls.add("Idle connections again", IDLE.format(30) + " Seen twice.")
    [before] = pairs(calls)
    assert before["suggestion_type"] == "link"
    calls("memory_update", id=second, content=IDLE.format(90) + " Seen twice.")
    [after] = pairs(calls)
    assert (after["id"], after["suggestion_type"]) == (before["id"], "contradiction")
    assert "30" in after["reason"]
    assert "90" in after["reason"]
    calls("memory_update", id=second, content=IDLE.format(30) + " Seen twice.")
    [back] = pairs(calls)
    assert (back["id"], back["suggestion_type"]) == (before["id"], "link")


def test_an_edit_withdraws_what_no_longer_holds_and_it_may_come_again(calls: Calls) -> None:
    first = calls.add("Idle connections", IDLE.format(30))
    calls.add("Idle connections again", IDLE.format(30) + " Seen twice.")
    assert len(pairs(calls)) == 1
    calls(
        "memory_update",
        id=first,
        title="Release notes",
        content="Write them in the imperative, one line for each change.",
    )
    assert calls("rekall_suggest_links") == {"suggestions": [], "total_pending": 0}
    calls("memory_update", id=first, title="Idle connections", content=IDLE.format(30))
    assert len(pairs(calls)) == 1


def test_an_edit_that_makes_entries_alike_suggests_a_link(calls: Calls) -> None:
    calls.add("Idle connections", IDLE.format(30))
    second = calls.add("Release notes", "Write them in the imperative, one line for each change.")
    assert pairs(calls) == []
    calls(
        "memory_update",
        id=second,
        title="Idle connections again",
        content=IDLE.format(30) + " Seen twice.",
    )
    assert [pair["suggestion_type"] for pair in pairs(calls)] == ["link"]


def test_an_edit_is_a_reason_to_ask_again_about_an_accepted_link(calls: Calls) -> None:
    calls.add("Idle connections", IDLE.format(30))
    second = calls.add("Idle connections again", IDLE.format(30) + " Seen twice.")
    calls("rekall_accept_suggestion", suggestion_id=pairs(calls)[0]["id"])
    calls("memory_update", id=second, content=IDLE.format(90) + " Seen twice.")
    [pair] = pairs(calls)
    assert pair["suggestion_type"] == "contradiction"
    calls("rekall_accept_suggestion", suggestion_id=pair["id"])
    assert pairs(calls) == []
    relations = {
        link["relation_type"] for link in calls("rekall_show", id=second)["links"]["outgoing"]
    }
    assert relations == {"related", "contradicts"}


def test_a_rejected_pair_stays_rejected_after_an_edit(calls: Calls) -> None:
    calls.add("Idle connections", IDLE.format(30))
    second = calls.add("Idle connections again", IDLE.format(30) + " Seen twice.")
    calls("rekall_reject_suggestion", suggestion_id=pairs(calls)[0]["id"])
    calls("memory_update", id=second, content=IDLE.format(90) + " Seen twice.")
    assert calls("rekall_suggest_links") == {"suggestions": [], "total_pending": 0}


def test_a_cluster_loses_its_reason_with_a_member_that_says_something_else(memory: Calls) -> None:
    ids = [
        memory.add(f"Idle connections {word}", IDLE.format(30) + f" {word}.")
        for word in ("first", "second", "third")
    ]
    assert memory("rekall_suggest_generalize")["total_pending"] == 1
    memory(
        "memory_update", id=ids[2], title="Release notes", content="Write them in the imperative."
    )
    assert memory("rekall_suggest_generalize")["total_pending"] == 0
    memory(
        "memory_update",
        id=ids[2],
        title="Idle connections third",
        content=IDLE.format(30) + " third.",
    )
    assert memory("rekall_suggest_generalize")["total_pending"] == 1


def test_a_small_edit_keeps_a_cluster(memory: Calls) -> None:
    ids = [
        memory.add(f"Idle connections {word}", IDLE.format(30) + f" {word}.")
        for word in ("first", "second", "third")
    ]
    [before] = memory("rekall_suggest_generalize")["suggestions"]
    memory("memory_update", id=ids[2], content=IDLE.format(30) + " third time.")
    assert [s["id"] for s in memory("rekall_suggest_generalize")["suggestions"]] == [before["id"]]


def test_a_contradiction_with_an_obsolete_entry_waits_until_it_is_active_again(
    memory: Calls,
) -> None:
    first = memory.add("Idle connections", IDLE.format(30))
    memory.add("Idle connections again", IDLE.format(90))
    assert [pair["suggestion_type"] for pair in pairs(memory)] == ["contradiction"]
    memory("memory_update", id=first, status="obsolete")
    assert pairs(memory) == []
    memory("memory_update", id=first, status="active")
    assert len(pairs(memory)) == 1


def test_the_successor_that_is_named_is_the_one_that_holds(memory: Calls) -> None:
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


def test_no_successor_is_named_where_none_holds(memory: Calls) -> None:
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


def test_adding_a_superseded_text_again_warns_and_names_what_holds(memory: Calls) -> None:
    old = memory.add("Idle connections", IDLE.format(30))
    new = memory.add("Idle connections of the new gateway", IDLE.format(90))
    supersede(memory, new, old)
    again = memory("rekall_add", type="bug", title="Idle connections", content=IDLE.format(30))
    assert again["created"]
    [warning] = again["warnings"]
    assert old in warning
    assert new in warning
    supersede(memory, new, again["id"])
    assert memory("rekall_show", id=again["id"])["status"] == "obsolete"


def test_adding_a_retired_text_again_warns(memory: Calls) -> None:
    old = memory.add("Idle connections", IDLE.format(30))
    memory("memory_update", id=old, status="obsolete")
    [warning] = memory("rekall_add", type="bug", title="Idle connections", content=IDLE.format(30))[
        "warnings"
    ]
    assert old in warning
    assert "memory_update" in warning


def test_adding_the_same_text_again_keeps_its_new_tags_confidence_and_context(calls: Calls) -> None:
    entry = {"type": "bug", "title": "Idle connections", "content": IDLE.format(30)}
    first = calls("rekall_add", **entry, tags=["pool"], context="A user reported resets.")
    again = calls(
        "rekall_add",
        **entry,
        tags=["pool", "gateway"],
        confidence=5,
        context="It happened to a second zeppelin.",
    )
    assert (again["id"], again["created"]) == (first["id"], False)
    assert set(again["updated_fields"]) == {"tags", "confidence", "context"}
    shown = calls("rekall_show", id=first["id"])
    assert (shown["tags"], shown["confidence"], shown["memory_type"]) == (
        ["pool", "gateway"],
        5,
        "episodic",
    )
    assert [r["id"] for r in calls("rekall_search", query="zeppelin")["results"]] == [first["id"]]
    third = calls("rekall_add", **entry)
    assert "updated_fields" not in third
    assert calls("rekall_show", id=first["id"])["confidence"] == 5


@pytest.mark.parametrize("title", ["", "  \n\t", "\x00"])
def test_a_blank_title_is_refused_and_nothing_is_kept(memory: Calls, title: str) -> None:
    error = memory.error("rekall_add", type="bug", title=title, content="text")
    assert (error.code.name, error.details["field"]) == ("INVALID_ARGUMENT", "title")
    assert error.hint
    assert memory("memory_list")["total"] == 0
    kept = memory.add("A title", "text")
    assert memory.error("memory_update", id=kept, title=title).code.name == "INVALID_ARGUMENT"
    assert memory("rekall_show", id=kept)["title"] == "A title"
