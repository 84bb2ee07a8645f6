"""What leaves the catalogue can be listed and brought back, on both stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson
import pytest

from commonplace.dispatch.call import to_json
from commonplace.kernel.auth import AuthContext, Scope, Tenant, scopes_up_to


def ask(desk: Any, who: AuthContext, tool: str, **arguments: Any) -> Any:
    outcome = desk.outcome(tool, arguments, who)
    if outcome.error is not None:
        raise outcome.error
    return orjson.loads(orjson.dumps(to_json(outcome.output)))


def key(tenant: str, scope: Scope = Scope.WRITE) -> AuthContext:
    return AuthContext(Tenant(tenant), scopes_up_to(scope), f"{tenant}-key")


def test_a_dry_run_removes_nothing_and_says_what_it_would_remove(desk: Any) -> None:
    desk.add("a")
    desk.add("b", dependencies=["a"])
    told = desk.do("remove", ids=["a", "none"], cascade=True, dryRun=True)
    assert told["dryRun"]
    assert (told["removed"], told["removedIds"], told["wouldRemove"]) == (0, [], ["a"])
    assert (told["cascadeRemovals"], told["missing"]) == (["b"], ["none"])
    assert desk.do("list")["count"] == 2
    many = [f"none-{number}" for number in range(20)]
    assert len(desk.do("remove", ids=many, dryRun=True)["missing"]) == 20


def test_removed_instructions_are_listed_and_restored(desk: Any) -> None:
    for id_ in ("one", "two", "three"):
        desk.add(id_, f"Body of {id_}.", title=f"Title of {id_}")
    desk.do("remove", ids=["two"])
    desk.do("remove", ids=["one"])
    told = desk.call("instructions_removed")
    assert [item["id"] for item in told["items"]] == ["one", "two"]
    assert told["items"][0]["title"] == "Title of one"
    assert told["items"][0]["action"] == "remove"
    assert desk.call("instructions_removed", limit=1, offset=1)["items"][0]["id"] == "two"
    restored = desk.call("instructions_restore", id="one")
    assert restored["restored"]
    assert desk.do("get", id="one")["item"]["body"] == "Body of one."
    assert desk.call("instructions_removed")["count"] == 1


def test_removed_instructions_are_those_of_the_tenant(desk: Any) -> None:
    mine, theirs = key("mine"), key("theirs")
    for who, id_ in ((mine, "a"), (theirs, "b")):
        ask(desk, who, "instructions_add", entry={"id": id_, "body": "x"}, lax=True)
        ask(desk, who, "instructions_remove", ids=[id_])
    seen = [item["id"] for item in ask(desk, mine, "instructions_removed")["items"]]
    assert seen == ["a"]
    assert ask(desk, key("any", Scope.ADMIN), "instructions_removed")["count"] == 2


def test_an_archived_instruction_is_out_of_everything_but_kept(desk: Any) -> None:
    desk.add("kept", "Everybody needs this.", categories=["c"])
    hash_before = desk.do("list")["hash"]
    desk.add("old", "Nobody needs zebras.", categories=["zoo"])
    told = desk.call("instructions_archive", ids=["old", "none"])
    assert told["archived"] == ["old"]
    assert told["unchanged"] == [{"id": "none", "reason": "there is no such instruction"}]
    assert told["hash"] == hash_before
    assert desk.do("list")["count"] == 1
    assert desk.do("search", q="zebras")["count"] == 0
    assert "zoo" not in str(desk.do("categories"))
    assert "old" not in str(desk.call("graph/export")["nodes"])
    missing = desk.do("get", id="old")
    assert (missing["notFound"], missing["archived"]) == (True, True)
    assert desk.do("get", id="old", archived=True)["item"]["body"] == "Nobody needs zebras."
    listed = desk.call("instructions_removed", kind="archived")
    assert [item["id"] for item in listed["items"]] == ["old"]
    assert desk.stored("old")["archivedAt"] == listed["items"][0]["at"]
    assert desk.call("instructions_removed")["count"] == 0

    again = desk.call("instructions_archive", ids=["old"])
    assert again["unchanged"][0]["reason"] == "it is archived already"
    back = desk.call("instructions_archive", ids=["old"], restore=True)
    assert back["restored"] == ["old"]
    assert desk.do("search", q="zebras")["count"] == 1
    assert "archivedAt" not in desk.stored("old")
    actions = [
        change["action"] for change in desk.call("instructions_history", id="old")["changes"]
    ]
    assert actions == ["unarchive", "archive", "add"]


def test_an_archived_instruction_is_not_overwritten_but_can_be_removed(desk: Any) -> None:
    desk.add("old", "Text.")
    desk.call("instructions_archive", ids=["old"])
    for overwrite in (False, True):
        entry = {"id": "old", "body": "Another."}
        refused = desk.do("add", entry=entry, lax=True, overwrite=overwrite)
        assert refused["error"] == "archived"
        assert "restore: true" in refused["feedbackHint"]
    imported = desk.do("import", entries=[{"id": "old", "body": "x"}], mode="overwrite")
    assert imported["errors"][0]["error"].startswith("archived")
    assert desk.stored("old")["body"] == "Text."
    undone = desk.call("instructions_restore", id="old")
    assert undone["restored"]
    assert desk.do("get", id="old")["item"]["body"] == "Text."
    desk.call("instructions_archive", ids=["old"])
    assert desk.do("remove", ids=["old"])["removed"] == 1
    assert desk.call("instructions_removed", kind="archived")["count"] == 0
    assert desk.call("instructions_removed")["count"] == 1


def test_an_archive_survives_a_restart_and_other_processes(desks: Callable[..., Any]) -> None:
    one, two = desks(), desks()
    one.add("old", "Text.")
    assert two.do("list")["count"] == 1
    one.call("instructions_archive", ids=["old"])
    assert two.do("list")["count"] == 0
    fresh = desks()
    assert fresh.do("list")["count"] == 0
    assert fresh.call("instructions_removed", kind="archived")["count"] == 1
    fresh.call("instructions_archive", ids=["old"], restore=True)
    assert [one.do("list")["count"], two.do("list")["count"]] == [1, 1]


def test_a_bulk_removal_is_saved_first_and_can_be_taken_back(desk: Any) -> None:
    ids = [f"rule-{number:02}" for number in range(12)]
    for id_ in ids:
        desk.add(id_, f"Body of {id_}. \u00e4\u2028", priority=7)
    stored = {id_: desk.files.get(f"{id_}.json") for id_ in ids}
    told = desk.do("remove", ids=ids, confirm=True)
    assert told["removed"] == 12
    name = told["backup"]
    backups = desk.call("instructions_removed", kind="backups")
    assert [(item["backup"], item["count"]) for item in backups["items"]] == [(name, 12)]
    desk.add("rule-00", "Written again meanwhile.")
    back = desk.call("instructions_restore", backup=name)
    assert len(back["ids"]) == 11
    assert (back["present"], back["errors"]) == (["rule-00"], [])
    for id_ in ids[1:]:
        assert desk.files.get(f"{id_}.json") == stored[id_]
    assert desk.do("get", id="rule-00")["item"]["body"] == "Written again meanwhile."
    assert desk.call("instructions_restore", backup=name)["ids"] == []
    error = desk.error("instructions_restore", backup="../../etc/passwd")
    assert error.code.name == "BACKUP_NOT_FOUND"
    few = desk.do("remove", ids=ids[:3])
    assert "backup" not in few


def test_grooming_away_many_instructions_is_saved_first(desk: Any) -> None:
    desk.add("kept")
    for number in range(11):
        desk.add(
            f"gone-{number:02}", f"Text {number}.", requirement="deprecated", deprecatedBy="kept"
        )
    told = desk.do("groom", mode={"removeDeprecated": True})
    assert told["deprecatedRemoved"] == 11
    (note,) = [note for note in told["notes"] if note.startswith("backup:")]
    back = desk.call("instructions_restore", backup=note.removeprefix("backup:"))
    assert len(back["ids"]) == 11


def test_only_the_newest_backups_are_kept(desk: Any) -> None:
    ids = [f"rule-{number:02}" for number in range(11)]
    entries = [{"id": id_, "body": "x"} for id_ in ids]
    for _ in range(22):
        desk.do("import", entries=entries, mode="overwrite")
        desk.do("remove", ids=ids, confirm=True)
    assert desk.call("instructions_removed", kind="backups")["count"] == 20


def test_backups_are_those_of_the_tenant_and_hide_restricted_ones(
    desks: Callable[..., Any],
) -> None:
    desk = desks(governance={"restrict_reads": True})
    ids = [f"rule-{number:02}" for number in range(11)]
    insider = AuthContext(
        Tenant("mine"), scopes_up_to(Scope.WRITE), "in", may_read=frozenset({"restricted"})
    )
    entries = [{"id": id_, "body": "x", "classification": "restricted"} for id_ in ids]
    ask(desk, insider, "instructions_import", entries=entries, mode="overwrite")
    ask(desk, insider, "instructions_remove", ids=ids, confirm=True)
    for who, seen in ((insider, 1), (key("mine"), 0), (key("theirs"), 0)):
        told = ask(desk, who, "instructions_removed", kind="backups")
        assert told["count"] == seen, who
    assert ask(desk, key("mine"), "instructions_removed")["count"] == 0


@pytest.mark.parametrize("kind", ["removed", "archived", "backups"])
def test_an_empty_catalogue_has_nothing_to_bring_back(desk: Any, kind: str) -> None:
    assert desk.call("instructions_removed", kind=kind) == {"kind": kind, "count": 0, "items": []}
