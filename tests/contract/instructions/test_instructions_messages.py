"""Messages to callers and operators: reasons, allowed values, unreadable content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

STRICT = {"id": "a", "body": "x", "priority": 5, "requirement": "optional", "categories": []}


def refused(desk: Any, lax: bool = False, **fields: Any) -> Any:
    answer = desk.call("instructions/add", entry={**STRICT, **fields}, lax=lax)
    assert not answer["created"]
    return answer


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("title", "x" * 4000, "has 4000 characters; at most 200 are allowed"),
        ("tags", ["x" * 30_000], "has 30000 characters; at most 20000 are allowed"),
        ("tags", ["x"] * 101, "has 101 items; at most 100 are allowed"),
        (
            "requirement",
            "foo",
            'must be one of mandatory, critical, recommended, optional, deprecated; it is "foo"',
        ),
        ("status", "x" * 4000, 'must be one of draft, review, approved, deprecated; it is "xxx'),
        ("classification", 3, "must be one of public, internal, restricted; it is 3"),
        ("priority", "7", 'must be a whole number; it is "7"'),
        ("priority", 101, "must be from 1 to 100; it is 101"),
        ("reviewIntervalDays", 0, "must be from 1 to 365; it is 0"),
        ("extensions", [], "must be an object; it is a list"),
        ("nextReviewDue", "soon", 'is not an ISO 8601 time; it is "soon"'),
    ],
)
def test_a_refusal_has_the_reason_and_every_allowed_value(
    desk: Any, field: str, value: Any, said: str
) -> None:
    answer = refused(desk, **{field: value})
    problem = answer["validation"][0]
    assert problem["field"].split(".")[0] == field
    assert said in problem["problem"]
    assert said in answer["feedbackHint"]
    assert len(answer["feedbackHint"]) < 400
    assert "candidates" not in answer["feedbackHint"]


def test_an_unknown_field_is_named_with_the_closest_known_one(desk: Any) -> None:
    strict = refused(desk, prioritty=7)
    assert strict["error"] == "unknown_fields"
    assert (
        "prioritty: is not a field of an instruction. Did you mean priority?"
        in strict["feedbackHint"]
    )
    answer = desk.call("instructions/add", entry={"id": "a", "body": "x", "prioritty": 7}, lax=True)
    assert answer["warnings"] == [
        (
            "prioritty is not a field of an instruction and was kept under extensions. Did you "
            "mean priority?"
        )
    ]
    assert desk.stored("a")["extensions"] == {"prioritty": 7}
    imported = desk.do("import", entries=[{"id": "b", "body": "x", "prioritty": 7}])
    assert imported["warnings"][0]["id"] == "b"
    assert "Did you mean priority?" in imported["warnings"][0]["warning"]


def test_unreadable_manual_edits_are_reported(desk: Any) -> None:
    desk.file(
        "a.json", {"id": "a", "body": "A", "priority": "high", "categories": "a,b", "prioritty": 3}
    )
    desk.add("b")
    item = desk.do("get", id="a")["item"]
    assert (item["priority"], item["categories"]) == (50, ["uncategorized"])
    told = [
        {"id": "a", "field": "priority", "problem": '"high" cannot be read; it is read as 50'},
        {
            "id": "a",
            "field": "categories",
            "problem": '"a,b" cannot be read; it is read as uncategorized',
        },
    ]
    health = desk.do("health")
    assert (health["status"], health["unreadableValues"], health["unreadableCount"]) == (
        "degraded",
        told,
        2,
    )
    validation = desk.do("inspect", scope="catalog")["data"]["validation"]
    assert validation["unreadable"] == told
    unknown = validation["unknownFields"][0]
    assert (unknown["id"], unknown["field"]) == ("a", "prioritty")
    assert "Did you mean priority?" in unknown["problem"]
    warnings = desk.do("inspect", id="a")["data"]["validation"]["warnings"]
    assert len(warnings) == 3
    assert any(
        check["finding"].endswith("values in files cannot be read")
        for check in desk.service.doctor()
    )
    kept = desk.do("add", entry={"id": "a", "title": "T"}, overwrite=True)
    assert "unreadable values for priority, categories" in kept["warnings"][0]


def test_links_and_subfolders_are_reported(folder_desk: Any, tmp_path: Path) -> None:
    desk = folder_desk
    desk.add("a")
    (desk.folder / "linked.json").symlink_to(desk.folder / "a.json")
    for folder in ("team", ".git", "pictures"):
        (desk.folder / folder).mkdir()
    (desk.folder / "team" / "rule.json").write_text("{}")
    (desk.folder / ".git" / "x.json").write_text("{}")
    desk.do("reload")
    health = desk.do("health")
    assert "symbolic link" in health["rejectedFiles"][0]["detail"]
    assert "too many levels" not in health["rejectedFiles"][0]["detail"].lower()
    assert health["ignoredFolders"] == ["team"]
    assert desk.do("inspect", scope="catalog")["data"]["filesystem"]["ignoredFolders"] == ["team"]


@pytest.mark.parametrize(
    "filters",
    [
        {"categories": []},
        {"status": []},
        {"owners": []},
        {"teamIds": []},
        {"workspaceId": ""},
        {"text": " "},
    ],
)
def test_an_empty_filter_is_ignored(desk: Any, filters: dict[str, Any]) -> None:
    desk.add("a", categories=["x"])
    desk.add("b")
    answer = desk.do("query", filters=filters)
    assert (answer["total"], answer["appliedFilters"]) == (2, {})
