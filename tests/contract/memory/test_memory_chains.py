"""Chains of superseded entries on both databases: they lead to the entry that holds now."""

from __future__ import annotations

import itertools

import pytest

from memory_calls import Calls

WORDS = ("amber", "basalt", "cobalt", "dolomite", "emerald")


def add_chain(memory: Calls) -> list[str]:
    """Add five entries, each superseded by the next; returns their ids, oldest first."""
    ids = [memory.add(f"About {word}", f"Only {word} {word} is used.") for word in WORDS]
    for old, new in itertools.pairwise(ids):
        supersede(memory, new, old)
    return ids


def supersede(memory: Calls, new: str, old: str) -> None:
    memory("rekall_link", source_id=new, target_id=old, relation_type="supersedes")


def successor(memory: Calls, id_: str) -> str | None:
    """Return what an entry leads to; None if it is active."""
    shown = memory("rekall_show", id=id_)
    assert (shown["status"] == "active") == ("superseded_by" not in shown)
    return shown["superseded_by"]["id"] if "superseded_by" in shown else None


def test_a_chain_whose_middle_is_deleted_leads_to_its_end(memory: Calls) -> None:
    ids = add_chain(memory)
    memory("memory_delete", id=ids[2])
    assert [successor(memory, id_) for id_ in ids if id_ != ids[2]] == [ids[4]] * 3 + [None]
    memory("memory_delete", id=ids[2], restore=True)
    memory("memory_delete", id=ids[3])
    assert [successor(memory, id_) for id_ in ids[:3]] == [ids[4]] * 3
    memory("memory_delete", id=ids[2])
    memory("memory_purge", ids=ids[2:4])
    assert [successor(memory, id_) for id_ in ids[:2]] == [ids[4]] * 2
    memory("memory_delete", id=ids[4])
    assert [successor(memory, id_) for id_ in ids[:2]] == [ids[1], None]
    memory("memory_delete", id=ids[4], restore=True)
    assert [successor(memory, id_) for id_ in ids[:2]] == [ids[4]] * 2


def test_an_entry_that_leads_on_is_not_listed_as_reactivated(memory: Calls) -> None:
    ids = add_chain(memory)
    memory("memory_delete", id=ids[2])
    kinds = [event["kind"] for event in memory("memory_timeline", id=ids[1])["events"]]
    assert "reactivated" not in kinds


def test_an_entry_that_was_reactivated_can_be_superseded_again(memory: Calls) -> None:
    old, new = memory.add("Old way", "Quartz is used."), memory.add("New way", "Topaz is used.")
    supersede(memory, new, old)
    memory("memory_update", id=old, status="active")
    supersede(memory, new, old)
    assert successor(memory, old) == new
    assert len(memory("rekall_show", id=new)["links"]["outgoing"]) == 1
    link = {"source_id": new, "target_id": old, "relation_type": "supersedes"}
    assert memory.error("rekall_link", **link).code.name == "LINK_ALREADY_EXISTS"
    link = {"source_id": old, "target_id": new, "relation_type": "supersedes"}
    assert "cannot supersede each other" in memory.error("rekall_link", **link).message


def test_a_restored_entry_whose_successors_were_deleted_is_active(memory: Calls) -> None:
    ids = add_chain(memory)
    for deleted in ids[2:]:
        memory("memory_delete", id=deleted)
    memory("memory_delete", id=ids[2], restore=True)
    assert [successor(memory, id_) for id_ in ids[:3]] == [ids[2]] * 2 + [None]
    memory("memory_delete", id=ids[4], restore=True)
    memory("memory_delete", id=ids[3], restore=True)
    assert [successor(memory, id_) for id_ in ids] == [ids[4]] * 4 + [None]


@pytest.mark.parametrize(
    ("deleted", "restored"),
    [((4, 3), (3, 4)), ((4, 3), (4, 3)), ((3, 4, 2), (3, 4, 2)), ((4, 3, 2, 0), (0, 2, 3, 4))],
)
def test_a_chain_is_whole_after_its_entries_were_deleted_and_restored(
    memory: Calls, deleted: tuple[int, ...], restored: tuple[int, ...]
) -> None:
    ids = add_chain(memory)
    for number in deleted:
        memory("memory_delete", id=ids[number])
    for number in restored:
        memory("memory_delete", id=ids[number], restore=True)
    assert [successor(memory, id_) for id_ in ids] == [ids[4]] * 4 + [None]


def test_a_restored_entry_is_not_superseded_by_what_it_supersedes_by_now(memory: Calls) -> None:
    first, second, third = add_chain(memory)[:3]
    memory("memory_delete", id=second)  # the first one leads to the end of the chain
    memory("memory_update", id=first, status="active")
    supersede(memory, first, third)
    memory("memory_delete", id=second, restore=True)
    assert successor(memory, third) == first
    assert successor(memory, first) is None
