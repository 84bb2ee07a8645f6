"""Maintenance, governance, batches, permissions (docs/reference/contracts/instructions.md)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import pytest
from instruction_promises import promise

from commonplace.kernel.auth import AuthContext, Scope, Tenant
from commonplace.kernel.errors import Kind

WHOLE = {
    "priority": 40,
    "requirement": "optional",
    "categories": ["x"],
    "audience": "all",
    "title": "T",
}


@promise("000-reload-shape")
def test_reload_reads_the_folder_again(desk: Any) -> None:
    desk.add("a")
    desk.file("b.json", {"id": "b", "body": "By hand"})
    answer = desk.do("reload")
    assert answer == {"reloaded": True, "hash": desk.do("list")["hash"], "count": 2}


@promise("000-groom-shape", "000-groom-hashes", "000-groom-dry")
def test_groom_corrects_hashes_and_categories_and_a_dry_run_only_reports(desk: Any) -> None:
    desk.file(
        "a.json", {"id": "a", "body": "A", "sourceHash": "0" * 64, "categories": ["B", "a", "b"]}
    )
    desk.add("fine", categories=["x"])
    fields = {
        "previousHash",
        "hash",
        "scanned",
        "repairedHashes",
        "normalizedCategories",
        "deprecatedRemoved",
        "duplicatesMerged",
    }
    fields |= {"usagePruned", "filesRewritten", "purgedScopes", "dryRun", "notes", "performanceMs"}
    before = desk.files.get("a.json")
    desk.do("reload")
    dry = desk.do("groom", mode={"dryRun": True})
    assert set(dry) == fields
    assert (
        dry["dryRun"],
        dry["filesRewritten"],
        dry["repairedHashes"],
        dry["normalizedCategories"],
    ) == (True, 0, 1, 1)
    assert dry["previousHash"] == dry["hash"]
    assert dry["notes"] == ["would-rewrite:1"]
    assert desk.files.get("a.json") == before
    wet = desk.do("groom")
    assert (
        wet["scanned"],
        wet["repairedHashes"],
        wet["normalizedCategories"],
        wet["filesRewritten"],
    ) == (2, 1, 1, 1)
    assert desk.stored("a")["categories"] == ["a", "b"]
    assert desk.stored("a")["sourceHash"] == hashlib.sha256(b"A").hexdigest()
    idle = desk.do("groom", mode={"normalizeCategories": True, "updateHashes": True})
    assert (idle["filesRewritten"], idle["repairedHashes"], idle["normalizedCategories"]) == (
        0,
        0,
        0,
    )
    assert (
        desk.error("instructions/groom", mode={"everything": True}).code.kind
        is Kind.INVALID_ARGUMENT
    )


@promise("000-groom-merge")
def test_duplicates_merge_into_the_earliest(desk: Any) -> None:
    desk.add(
        "late",
        "Same",
        categories=["b"],
        priority=5,
        createdAt="2025-02-01T00:00:00Z",
        riskScore=300,
    )
    desk.add("early", "Same", categories=["a"], priority=50, createdAt="2025-01-01T00:00:00Z")
    desk.add("same-time", "\nSame\n", categories=["c"], createdAt="2025-01-01T00:00:00Z")
    answer = desk.do("groom", mode={"mergeDuplicates": True})
    assert answer["duplicatesMerged"] == 2
    primary = desk.do("get", id="early")["item"]
    assert (primary["categories"], primary["priority"], primary["riskScore"]) == (
        ["a", "b", "c"],
        5,
        300,
    )
    for other in ("late", "same-time"):
        item = desk.do("get", id=other)["item"]
        assert (item["requirement"], item["deprecatedBy"]) == ("deprecated", "early")
    assert desk.do("groom", mode={"mergeDuplicates": True})["duplicatesMerged"] == 0
    both = desk.do("groom", mode={"mergeDuplicates": True, "removeDeprecated": True})
    assert both["deprecatedRemoved"] == 2
    assert [item["id"] for item in desk.do("list")["items"]] == ["early"]


@promise("000-groom-deprecated")
def test_deprecated_entries_are_removed_only_if_their_replacement_exists(desk: Any) -> None:
    desk.add("new")
    desk.add("old", "Old", requirement="deprecated", deprecatedBy="new")
    desk.add("orphan", "Orphan", requirement="deprecated", deprecatedBy="missing")
    desk.call("usage/track", id="old")
    dry = desk.do("groom", mode={"dryRun": True, "removeDeprecated": True})
    assert (dry["deprecatedRemoved"], dry["notes"]) == (1, ["would-remove:1"])
    answer = desk.do("groom", mode={"removeDeprecated": True})
    assert (answer["deprecatedRemoved"], answer["usagePruned"]) == (1, 1)
    assert [item["id"] for item in desk.do("list")["items"]] == ["new", "orphan"]


@promise("000-groom-scopes")
def test_purging_removes_legacy_scopes_from_files(desk: Any) -> None:
    sound = {"id": "a", "body": "A", "sourceHash": hashlib.sha256(b"A").hexdigest()}
    desk.file("a.json", {**sound, "categories": ["scope:workspace:repo", "x"]})
    kept = desk.do("groom")
    assert (kept["purgedScopes"], kept["filesRewritten"]) == (0, 0)
    assert "scope:workspace:repo" in desk.stored("a")["categories"]
    answer = desk.do("groom", mode={"purgeLegacyScopes": True})
    assert (answer["purgedScopes"], answer["filesRewritten"]) == (1, 1)
    assert desk.stored("a")["categories"] == ["x"]
    assert desk.stored("a")["workspaceId"] == "repo"


@promise("000-repair-hashes", "000-repair-diff")
def test_repair_corrects_hashes_or_compares(desk: Any) -> None:
    desk.file("a.json", {"id": "a", "body": "A", "sourceHash": "0" * 64})
    assert desk.call("integrity/verify")["issueCount"] == 1
    compared = desk.do("repair", clientHash="x", known=[{"id": "gone", "sourceHash": "y"}])
    assert set(compared) == {"hash", "added", "updated", "removed"}
    answer = desk.do("repair")
    assert (answer["repaired"], answer["updated"]) == (1, ["a"])
    assert desk.call("integrity/verify")["issueCount"] == 0
    assert desk.do("repair")["repaired"] == 0


@promise("000-enrich-shape")
def test_enrich_stores_missing_fields(desk: Any) -> None:
    desk.file("a.json", {"id": "a", "body": "First line\nsecond"})
    desk.file("owners.json", {"ownership": [{"pattern": "^b", "owner": "team-b"}]})
    desk.add("b-1")
    assert desk.do("get", id="b-1")["item"]["owner"] == "team-b"
    answer = desk.do("enrich")
    assert (answer["enriched"], answer["updated"]) == (1, ["a"])
    stored = desk.stored("a")
    assert stored["semanticSummary"] == "First line"
    assert stored["priorityTier"] == "P3"
    assert stored["owner"] == "unowned"
    assert stored["changeLog"]
    assert desk.do("enrich")["enriched"] == 0


@promise("000-governance-update", "000-governance-flat")
def test_governance_update_nested_and_flat(desk: Any) -> None:
    desk.add("a", version="1.2.3")
    answer = desk.do(
        "governanceUpdate", id="a", patch={"owner": "ann", "status": "review"}, bump="minor"
    )
    assert (answer["id"], answer["previousVersion"], answer["newVersion"]) == (
        "a",
        "1.2.3",
        "1.3.0",
    )
    item = desk.do("get", id="a")["item"]
    assert (item["owner"], item["status"], item["version"]) == ("ann", "review", "1.3.0")
    assert item["changeLog"][-1]["version"] == "1.3.0"
    flat = desk.call(
        "instructions/governanceUpdate", id="a", owner="bob", nextReviewDue="2030-01-01T00:00:00Z"
    )
    assert (flat["changed"], flat["owner"], flat["previousVersion"], flat["newVersion"]) == (
        True,
        "bob",
        "1.3.0",
        "1.3.0",
    )
    assert desk.do("governanceUpdate", id="a", owner="bob")["changed"] is False
    assert desk.do("governanceUpdate", id="a", bump="major")["newVersion"] == "2.0.0"
    assert desk.do("governanceUpdate", id="a", bump="patch")["newVersion"] == "2.0.1"
    assert desk.do("governanceUpdate", id="nope", owner="x")["notFound"] is True
    for patch in (
        {"status": "great"},
        {"body": "x"},
        {"version": "1.0"},
        {"version": "1.0.0"},
        {"nextReviewDue": "soon"},
        {"owner": ""},
    ):
        assert (
            desk.error("instructions/governanceUpdate", id="a", patch=patch).code.kind
            is Kind.INVALID_DATA
        ), patch


@promise("000-batch-isolated", "000-batch-nested")
def test_batch_keeps_each_failure_in_its_place(desk: Any) -> None:
    operations = [
        {"action": "get", "id": "alpha"},
        {"action": "list"},
        {"action": "add", "entry": {"id": "temp", "body": "x"}, "lax": True},
        {"action": "fly"},
        {"action": "search"},
        {"action": "batch", "operations": []},
        "nonsense",
        {"action": "add", "entry": {"id": "temp2"}},
        {"action": "get", "id": "temp"},
    ]
    results = desk.do("batch", operations=operations)["results"]
    assert len(results) == 9
    assert results[0]["notFound"] is True
    assert results[1]["count"] == 0
    assert results[2]["created"] is True
    assert [results[at]["error"]["code"] for at in (3, 4, 5, 6)] == [-32601, -32602, -32602, -32602]
    assert results[3]["error"]["data"]["action"] == "fly"
    assert results[7]["error"] == "missing required fields"
    assert results[8]["item"]["id"] == "temp"
    assert desk.call("instructions/batch", ops=[{"action": "list"}])["results"][0]["count"] == 1


@promise("000-batch-limit", "000-limit-results", "000-limit-file")
def test_limits_of_capabilities_are_enforced(desk: Any) -> None:
    limits = desk.do("capabilities")["limits"]
    assert limits == {"maxBatchSize": 100, "maxQueryResults": 1000, "maxFileSize": 2 * 1024 * 1024}
    assert len(desk.do("batch", operations=[{"action": "list"}] * 100)["results"]) == 100
    cases: list[tuple[str, dict[str, Any]]] = [
        ("instructions/batch", {"operations": [{"action": "list"}] * 101}),
        ("instructions/query", {"limit": 1001}),
        ("instructions/list", {"limit": 1001}),
        ("instructions/search", {"q": "x", "limit": 1001}),
        (
            "instructions/add",
            {
                "entry": {
                    "id": "big",
                    "body": "é" * 1_000_000,
                    "rationale": "é" * 20_000,
                    "examples": ["x" * 20_000] * 10,
                },
                "lax": True,
            },
        ),
    ]
    for name, arguments in cases:
        error = desk.error(name, **arguments)
        assert error.code.kind is Kind.LIMIT, name
    assert desk.do("list")["count"] == 0


WRITES: list[tuple[str, dict[str, Any]]] = [
    ("add", {"entry": {"id": "n", "body": "x"}, "lax": True}),
    ("import", {"entries": [{"id": "n", "body": "x"}]}),
    ("remove", {"ids": ["a"]}),
    ("reload", {}),
    ("groom", {}),
    ("repair", {}),
    ("enrich", {}),
    ("governanceUpdate", {"id": "a", "owner": "x"}),
    ("restore", {"id": "a"}),
]


@promise("000-mutation-off")
@pytest.mark.parametrize(("action", "arguments"), WRITES, ids=[action for action, _ in WRITES])
def test_writes_are_refused_while_mutation_is_off(
    desk: Any, action: str, arguments: dict[str, Any]
) -> None:
    desk.add("a")
    before = {name: desk.files.get(name) for name in desk.files.names()}
    desk.mutation = False
    assert (
        desk.error("instructions/dispatch", action=action, **arguments).code.kind
        is Kind.MUTATION_OFF
    )
    if action != "restore":
        assert desk.error(f"instructions/{action}", **arguments).code.kind is Kind.MUTATION_OFF
    inside = desk.do("batch", operations=[{"action": action, **arguments}, {"action": "list"}])[
        "results"
    ]
    assert inside[0]["error"]["code"] == -32000
    assert "MCP_ENABLE_MUTATION" in inside[0]["error"]["data"]["suggestion"]
    assert inside[1]["count"] == 1
    assert {name: desk.files.get(name) for name in desk.files.names()} == before
    assert desk.do("capabilities")["mutationEnabled"] is False


@promise("000-mutation-off")
@pytest.mark.parametrize("action", ["remove", "import", "governanceUpdate"])
def test_the_mutation_switch_is_checked_before_the_arguments(desk: Any, action: str) -> None:
    desk.mutation = False
    assert desk.error(f"instructions/{action}", nonsense=1).code.kind is Kind.MUTATION_OFF
    assert (
        desk.do("batch", operations=[{"action": action}])["results"][0]["error"]["code"] == -32000
    )
    desk.mutation = True
    assert desk.error(f"instructions/{action}", nonsense=1).code.kind is Kind.INVALID_ARGUMENT


@promise("000-mutation-not-gated", "000-repair-diff")
def test_other_calls_work_while_mutation_is_off(desk: Any) -> None:
    desk.add("a")
    desk.mutation = False
    assert desk.do("groom", mode={"dryRun": True})["dryRun"] is True
    assert "hash" in desk.do("repair", clientHash="x")
    assert desk.call("usage/track", id="a")["usageCount"] == 1
    assert desk.call("feedback/submit", type="issue", title="t", description="d")["success"] is True


@promise("000-permission")
def test_writing_needs_the_write_scope_even_in_a_batch(desk: Any) -> None:
    desk.add("a")
    reader = AuthContext(Tenant("t"), frozenset({Scope.READ}), "reader")
    for name, arguments in (
        ("instructions/remove", {"ids": ["a"]}),
        ("instructions/dispatch", {"action": "remove", "ids": ["a"]}),
    ):
        error = desk.outcome(name, arguments, reader).error
        assert error is not None
        assert error.code.kind is Kind.PERMISSION
    operations = [
        {"action": "get", "id": "a"},
        {"action": "remove", "ids": ["a"]},
        {"action": "list"},
    ]
    for name, arguments in (
        ("instructions/batch", {}),
        ("instructions/dispatch", {"action": "batch"}),
    ):
        first, second, third = desk.outcome(
            name, {**arguments, "operations": operations}, reader
        ).output["results"]
        assert (first["item"]["id"], second["error"]["code"], third["count"]) == ("a", -32004, 1)
    stranger = AuthContext(Tenant("t"), frozenset(Scope), "stranger", configured=False)
    outcome = desk.outcome(
        "instructions/batch", {"operations": [{"action": "remove", "ids": ["a"]}]}, stranger
    )
    assert outcome.output["results"][0]["error"]["code"] == -32004
    assert desk.do("list")["count"] == 1
    assert desk.outcome("instructions/get", {"id": "a"}, reader).output["item"]["id"] == "a"


@promise("000-integrity-code")
def test_expected_hash_guards_every_write(desk: Any) -> None:
    source = desk.add("a")["sourceHash"]
    for action, arguments in (
        *WRITES[1:],
        ("add", {"entry": {"id": "a", "body": "new"}, "overwrite": True, "lax": True}),
    ):
        error = desk.error(
            "instructions/dispatch", action=action, expectedHash="0" * 64, **arguments
        )
        assert error.code.kind is Kind.INTEGRITY, action
        assert error.details["catalogHash"] == desk.do("list")["hash"]
    assert desk.do(
        "add", entry={"id": "a", "body": "new"}, overwrite=True, lax=True, expectedHash=source
    )["overwritten"]
    assert desk.error(
        "instructions/add",
        entry={"id": "a", "body": "newer"},
        overwrite=True,
        lax=True,
        expectedHash=source,
    )
    assert desk.do("remove", ids=["a"], expectedHash=desk.do("list")["hash"])["removed"] == 1


@promise("000-strict-create")
def test_strict_create_refuses_to_overwrite_a_missing_id(desks: Callable[..., Any]) -> None:
    desk = desks(strict_create=True)
    outcome = desk.outcome(
        "instructions/add", {"entry": {"id": "a", "body": "x"}, "lax": True, "overwrite": True}
    )
    assert outcome.output.output["error"] == "strict_create"
    desk.add("a")
    assert desk.do("add", entry={"id": "a", "body": "y"}, lax=True, overwrite=True)["overwritten"]
    assert desks().do("add", entry={"id": "b", "body": "y"}, lax=True, overwrite=True)["created"]


@promise("000-strict-remove")
def test_strict_remove_is_all_or_nothing(desks: Callable[..., Any]) -> None:
    desk = desks(strict_remove=True)
    desk.add("a")
    error = desk.error("instructions/remove", ids=["a", "nope"])
    assert error.code.kind is Kind.INVALID_ARGUMENT
    assert error.details["missing"] == ["nope"]
    assert desk.do("list")["count"] == 1
    assert desk.do("remove", ids=["a", "nope"], missingOk=True)["removed"] == 1


@promise("000-canonical-disable")
def test_canonical_hashing_can_be_switched_off(desks: Callable[..., Any]) -> None:
    body = "\nline one  \r\nline two\n"
    canonical = desks().add("a", body)["sourceHash"]
    assert canonical == hashlib.sha256(b"line one  \nline two").hexdigest()
    raw = desks(canonical_disable=True)
    assert raw.add("b", body)["sourceHash"] == hashlib.sha256(body.encode()).hexdigest()
    assert raw.do("get", id="b")["item"]["body"] == body


@promise("000-agent-workspace")
def test_agent_and_workspace_are_written_into_new_entries(desks: Callable[..., Any]) -> None:
    desk = desks(agent_id="claude-7", workspace="repo-9")
    desk.add("a")
    item = desk.do("get", id="a")["item"]
    assert (item["createdByAgent"], item["sourceWorkspace"]) == ("claude-7", "repo-9")


def test_history_shows_every_change_and_restore_undoes_them(desk: Any) -> None:
    desk.add("a", "One\ntwo\n", owner="ann")
    desk.do("add", entry={"id": "a", "body": "One\nthree\n"}, overwrite=True, lax=True)
    desk.do("governanceUpdate", id="a", owner="bob")
    history = desk.do("history", id="a")
    assert [change["action"] for change in history["changes"]] == [
        "governanceUpdate",
        "overwrite",
        "add",
    ]
    assert history["changes"][0]["diff"]["fields"]["owner"] == {"from": "ann", "to": "bob"}
    assert "-two" in history["changes"][1]["diff"]["bodyDiff"]
    assert "+three" in history["changes"][1]["diff"]["bodyDiff"]
    restored = desk.do("restore", id="a")
    assert restored["restored"] is True
    assert desk.do("get", id="a")["item"]["owner"] == "ann"
    desk.do("restore", id="a", change=history["changes"][1]["change"])
    item = desk.do("get", id="a")["item"]
    assert item["body"] == "One\ntwo"
    desk.do("remove", ids=["a"])
    assert desk.do("get", id="a")["notFound"]
    back = desk.call("instructions_restore", id="a")
    assert back["restored"] is True
    assert desk.do("get", id="a")["item"]["body"] == "One\ntwo"
    assert desk.error("instructions_restore", id="never").code.kind is Kind.NOT_FOUND
    assert desk.do("history", id="never")["notFound"] is True


def test_history_shows_only_the_callers_tenant_unless_admin(desk: Any) -> None:
    desk.add("a")
    other = AuthContext(Tenant("other"), frozenset({Scope.READ, Scope.WRITE}), "other")
    desk.outcome(
        "instructions_add",
        {"entry": {"id": "a", "body": "By other"}, "overwrite": True, "lax": True},
        other,
    )
    seen = desk.outcome("instructions_history", {"id": "a"}, other).output
    assert [change["by"] for change in seen["changes"]] == ["other"]
    assert len(desk.do("history", id="a")["changes"]) == 2
