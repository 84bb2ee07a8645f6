"""Entries of many projects that say the same do not hide what contradicts one of them."""

from __future__ import annotations

from memory_calls import Calls

OTHERS = 14  # more than the neighbours that are read


def find_opposed(memory: Calls) -> list[str]:
    """Return what a new entry contradicts, in a project beside many with the same text."""
    same = {"type": "config", "title": "Node version", "content": "CI builds with Node 20."}
    for number in range(OTHERS):
        memory("rekall_add", **same, project=f"p{number}")
    old = memory.add("Node version in CI", "CI builds with Node 18.", type="config", project="a")
    added = memory("rekall_add", **same, project="a")
    assert [found["id"] for found in added.get("contradicts", [])] in ([], [old])
    return [found["id"] for found in added.get("contradicts", [])]


def test_a_contradiction_in_the_own_project_is_found_by_words(memory: Calls) -> None:
    assert len(find_opposed(memory)) == 1


def test_a_contradiction_in_the_own_project_is_found_by_vectors(embedding_memory: Calls) -> None:
    assert len(find_opposed(embedding_memory)) == 1


def test_entries_without_a_project_are_one_project(memory: Calls) -> None:
    for number in range(OTHERS):
        memory.add("Node version", "CI builds with Node 20.", project=f"p{number}")
    old = memory.add("Node version in CI", "CI builds with Node 18.")
    added = memory(
        "rekall_add", type="bug", title="Node version", content="CI builds with Node 20."
    )
    assert [found["id"] for found in added["contradicts"]] == [old]
