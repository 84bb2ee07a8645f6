"""Defects of the reference server that must not occur here."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from commonplace.kernel.json.document import encode


@pytest.mark.parametrize(
    "id_", ["../outside", "sub/../../outside", "a/b", "..", "/etc/passwd", "a\\..\\b", "a%2f..%2fb"]
)
def test_an_id_cannot_leave_the_folder(desk: Any, id_: str) -> None:
    desk.add("ok")
    before = sorted(str(path) for path in desk.data.rglob("*") if path.is_file())
    for overwrite in (False, True):
        answer = desk.outcome(
            "instructions/add",
            {"entry": {"id": id_, "body": "x"}, "lax": True, "overwrite": overwrite},
        )
        assert answer.rejected
        assert answer.output.output["created"] is False
    desk.do("import", entries=[{"id": id_, "body": "x"}], validate=False, mode="overwrite")
    desk.do("remove", ids=[id_])
    desk.do("get", id=id_)
    desk.do("getEnhanced", id=id_)
    desk.do("list", expectId=id_)
    desk.do("history", id=id_)
    desk.do("inspect", id=id_)
    assert desk.do("governanceUpdate", id=id_, owner="x")["notFound"]
    assert sorted(str(path) for path in desk.data.rglob("*") if path.is_file()) == before


def test_verified_means_in_the_catalogue_and_on_disk(desk: Any) -> None:
    answer = desk.add("a", "Body")
    assert answer["verified"] is True
    assert "verifyIssues" not in answer
    assert desk.do("list", limit=1)["items"][0]["id"] == "a"
    assert desk.stored("a")["sourceHash"] == answer["sourceHash"]


def test_overwriting_only_the_priority_is_kept(desk: Any, desks: Callable[..., Any]) -> None:
    desk.add("a", "Body", priority=50)
    answer = desk.do("add", entry={"id": "a", "priority": 7}, overwrite=True)
    assert (answer["overwritten"], answer["skipped"]) == (True, False)
    for reader in (desk, desks()):
        assert reader.do("get", id="a")["item"]["priority"] == 7


def test_reading_the_governance_hash_changes_nothing(desk: Any) -> None:
    desk.add("a")
    desk.file("bad.json", {"id": "bad", "title": "no body"})
    desk.do("reload")
    before = desk.do("list")
    answer = desk.do("governanceHash")
    assert answer["count"] == before["count"] == 1
    assert desk.do("list") == before


def test_trailing_spaces_are_not_drift(desk: Any, desks: Callable[..., Any]) -> None:
    body = "First line  \nsecond\t\n\n  third \r\nfourth\u2028fifth"
    added = desk.add("a", body)
    desk.do("import", entries=[{"id": "b", "body": body}], mode="skip")
    assert desk.do("get", id="b")["item"]["sourceHash"] == added["sourceHash"]
    for reader in (desk, desks()):
        assert reader.call("integrity/verify")["issueCount"] == 0
        assert reader.do("repair")["repaired"] == 0
        assert reader.do("groom")["repairedHashes"] == 0
    assert desk.do("get", id="a")["item"]["body"] == body.replace("\r\n", "\n").replace(
        "\u2028", "\n"
    )


def test_limit_is_honoured_and_search_needs_a_query(desk: Any) -> None:
    for number in range(30):
        desk.add(f"n{number:02}")
    assert len(desk.do("list", limit=10)["items"]) == 10
    assert desk.error("instructions/search").code.kind.value == "invalid_argument"


def test_reads_never_rescan_the_folder_without_a_reason(folder_desk: Any) -> None:
    desk = folder_desk
    desk.add("a")
    (desk.folder / "silent.json").write_text(
        json.dumps({"id": "silent", "body": "x"})
    )  # no watcher here, no marker moved
    for _ in range(5):
        assert desk.do("list")["count"] == 1
        assert desk.do("get", id="silent")["notFound"] is True


def test_answers_are_compact_and_capabilities_know_the_version(desk: Any) -> None:
    desk.add("a")
    outcome = desk.outcome("instructions_get", {"id": "a"})
    assert b"\n  " not in encode(outcome.output)
    assert desk.do("capabilities")["version"] != "0.0.0"


def test_nothing_is_printed(desk: Any, capfd: pytest.CaptureFixture[str]) -> None:
    desk.add("a")
    desk.file("bad.json", "{")
    desk.do("reload")
    desk.do("list")
    desk.do("search", q="a")
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_prerelease_versions_are_refused_not_dropped(desk: Any, desks: Callable[..., Any]) -> None:
    refused = desk.outcome(
        "instructions/add",
        {"entry": {"id": "a", "body": "x", "version": "1.0.0-beta"}, "lax": True},
    )
    assert refused.output.output["error"] == "invalid_semver"
    desk.file("b.json", {"id": "b", "body": "x", "version": "1.0.0-beta"})
    fresh = desks()
    assert fresh.do("get", id="b")["item"]["version"] == "1.0.0"
    assert fresh.do("inspect")["data"]["validation"]["salvaged"] == {"version": 1}


def test_a_nested_patch_is_not_ignored(desk: Any) -> None:
    desk.add("a")
    assert desk.do("governanceUpdate", id="a", patch={"owner": "ann"})["owner"] == "ann"


def test_list_and_get_return_the_same_item(desk: Any) -> None:
    for number in range(50):
        desk.add(f"n{number}", f"Body {number}")
        listing = desk.do("list")
        assert listing["count"] == number + 1
        assert f"n{number}" in {item["id"] for item in listing["items"]}
        assert desk.do("search", q=f"Body {number}")["items"][0]["id"] == f"n{number}"
