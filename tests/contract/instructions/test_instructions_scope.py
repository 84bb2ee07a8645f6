"""Fields of scope on both stores: kept, checked, hashed, searched and filtered."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

from commonplace.instructions.engine.codec import parse, prepare_change
from commonplace.instructions.engine.hashing import HashTree
from commonplace.instructions.engine.normalise import ReadingRules

SCOPED = {
    "id": "scoped",
    "body": "Write handlers that return typed errors.",
    "categories": ["api"],
    "owner": "ann",
    "appliesTo": ["src/api/**/*.ts", "!src/api/generated/**"],
    "languages": ["TypeScript"],
    "activation": "glob",
    "conflictsWith": ["open"],
    "origin": {"file": ".cursor/rules/api.mdc", "line": 1, "client": "cursor", "hash": "ab" * 32},
}
OPEN = {"id": "open", "body": "Be kind.", "categories": ["api"]}


def test_scope_fields_are_stored_shown_and_exported(desk: Any) -> None:
    assert desk.do("add", entry=SCOPED, lax=True)["verified"]
    item = desk.do("get", id="scoped")["item"]
    assert {name: item[name] for name in SCOPED} == {**SCOPED, "languages": ["typescript"]}
    stored = json.loads(desk.files.get("scoped.json"))
    names = list(stored)
    assert names.index("appliesTo") == names.index("priorityTier") + 1
    assert names[names.index("appliesTo") :][:3] == ["appliesTo", "languages", "activation"]
    exported = desk.do("export", ids=["scoped"])["items"]
    desk.do("remove", ids=["scoped"])
    assert desk.do("import", entries=exported, mode="skip")["imported"] == 1
    again = desk.do("get", id="scoped")["item"]
    assert {name: again[name] for name in SCOPED} == {**SCOPED, "languages": ["typescript"]}
    assert again["sourceHash"] == item["sourceHash"]


@pytest.mark.parametrize("name", ["appliesTo", "languages", "activation", "origin"])
def test_a_field_given_as_null_is_removed(desk: Any, name: str) -> None:
    entry = {**SCOPED, "activation": "always"}
    desk.do("add", entry=entry, lax=True)
    desk.do("add", entry={"id": "scoped", name: None}, overwrite=True, lax=True)
    assert name not in desk.do("get", id="scoped")["item"]


@pytest.mark.parametrize(
    ("field", "value", "where"),
    [
        ("appliesTo", "src/**", "appliesTo"),
        ("appliesTo", ["/etc/**"], "appliesTo.0"),
        ("appliesTo", ["a", "../x"], "appliesTo.1"),
        ("appliesTo", ["[a"], "appliesTo.0"),
        ("appliesTo", ["x" * 301], "appliesTo.0"),
        ("appliesTo", ["a\0"], "appliesTo.0"),
        ("appliesTo", ["a"] * 101, "appliesTo"),
        ("appliesTo", ["{a,b}" * 7, "{c,d}" * 7], "appliesTo"),
        ("languages", ["a b"], "languages.0"),
        ("languages", ["x"] * 51, "languages"),
        ("activation", "sometimes", "activation"),
        ("activation", "glob", "activation"),
        ("origin", {"file": "/etc/passwd"}, "origin.file"),
        ("origin", {"line": 1}, "origin"),
        ("origin", {"file": "a", "line": 0}, "origin.line"),
        ("origin", {"file": "a", "more": 1}, "origin"),
        ("conflictsWith", "a", "conflictsWith"),
    ],
)
def test_invalid_scopes_are_refused_with_the_field(
    desk: Any, field: str, value: Any, where: str
) -> None:
    refused = desk.do("add", entry={**OPEN, field: value}, lax=True)
    assert refused["created"] is False
    assert refused["error"] == "invalid_fields"
    assert where in [problem["field"] for problem in refused["validation"]]
    said = [(problem["field"], problem["problem"]) for problem in refused["validation"]]
    assert len(said) == len(set(said))


def test_query_filters_by_path_language_and_activation(desk: Any) -> None:
    desk.do("add", entry=SCOPED, lax=True)
    desk.do("add", entry=OPEN, lax=True)
    desk.do("add", entry={"id": "named", "body": "x", "activation": "manual"}, lax=True)

    def found(**filters: Any) -> list[str]:
        return [item["id"] for item in desk.do("query", filters=filters)["items"]]

    assert found(path="src/api/a.ts") == ["named", "open", "scoped"]
    assert found(path="./src/api/a.ts", languages=["ts"]) == ["scoped"]
    assert found(path="src/api/generated/a.ts", languages=["ts"]) == []
    assert found(activation=["always"]) == ["open"]
    assert found(activation=["manual", "glob"]) == ["named", "scoped"]
    desk.do("add", entry={"id": "scoped", "appliesTo": ["lib/**"]}, overwrite=True, lax=True)
    assert found(path="lib/a.ts", languages=["typescript"]) == ["scoped"]
    desk.error("instructions/query", filters={"path": "../x"})


def test_globs_and_languages_are_searched(desk: Any) -> None:
    desk.do("add", entry=SCOPED, lax=True)
    desk.do("add", entry=OPEN, lax=True)
    for words in ("src/api/", "typescript", "generated"):
        assert [item["id"] for item in desk.do("search", q=words)["items"]] == ["scoped"]
    desk.do("add", entry={"id": "scoped", "languages": ["go"]}, overwrite=True, lax=True)
    assert desk.do("search", q="typescript")["count"] == 0
    assert desk.do("query", filters={"text": "src/api"})["total"] == 1


def test_equal_bodies_with_other_scopes_are_not_merged(desk: Any) -> None:
    for name, globs in (("one", ["a/**"]), ("two", ["b/**"])):
        desk.do("add", entry={"id": name, "body": "Same.", "appliesTo": globs}, lax=True)
    assert desk.do("groom", mode={"mergeDuplicates": True})["duplicatesMerged"] == 0


def test_an_entry_without_scope_keeps_its_file_and_hashes() -> None:
    """The values are those of the release before the fields existed."""
    document = {
        "id": "old-rule",
        "title": "Old",
        "body": "Do it.\nNow.",
        "priority": 20,
        "audience": "all",
        "requirement": "mandatory",
        "categories": ["a", "b"],
        "owner": "ann",
        "teamIds": ["t"],
        "workspaceId": "w",
        "tags": ["one"],
        "dependencies": ["x"],
        "extensions": {"k": [1]},
        "createdAt": "2025-01-02T00:00:00.000Z",
        "updatedAt": "2025-01-02T00:00:00.000Z",
        "createdByAgent": "agent",
        "examples": ["e"],
        "description": "Longer.",
    }
    change = prepare_change(document, "add", ReadingRules())
    assert change.content is not None
    assert change.after is not None
    tree = HashTree()
    tree.fill([("old-rule", change.after.fingerprint)])
    assert hashlib.sha256(change.content).hexdigest() == (
        "d888b9a12b9fa66e5babcdd2e4f4fad2d4e30c6995fdc5ef6699c40d24fdf3ea"
    )
    assert change.after.governance_hash == (
        "ec792caf1b6e94789599f80a3ba973e85e14f4825c351f163993439411b142e7"
    )
    assert tree.root == "03216f8faf84f73fb97d69d948c669ac9b6346cbf050310e69a04f6d21eacc30"
    read = parse("old-rule", change.content, 0.0, ReadingRules())
    assert read.fingerprint == change.after.fingerprint
    assert read.governance_hash == change.after.governance_hash
