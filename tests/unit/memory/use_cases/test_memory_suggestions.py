"""Suggestions when entries come and change."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_calls import Calls, WordEmbedder

TEXT = "The gateway closes idle connections after thirty seconds."


IDLE = "The gateway closes idle connections after {} s; keep the pool's timeout below that."


def pairs(memory: Calls) -> list[dict[str, Any]]:
    suggestions: list[dict[str, Any]] = memory("rekall_suggest_links", limit=50)["suggestions"]
    return suggestions


@pytest.fixture(params=["words", "vectors"])
def calls(request: pytest.FixtureRequest, tmp_path: Path, url: str) -> Iterator[Calls]:
    """Memory on both databases, by words alone and with vectors."""
    made = Calls(tmp_path, embedder=WordEmbedder() if request.param == "vectors" else None, url=url)
    yield made
    made.close()


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


def test_only_near_entries_are_reported_as_similar(embedding_memory: Calls) -> None:
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


def test_three_episodes_are_one_cluster_by_cosine(embedding_memory: Calls) -> None:
    for n in range(3):
        embedding_memory.add(
            f"Deploy failed, case {n}",
            "The deploy failed: disk full on the build runner, docker cache cleared.",
        )
    [cluster] = embedding_memory("rekall_suggest_generalize")["suggestions"]
    assert len(cluster["entries"]) == 3
    assert cluster["score"] >= 0.8


def test_an_edit_turns_a_duplicate_into_a_contradiction_under_its_id(
    calls: Calls,
) -> None:
    calls.add("Idle connections", IDLE.format(30))
    second = calls.add("Idle connections again", IDLE.format(30) + " Seen twice.")
    [before] = pairs(calls)
    assert before["suggestion_type"] == "duplicate"
    calls("memory_update", id=second, content=IDLE.format(90) + " Seen twice.")
    [after] = pairs(calls)
    assert (after["id"], after["suggestion_type"]) == (before["id"], "contradiction")
    assert "30" in after["reason"]
    assert "90" in after["reason"]
    calls("memory_update", id=second, content=IDLE.format(30) + " Seen twice.")
    [back] = pairs(calls)
    assert (back["id"], back["suggestion_type"]) == (before["id"], "duplicate")


def test_an_edit_withdraws_a_suggestion_that_may_return(calls: Calls) -> None:
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


def test_an_edit_that_makes_entries_alike_suggests_a_duplicate(calls: Calls) -> None:
    calls.add("Idle connections", IDLE.format(30))
    second = calls.add("Release notes", "Write them in the imperative, one line for each change.")
    assert pairs(calls) == []
    calls(
        "memory_update",
        id=second,
        title="Idle connections again",
        content=IDLE.format(30) + " Seen twice.",
    )
    assert [pair["suggestion_type"] for pair in pairs(calls)] == ["duplicate"]


def test_an_edit_may_suggest_a_contradiction_of_an_accepted_link(calls: Calls) -> None:
    calls.add("Idle connections", IDLE.format(30), type="pattern")
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


def test_a_cluster_is_withdrawn_when_a_member_changes_its_subject(memory: Calls) -> None:
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


def test_a_contradiction_of_an_obsolete_entry_is_hidden_until_it_is_active(
    memory: Calls,
) -> None:
    first = memory.add("Idle connections", IDLE.format(30))
    memory.add("Idle connections again", IDLE.format(90))
    assert [pair["suggestion_type"] for pair in pairs(memory)] == ["contradiction"]
    memory("memory_update", id=first, status="obsolete")
    assert pairs(memory) == []
    memory("memory_update", id=first, status="active")
    assert len(pairs(memory)) == 1
