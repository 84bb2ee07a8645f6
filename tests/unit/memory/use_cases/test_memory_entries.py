"""Adding and correcting entries."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memory_calls import Calls, WordEmbedder

IDLE = "The gateway closes idle connections after {} s; keep the pool's timeout below that."


def supersede(memory: Calls, new: str, old: str) -> None:
    memory("rekall_link", source_id=new, target_id=old, relation_type="supersedes")


@pytest.fixture(params=["words", "vectors"])
def calls(request: pytest.FixtureRequest, tmp_path: Path, url: str) -> Iterator[Calls]:
    """Memory on both databases, by words alone and with vectors."""
    made = Calls(tmp_path, embedder=WordEmbedder() if request.param == "vectors" else None, url=url)
    yield made
    made.close()


def test_an_update_without_changes_writes_nothing(memory: Calls) -> None:
    id_ = memory.add("Pool size", "Ten is enough.", tags=["db"], project="shop")
    before = memory("rekall_show", id=id_)
    same = {
        "title": "Pool size",
        "content": "Ten is enough.",
        "tags": ["db"],
        "project": "shop",
        "status": "active",
        "confidence": 3,
    }
    done = memory("memory_update", id=id_, **same)
    assert (done["changed"], done["revisions"]) == ([], 0)
    assert memory("rekall_show", id=id_)["updated_at"] == before["updated_at"]


def test_an_update_names_only_changed_fields(memory: Calls) -> None:
    id_ = memory.add("Pool size", "Ten is enough.")
    done = memory("memory_update", id=id_, title="Pool size", content="Twelve.", tags=[])
    assert (done["changed"], done["revisions"]) == (["content"], 1)
    assert done["entry"]["title"] == "Pool size"


def test_adding_a_superseded_text_again_warns_and_names_the_successor(memory: Calls) -> None:
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


def test_adding_an_obsolete_text_again_warns(memory: Calls) -> None:
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
def test_a_blank_title_is_refused_and_nothing_is_saved(memory: Calls, title: str) -> None:
    error = memory.error("rekall_add", type="bug", title=title, content="text")
    assert (error.code.name, error.details["field"]) == ("INVALID_ARGUMENT", "title")
    assert error.hint
    assert memory("memory_list")["total"] == 0
    kept = memory.add("A title", "text")
    assert memory.error("memory_update", id=kept, title=title).code.name == "INVALID_ARGUMENT"
    assert memory("rekall_show", id=kept)["title"] == "A title"
