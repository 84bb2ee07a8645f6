"""Every change is covered by the hashes, `diff` and compare-and-set."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from commonplace.instructions.engine.hashing import governance_record
from commonplace.kernel.errors import Kind

ENTRY = {
    "id": "a",
    "body": "Do it.",
    "categories": ["x"],
    "owner": "ann",
    "dependencies": ["b"],
    "teamIds": ["t"],
    "tags": ["one"],
}
CHANGES: tuple[tuple[str, Any], ...] = (
    ("title", "Another"),
    ("body", "Do it now."),
    ("status", "review"),
    ("classification", "public"),
    ("requirement", "mandatory"),
    ("priority", 7),
    ("priorityTier", "P2"),
    ("categories", ["x", "y"]),
    ("owner", "bob"),
    ("audience", "group"),
    ("reviewIntervalDays", 9),
    ("lastReviewedAt", "2025-01-02T00:00:00Z"),
    ("nextReviewDue", "2031-01-02T00:00:00Z"),
    ("workspaceId", "w"),
    ("userId", "u"),
    ("teamIds", ["t", "s"]),
    ("deprecatedBy", "b"),
    ("supersedes", "c"),
    ("dependencies", ["c"]),
    ("version", "3.0.0"),
    ("semanticSummary", "In short."),
    ("rationale", "Because."),
    ("description", "Longer."),
    ("tags", ["two"]),
    ("examples", ["like so"]),
    ("contentType", "workflow"),
    ("riskScore", 12.5),
    ("extensions", {"k": 1}),
    ("appliesTo", ["src/**"]),
    ("languages", ["go"]),
    ("activation", "manual"),
    ("conflictsWith", ["b"]),
    ("origin", {"file": "AGENTS.md", "line": 3}),
)


@pytest.mark.parametrize(("field", "value"), CHANGES)
def test_every_field_changes_both_hashes_and_fails_compare_and_set(
    desk: Any, field: str, value: Any
) -> None:
    desk.do("add", entry=ENTRY, lax=True)
    listed = desk.do("list")
    before = listed["items"][0]
    known = [
        {"id": "a", "sourceHash": before["sourceHash"], "governanceHash": before["governanceHash"]}
    ]
    assert desk.do("diff", clientHash=listed["hash"]) == {"upToDate": True, "hash": listed["hash"]}
    assert desk.do("add", entry={"id": "a", field: value}, overwrite=True, lax=True)["overwritten"]
    after = desk.do("get", id="a")
    assert after["item"]["governanceHash"] != before["governanceHash"]
    assert (after["item"]["sourceHash"] != before["sourceHash"]) is (field == "body")
    assert after["hash"] != listed["hash"]
    assert "upToDate" not in desk.do("diff", clientHash=listed["hash"])
    changed = desk.do("diff", clientHash=listed["hash"], known=known)
    assert [item["id"] for item in changed["updated"]] == ["a"]
    assert "metadataMayDiffer" not in changed
    for stale in (before["governanceHash"], listed["hash"]):
        error = desk.error(
            "instructions/add",
            entry={"id": "a", "owner": "eve"},
            overwrite=True,
            lax=True,
            expectedHash=stale,
        )
        assert error.code.kind is Kind.INTEGRITY
        assert (
            desk.error(
                "instructions/governanceUpdate", id="a", status="draft", expectedHash=stale
            ).code.kind
            is Kind.INTEGRITY
        )
        assert (
            desk.error("instructions/remove", ids=["a"], expectedHash=stale).code.kind
            is Kind.INTEGRITY
        )
    assert desk.do("get", id="a")["item"]["owner"] != "eve"


def test_a_second_editor_cannot_overwrite_an_approval(desk: Any) -> None:
    desk.add("a", status="review")
    read = desk.do("get", id="a")["item"]
    approved = desk.do(
        "governanceUpdate",
        id="a",
        patch={"status": "approved"},
        expectedHash=read["governanceHash"],
    )
    assert approved["governanceHash"] != read["governanceHash"]
    for stale in (read["sourceHash"], read["governanceHash"]):
        error = desk.error(
            "instructions/add", entry={**read, "title": "Mine"}, overwrite=True, expectedHash=stale
        )
        assert error.code.kind is Kind.INTEGRITY
        assert error.details["governanceHash"] == approved["governanceHash"]
    assert "governanceHash" in error.hint or error.hint.startswith("Read it again")
    assert desk.do("get", id="a")["item"]["status"] == "approved"
    fresh = desk.do("get", id="a")["item"]
    assert desk.do(
        "add",
        entry={"id": "a", "title": "Mine"},
        overwrite=True,
        lax=True,
        expectedHash=fresh["governanceHash"],
    )["overwritten"]


def test_the_source_hash_suffices_if_only_the_body_changes(desk: Any) -> None:
    desk.add("a", status="review", owner="ann")
    read = desk.do("get", id="a")["item"]
    desk.do("governanceUpdate", id="a", patch={"status": "approved"})
    assert desk.do(
        "add", entry={"id": "a", "body": "New"}, overwrite=True, expectedHash=read["sourceHash"]
    )["overwritten"]
    item = desk.do("get", id="a")["item"]
    assert (item["status"], item["owner"], item["body"]) == ("approved", "ann", "New")
    error = desk.error(
        "instructions/add",
        entry={"id": "a", "owner": "bob"},
        overwrite=True,
        expectedHash=item["sourceHash"],
    )
    assert "covers only its body" in error.message


def test_diff_without_governance_hashes_reports_uncertain_metadata(desk: Any) -> None:
    desk.add("a")
    listed = desk.do("list")
    known = [{"id": "a", "sourceHash": listed["items"][0]["sourceHash"]}]
    desk.do("governanceUpdate", id="a", patch={"status": "deprecated"})
    answer = desk.do("diff", clientHash=listed["hash"], known=known)
    assert (answer["added"], answer["updated"], answer["removed"], answer["metadataMayDiffer"]) == (
        [],
        [],
        [],
        True,
    )
    assert "metadataMayDiffer" not in desk.do("diff", known=known)
    current = desk.do("list")["hash"]
    assert desk.do("diff", clientHash=current, known=known) == {"upToDate": True, "hash": current}


def test_the_governance_record_has_the_fields_of_the_contract(desk: Any) -> None:
    desk.do("add", entry=ENTRY, lax=True)
    record = desk.do("governanceHash", includeItems=True)["items"][0]["governance"]
    named = {
        "status",
        "classification",
        "requirement",
        "categories",
        "owner",
        "priority",
        "priorityTier",
        "version",
    }
    assert named | {
        "reviewIntervalDays",
        "nextReviewDue",
        "workspaceId",
        "userId",
        "teamIds",
        "deprecatedBy",
    } <= set(record)
    assert record == governance_record(desk.do("get", id="a")["item"])


def test_the_catalogue_hash_follows_content_and_owner_rules_not_layout_or_times(
    desk: Any, desks: Callable[..., Any]
) -> None:
    desk.file("a.json", {"id": "a", "body": "A"})
    known = desks().do("list")["hash"]
    desk.files.set_time("a.json", 1_700_000_000)  # as after a checkout
    assert desks().do("list")["hash"] == known
    desk.file("owners.json", {"ownership": [{"pattern": "^a", "owner": "team-a"}]})
    owned = desks().do("list")["hash"]
    desk.file("a.json", {"id": "a", "body": "A", "status": "draft"})
    edited = desks().do("list")["hash"]
    desk.file("a.json", json.dumps({"status": "draft", "body": "A", "id": "a"}, indent=4))
    assert desks().do("list")["hash"] == edited  # layout is not content
    assert len({known, owned, edited}) == 3


@pytest.mark.parametrize(
    "body", ["a  \nb", "  indented\n", "\r\na\r\nb\r\n", "\n\n a \t\n \n", "x\u2028y", "ä  "]
)
def test_source_hash_is_that_of_the_body_in_every_answer(desk: Any, body: str) -> None:
    answer = desk.add("a", body)
    desk.file("b.json", {"id": "b", "body": body})
    desk.do("import", entries=[{"id": "c", "body": body}], mode="overwrite")
    items = [
        *desk.do("list", expectId="b")["items"],
        *desk.do("export")["items"],
        *desk.do("diff")["changed"],
        *desk.do("query")["items"],
        *(desk.do("get", id=id_)["item"] for id_ in "abc"),
        *(desk.do("getEnhanced", id=id_)["item"] for id_ in "abc"),
        desk.do("inspect", id="b")["data"]["normalized"],
    ]
    assert len(items) == 19
    for item in items:
        assert item["sourceHash"] == hashlib.sha256(item["body"].encode()).hexdigest()
    normalised = desk.do("get", id="a")["item"]["body"]
    assert ("warnings" in answer) is (normalised != body)
    assert normalised.split() == body.split()
    assert desk.do("get", id="b")["item"]["body"] == body  # a file is shown as it was written
    assert desk.call("integrity/verify")["issueCount"] == 0


def test_spaces_at_line_ends_are_kept(desk: Any) -> None:
    answer = desk.add("a", "first  \nsecond")
    assert "warnings" not in answer
    assert desk.stored("a")["body"] == "first  \nsecond"
