"""Entries that supersede others."""

from __future__ import annotations

import itertools

import pytest

from memory_calls import Calls


def supersede(memory: Calls, new: str, old: str) -> None:
    memory("rekall_link", source_id=new, target_id=old, relation_type="supersedes")


def status(memory: Calls, id_: str) -> tuple[str, str | None]:
    shown = memory("rekall_show", id=id_)
    return shown["status"], (shown.get("superseded_by") or {}).get("id")


@pytest.mark.parametrize("length", [2, 3, 5])
def test_entries_do_not_supersede_each_other_in_a_circle(memory: Calls, length: int) -> None:
    ids = [memory.add(f"Way number {n}", f"text {n}") for n in range(length)]
    for old, new in itertools.pairwise(ids):
        supersede(memory, new, old)
    error = memory.error(
        "rekall_link", source_id=ids[0], target_id=ids[-1], relation_type="supersedes"
    )
    assert error.code.name == "LINK_ALREADY_EXISTS"
    assert error.hint is not None
    assert status(memory, ids[-1]) == ("active", None)
    assert memory("memory_related", id=ids[-1], depth=1)["links"] == [
        {"source_id": ids[-1], "target_id": ids[-2], "relation_type": "supersedes"}
    ]


def test_a_circle_through_an_earlier_successor_is_refused_too(memory: Calls) -> None:
    old, first, second = (memory.add(f"Way number {n}", f"text {n}") for n in range(3))
    supersede(memory, first, old)
    supersede(memory, second, old)
    error = memory.error("rekall_link", source_id=old, target_id=first, relation_type="supersedes")
    assert error.code.name == "LINK_ALREADY_EXISTS"


def test_a_reactivated_entry_may_supersede_its_successor(memory: Calls) -> None:
    old, new = memory.add("The old way", "text"), memory.add("The new way", "other text")
    supersede(memory, new, old)
    memory("memory_update", id=old, status="active")
    supersede(memory, old, new)
    assert (status(memory, old), status(memory, new)) == (("active", None), ("obsolete", old))


def test_deleting_a_successor_reactivates_what_only_it_superseded(memory: Calls) -> None:
    old, first, second = (memory.add(f"Way number {n}", f"text {n}") for n in range(3))
    supersede(memory, first, old)
    supersede(memory, second, old)
    memory("memory_delete", id=second)
    assert status(memory, old) == ("obsolete", first)
    memory("memory_delete", id=first)
    assert status(memory, old) == ("active", None)


def test_a_restored_successor_supersedes_again(memory: Calls) -> None:
    old, new = memory.add("The old way", "text"), memory.add("The new way", "other text")
    supersede(memory, new, old)
    memory("memory_delete", id=new)
    memory("memory_delete", id=new, restore=True)
    assert status(memory, old) == ("obsolete", new)


def test_a_restored_successor_leaves_changed_entries_alone(memory: Calls) -> None:
    old, new = memory.add("The old way", "text"), memory.add("The new way", "other text")
    supersede(memory, new, old)
    memory("memory_delete", id=new)
    memory("memory_update", id=old, content="still right")
    memory("memory_delete", id=new, restore=True)
    assert status(memory, old) == ("active", None)


def test_deleting_a_successor_makes_no_second_active_entry_with_the_same_text(
    memory: Calls,
) -> None:
    old, new = memory.add("The old way", "text"), memory.add("The new way", "other text")
    supersede(memory, new, old)
    again = memory.add("The old way", "text")
    memory("memory_delete", id=new)
    assert again != old
    assert (status(memory, old)[0], status(memory, again)[0]) == ("obsolete", "active")
