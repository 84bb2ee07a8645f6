"""Maintenance changes only what it is asked to change, and usage reports are kept."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from commonplace.kernel.auth import AuthContext, Scope, Tenant
from commonplace.kernel.errors import Kind


def criteria(name: str) -> str:
    rule = {"id": name, "pattern": "zebra", "severity": "high", "description": "No zebras."}
    return json.dumps({"version": "1", "categories": [{"id": "c", "rules": [rule]}]})


def test_prompt_criteria_are_found_in_docs_then_the_instruction_folder_then_the_data_folder(
    folder_desks: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    (work / "docs").mkdir(parents=True)
    monkeypatch.chdir(work)
    desk = folder_desks()
    assert desk.call("prompt/review", prompt="zebra")["issues"] == []
    found = []
    for path in (desk.data, desk.folder, work / "docs"):
        path.mkdir(exist_ok=True)
        (path / "PROMPT-CRITERIA.json").write_text(criteria(path.name))
        found.append(desk.call("prompt/review", prompt="a Zebra")["issues"][0]["ruleId"])
    assert found == [desk.data.name, "instructions", "docs"]


def track(desk: Any, **metrics: Any) -> Any:
    context = {
        "userId": "ann",
        "workspaceId": "w1",
        "sessionId": "s-1",
        "timestamp": "2025-09-01T12:00:00Z",
    }
    return desk.call("usage/track", instructionId="a", context=context, metrics=metrics)


def test_usage_sums_context_and_metrics(desk: Any, desks: Callable[..., Any]) -> None:
    desk.add("a")
    assert track(desk, executionTime=10, success=True) == {
        "tracked": True,
        "sessionId": "s-1",
        "aggregatedCount": 1,
    }
    track(desk, executionTime=30.5, success=False, errorCode="E_TIMEOUT")
    desk.call("usage/track", id="a")
    for reader in (desk, desks()):
        told = reader.do("inspect", scope="usage", id="a")["data"]["raw"]["a"]
        assert told["usageCount"] == 3
        assert told["metrics"] == {
            "successes": 1,
            "failures": 1,
            "successRate": 0.5,
            "executionTime": {"count": 2, "mean": 20.25, "max": 30.5},
            "errorCodes": {"E_TIMEOUT": 1},
        }
        assert told["contexts"] == {
            "users": 1,
            "workspaces": 1,
            "sessions": 1,
            "lastTimestamp": "2025-09-01T12:00:00Z",
        }
    stored = desk.files.usage()["a"]
    assert stored["contexts"]["users"] == {"ann": 2}


@pytest.mark.parametrize(
    ("context", "metrics"),
    [
        ({}, {"success": "yes"}),
        ({}, {"success": 1}),
        ({}, {"executionTime": "10"}),
        ({}, {"executionTime": -1}),
        ({}, {"executionTime": float("nan")}),
        ({}, {"errorCode": 5}),
        ({"timestamp": "yesterday"}, {}),
        ({"userId": 7}, {}),
    ],
)
def test_usage_rejects_invalid_metrics(
    desk: Any, context: dict[str, Any], metrics: dict[str, Any]
) -> None:
    desk.add("a")
    error = desk.error("usage/track", instructionId="a", context=context, metrics=metrics)
    assert error.code.kind is Kind.INVALID_ARGUMENT
    assert desk.call("usage/hotset")["items"] == []


def test_groom_without_a_mode_keeps_scopes_and_unreadable_values(desk: Any) -> None:
    desk.file(
        "a.json",
        {
            "id": "a",
            "body": "A",
            "categories": ["B", "scope:workspace:W1", "a"],
            "sourceHash": "0" * 64,
        },
    )
    desk.file(
        "b.json",
        {
            "id": "b",
            "body": "B",
            "priority": "high",
            "categories": "x,y",
            "status": "soonish",
            "sourceHash": "0" * 64,
        },
    )
    answer = desk.do("groom")
    assert (answer["purgedScopes"], answer["normalizedCategories"], answer["repairedHashes"]) == (
        0,
        1,
        2,
    )
    assert desk.stored("a")["categories"] == ["a", "b", "scope:workspace:W1"]
    kept = desk.stored("b")
    assert (kept["priority"], kept["categories"], kept["status"]) == ("high", "x,y", "soonish")
    assert kept["sourceHash"] == desk.do("get", id="b")["item"]["sourceHash"]
    assert [note for note in answer["notes"] if note.startswith("left-as-written:b:")]
    assert desk.do("get", id="a")["item"]["workspaceId"] == "w1"
    assert desk.do("groom")["filesRewritten"] == 0
    purged = desk.do("groom", mode={"purgeLegacyScopes": True})
    assert purged["purgedScopes"] == 1
    assert (desk.stored("a")["categories"], desk.stored("a")["workspaceId"]) == (["a", "b"], "w1")


def test_groom_with_update_hashes_off_leaves_hashes_alone(desk: Any) -> None:
    desk.file("a.json", {"id": "a", "body": "A", "categories": ["B", "a"], "sourceHash": "0" * 64})
    desk.file("b.json", {"id": "b", "body": "B", "categories": ["a"], "sourceHash": "0" * 64})
    untouched = desk.files.get("b.json")
    answer = desk.do("groom", mode={"updateHashes": False})
    assert (answer["repairedHashes"], answer["normalizedCategories"], answer["filesRewritten"]) == (
        0,
        1,
        1,
    )
    assert (desk.stored("a")["sourceHash"], desk.stored("a")["categories"]) == (
        "0" * 64,
        ["a", "b"],
    )
    assert desk.files.get("b.json") == untouched
    assert desk.call("integrity/verify")["issueCount"] == 2


@pytest.mark.parametrize("action", ["repair", "enrich"])
def test_repair_and_enrich_keep_unreadable_values(desk: Any, action: str) -> None:
    desk.file("b.json", {"id": "b", "body": "B", "priority": "high", "categories": "x,y"})
    desk.do(action)
    assert (desk.stored("b")["priority"], desk.stored("b")["categories"]) == ("high", "x,y")
    assert desk.stored("b")["sourceHash"]


def test_a_dry_run_counts_the_usage_it_would_prune(desk: Any) -> None:
    desk.add("new")
    desk.add("old", "Old", requirement="deprecated", deprecatedBy="new")
    desk.add("needs", "Needs", dependencies=["old"])
    desk.call("usage/track", id="old")
    desk.call("usage/track", id="new")
    mode = {"removeDeprecated": True}
    dry, done = desk.do("groom", mode={**mode, "dryRun": True}), desk.do("groom", mode=mode)
    assert (dry["usagePruned"], done["usagePruned"]) == (1, 1)
    for answer in (dry, done):
        assert "dependents-of-removed:old (replaced by new): needs" in answer["notes"]
    assert dry["notes"][0] == "would-remove:1"


def test_duplicates_of_different_scopes_are_not_merged(desk: Any) -> None:
    desk.add("first", "Same", workspaceId="w1")
    desk.add("second", "Same", workspaceId="w2")
    desk.add("user", "Same", userId="ann")
    desk.add("team", "Same", teamIds=["core"])
    desk.add("all", "Same")
    assert desk.do("groom", mode={"mergeDuplicates": True})["duplicatesMerged"] == 0
    desk.add("again", "Same", workspaceId="w1")
    answer = desk.do("groom", mode={"mergeDuplicates": True})
    assert (answer["duplicatesMerged"], desk.do("get", id="again")["item"]["deprecatedBy"]) == (
        1,
        "first",
    )
    scoped = desk.do("listScoped", workspaceId="w2")
    assert [(item["id"], item["requirement"]) for item in scoped["items"]] == [
        ("second", "optional")
    ]


def test_history_names_the_agent(desks: Callable[..., Any]) -> None:
    desk = desks(agent_id="claude-7")
    desk.add("a")
    desk.do("add", entry={"id": "a", "body": "New"}, overwrite=True)
    desk.do("governanceUpdate", id="a", status="review")
    changes = desk.do("history", id="a")["changes"]
    assert [change["agent"] for change in changes] == ["claude-7"] * 3


@pytest.mark.parametrize("overwritten", [True, False])
def test_restore_recovers_a_file_deleted_by_hand(
    folder_desk: Any, folder_desks: Callable[..., Any], overwritten: bool
) -> None:
    desk = folder_desk
    desk.add("a", "First")
    if overwritten:
        desk.do("add", entry={"id": "a", "body": "Second"}, overwrite=True)
    last = desk.do("get", id="a")["item"]
    (desk.folder / "a.json").unlink()
    restorer = (
        folder_desks() if overwritten else desk
    )  # one that starts later knows it from the history
    assert restorer.do("restore", id="a")["restored"]
    item = desk.do("get", id="a")["item"]
    assert (item["body"], item["version"]) == (last["body"], last["version"])


def test_restore_undoes_an_edit_by_hand(folder_desk: Any) -> None:
    desk = folder_desk
    desk.add("a", "First")
    desk.do("add", entry={"id": "a", "body": "Second"}, overwrite=True)
    desk.file("a.json", {**desk.stored("a"), "body": "By hand"})
    desk.do("restore", id="a")
    assert desk.do("get", id="a")["item"]["body"] == "Second"
    actions = [change["action"] for change in desk.do("history", id="a")["changes"]]
    assert actions == ["restore", "edited by hand", "overwrite", "add"]


def test_a_read_key_may_read_in_a_batch_that_also_writes(desk: Any) -> None:
    desk.add("a")
    reader = AuthContext(Tenant("t"), frozenset({Scope.READ}), "reader")
    operations = [
        {"action": "list"},
        {"action": "add", "entry": {"id": "x", "body": "x"}, "lax": True},
        {"action": "groom"},
        {"action": "groom", "mode": {"dryRun": True}},
        {"action": "get", "id": "a"},
    ]
    results = desk.outcome("instructions/batch", {"operations": operations}, reader).output[
        "results"
    ]
    assert [result.get("error", {}).get("code") for result in results] == [
        None,
        -32004,
        -32004,
        None,
        None,
    ]
    assert desk.do("list")["count"] == 1


def test_without_mutation_nothing_is_written_into_the_folder(
    folder_desks: Callable[..., Any],
) -> None:
    desk, writer = folder_desks(), folder_desks()
    desk.mutation = False
    path = desk.folder / "a.json"
    desk.file("a.json", {"id": "a", "body": "A"})
    assert desk.do("list")["count"] == 1
    desk.do("getEnhanced", id="nothing")
    assert [item.name for item in desk.folder.iterdir()] == ["a.json"]
    writer.add("b")  # a peer that may write tells by the marker and the journal
    assert (desk.folder / ".catalog-version").exists()
    assert desk.do("list")["count"] == 2
    path.write_text(json.dumps({"id": "a", "body": "Another"}))
    (desk.folder / ".catalog-version").unlink()
    assert desk.do("get", id="a")["item"]["body"] == "Another"
    assert not (desk.folder / ".catalog-version").exists()
    (desk.folder / ".catalog-version").write_text("1-from-a-peer")
    path.write_text(json.dumps({"id": "a", "body": "A third"}))
    (desk.folder / ".catalog-version").write_text("2-from-a-peer")
    assert desk.do("get", id="a")["item"]["body"] == "A third"
