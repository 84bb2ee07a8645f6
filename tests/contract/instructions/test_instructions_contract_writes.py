"""Add, import and remove as docs/reference/contracts/instructions.md requires."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from instruction_promises import promise

from commonplace.kernel.errors import Kind

WHOLE = {
    "priority": 40,
    "requirement": "optional",
    "categories": ["x"],
    "audience": "all",
    "title": "T",
}


@promise("000-add-created")
def test_add_returns_the_shape_of_the_contract(desk: Any) -> None:
    answer = desk.call("instructions/add", entry={"id": "one", "body": "Body", **WHOLE})
    expected = {
        "id",
        "hash",
        "created",
        "overwritten",
        "skipped",
        "verified",
        "sourceHash",
        "governanceHash",
    }
    assert expected <= set(answer)
    assert (answer["created"], answer["overwritten"], answer["skipped"], answer["verified"]) == (
        True,
        False,
        False,
        True,
    )
    item = desk.do("get", id="one")
    assert (item["hash"], item["item"]["sourceHash"]) == (answer["hash"], answer["sourceHash"])
    assert item["item"]["governanceHash"] == answer["governanceHash"]
    assert desk.stored("one")["body"] == "Body"


@promise("000-add-exists")
def test_an_existing_id_without_overwrite_is_skipped(desk: Any) -> None:
    desk.add("one", "First")
    answer = desk.do("add", entry={"id": "one", "body": "Second"}, lax=True)
    assert (answer["created"], answer["overwritten"], answer["skipped"]) == (False, False, True)
    assert desk.do("get", id="one")["item"]["body"] == "First"


@promise("000-add-overwrite", "000-add-bump")
def test_overwrite_replaces_and_bumps_the_patch_version(desk: Any) -> None:
    desk.add("one", "First")
    unversioned = desk.do("add", entry={"id": "one", "body": "Second"}, overwrite=True, lax=True)
    assert (unversioned["created"], unversioned["overwritten"], unversioned["version"]) == (
        False,
        True,
        "1.0.1",
    )
    same = desk.do(
        "add", entry={"id": "one", "body": "Third", "version": "1.0.1"}, overwrite=True, lax=True
    )
    assert same["version"] == "1.0.2"
    chosen = desk.do(
        "add", entry={"id": "one", "body": "Fourth", "version": "2.0.0"}, overwrite=True, lax=True
    )
    assert chosen["version"] == "2.0.0"
    item = desk.do("get", id="one")["item"]
    assert [line["version"] for line in item["changeLog"]] == ["1.0.0", "1.0.1", "1.0.2", "2.0.0"]
    lower = desk.outcome(
        "instructions_add",
        {
            "entry": {"id": "one", "body": "Fifth", "version": "1.0.0"},
            "overwrite": True,
            "lax": True,
        },
    )
    assert lower.rejected
    assert lower.output.output["error"] == "version_not_bumped"


@promise("000-add-hydrate")
def test_overwrite_without_body_or_title_keeps_the_stored_ones(desk: Any) -> None:
    desk.add("one", "The body", title="The title", owner="ann")
    answer = desk.do("add", entry={"id": "one", "tags": ["fresh"], "priority": 5}, overwrite=True)
    assert answer["overwritten"] is True
    item = desk.do("get", id="one")["item"]
    assert (item["body"], item["title"], item["owner"]) == ("The body", "The title", "ann")
    assert (item["tags"], item["priority"], item["priorityTier"], item["version"]) == (
        ["fresh"],
        5,
        "P1",
        "1.0.0",
    )


@promise("000-add-hydration-mismatch")
def test_overwrite_without_body_over_an_unreadable_file(desk: Any) -> None:
    desk.file("one.json", "{broken")
    outcome = desk.outcome("instructions/add", {"entry": {"id": "one", **WHOLE}, "overwrite": True})
    assert outcome.output.output["error"] == "hydration_mismatch"
    mended = desk.do("add", entry={"id": "one", "body": "Whole again", **WHOLE}, overwrite=True)
    assert (mended["overwritten"], mended["verified"]) == (True, True)


@promise("000-add-lax")
def test_lax_fills_required_fields(desk: Any) -> None:
    refused = desk.outcome("instructions/add", {"entry": {"id": "one", "body": "Body"}})
    assert refused.rejected
    answer = refused.output.output
    assert answer["created"] is False
    assert answer["error"] == "missing required fields"
    assert answer["inputSchema"]["properties"]["entry"]
    assert answer["schemaRef"]
    assert desk.do("get", id="one")["notFound"] is True
    desk.do("add", entry={"id": "one", "body": "Body"}, lax=True)
    item = desk.do("get", id="one")["item"]
    assert (item["title"], item["priority"], item["audience"], item["requirement"]) == (
        "one",
        50,
        "all",
        "optional",
    )
    assert item["categories"] == ["uncategorized"]
    without_body = desk.outcome("instructions/add", {"entry": {"id": "two"}, "lax": True})
    assert without_body.output.output["error"] == "missing required fields"


@promise("000-add-missing-entry")
def test_an_unwrapped_entry_is_refused_as_missing(desk: Any) -> None:
    for arguments in (
        {"id": "my-instruction", "body": "Content"},
        {},
        {"entry": "text"},
        {"entry": None},
    ):
        outcome = desk.outcome("instructions/add", arguments)
        assert outcome.rejected
        answer = outcome.output.output
        assert (answer["created"], answer["error"]) == (False, "missing entry")
        assert answer["feedbackHint"]
        assert answer["reproEntry"]
        assert answer["inputSchema"]["required"] == ["entry"]


@promise("000-add-missing-id")
def test_an_entry_without_id_or_with_a_bad_one(desk: Any) -> None:
    for entry in ({"body": "x"}, {"id": "", "body": "x"}, {"id": 3, "body": "x"}):
        assert (
            desk.outcome("instructions/add", {"entry": entry, "lax": True}).output.output["error"]
            == "missing id"
        )
    for bad in (
        "Upper",
        "a/b",
        "../up",
        "a..b",
        ".hidden",
        "-x",
        "x-",
        "a b",
        "é",
        "x" * 121,
        "a\0b",
        "a\n",
        "gates.json/../x",
    ):
        assert (
            desk.outcome(
                "instructions/add", {"entry": {"id": bad, "body": "x"}, "lax": True}
            ).output.output["error"]
            == "invalid_id"
        ), bad
    for reserved in ("gates", "owners", "prompt-criteria"):
        assert (
            desk.outcome(
                "instructions/add", {"entry": {"id": reserved, "body": "x"}, "lax": True}
            ).output.output["error"]
            == "reserved_id"
        )
    assert desk.do("list")["count"] == 0
    assert desk.add("instr.alpha")["created"]


@promise("000-add-semver")
@pytest.mark.parametrize(
    "version", ["1.0", "v1.0.0", "1.0.0-beta", "2024.09", "2024.09.01", "1.0.0.0", "", "1.0.0\n", 3]
)
def test_versions_are_strict(desk: Any, version: Any) -> None:
    answer = desk.outcome(
        "instructions/add", {"entry": {"id": "one", "body": "x", "version": version}, "lax": True}
    ).output.output
    assert answer["error"] == "invalid_semver"
    assert answer["created"] is False
    assert desk.do("list")["count"] == 0


@promise("000-add-changelog")
def test_a_malformed_change_log_is_repaired(desk: Any) -> None:
    log = [
        "nonsense",
        {"version": "0.9.0", "summary": "old", "changedAt": "not a date"},
        {"summary": "no version"},
    ]
    desk.add("one", changeLog=log, version="1.0.0")
    repaired = desk.do("get", id="one")["item"]["changeLog"]
    assert [line["version"] for line in repaired] == ["0.9.0", "1.0.0"]
    assert all(set(line) >= {"version", "changedAt", "summary"} for line in repaired)
    assert repaired[0]["changedAt"] != "not a date"


@promise("000-add-owner")
def test_mandatory_and_critical_entries_need_an_owner(desk: Any) -> None:
    entry = {"id": "problem-id", "body": "B" * 500, "requirement": "mandatory"}
    answer = desk.outcome("instructions/add", {"entry": entry, "lax": True}).output.output
    assert answer["error"] == "mandatory/critical require owner"
    assert answer["reproEntry"]["id"] == "problem-id"
    assert answer["reproEntry"]["bodyPreview"] == "B" * 200
    assert "feedback/submit" in answer["feedbackHint"]
    assert desk.add("problem-id", "B", requirement="critical", owner="ann")["created"]
    tier = desk.outcome(
        "instructions/add", {"entry": {"id": "p", "body": "B", "priorityTier": "P1"}, "lax": True}
    ).output.output
    assert tier["error"] == "P1 requires category & owner"
    gone = desk.outcome(
        "instructions/add",
        {"entry": {"id": "d", "body": "B", "requirement": "deprecated"}, "lax": True},
    ).output.output
    assert gone["error"] == "deprecated requires deprecatedBy"
    desk.file("owners.json", {"ownership": [{"pattern": "^sec-", "owner": "security"}]})
    assert desk.add("sec-1", requirement="mandatory")["created"]
    assert desk.do("get", id="sec-1")["item"]["owner"] == "security"


def test_invalid_values_are_named(desk: Any) -> None:
    entry = {
        "id": "one",
        "body": "x",
        "priority": 101,
        "status": "great",
        "categories": ["ok", "no spaces"],
        "nextReviewDue": "soon",
    }
    answer = desk.outcome("instructions/add", {"entry": entry, "lax": True}).output.output
    assert answer["error"] == "invalid_fields"
    assert {problem["field"] for problem in answer["validation"]} == {
        "priority",
        "status",
        "categories",
        "nextReviewDue",
    }
    unknown = desk.outcome(
        "instructions/add", {"entry": {"id": "one", "body": "x", **WHOLE, "colour": "red"}}
    ).output.output
    assert unknown["error"] == "unknown_fields"
    desk.add("one", "x", colour="red")
    assert desk.do("get", id="one")["item"]["extensions"] == {"colour": "red"}
    assert desk.outcome(
        "instructions/add", {"entry": {"id": "t", "body": "x", "title": "t" * 201}, "lax": True}
    ).rejected
    assert desk.outcome(
        "instructions/add", {"entry": {"id": "t", "body": "x" * 1_000_001}, "lax": True}
    ).rejected
    long = desk.add("t", "x" * 60_000)
    assert long["warnings"]


@promise("000-import-counts", "000-import-modes")
def test_import_skips_overwrites_and_merges(desk: Any) -> None:
    first = desk.do(
        "import",
        entries=[{"id": "a", "body": "A", "rationale": "why"}, {"id": "b", "body": "B"}],
        mode="skip",
    )
    assert {
        "hash",
        "imported",
        "skipped",
        "overwritten",
        "total",
        "errors",
        "processingTimeMs",
    } <= set(first)
    assert (
        first["imported"],
        first["skipped"],
        first["overwritten"],
        first["total"],
        first["errors"],
    ) == (2, 0, 0, 2, [])
    again = desk.call(
        "instructions/import", entries=[{"id": "a", "body": "A2"}, {"id": "c", "body": "C"}]
    )
    assert (again["imported"], again["skipped"], again["overwritten"]) == (1, 1, 0)
    assert desk.do("get", id="a")["item"]["body"] == "A"
    merged = desk.do("import", entries=[{"id": "a", "owner": "ann"}], mode="merge")
    assert merged["overwritten"] == 1
    item = desk.do("get", id="a")["item"]
    assert (item["body"], item["owner"], item["rationale"], item["version"]) == (
        "A",
        "ann",
        "why",
        "1.0.0",
    )
    desk.do("import", entries=[{"id": "a", "body": "A3"}], mode="overwrite")
    item = desk.do("get", id="a")["item"]
    assert (item["body"], item["owner"], item["version"], item.get("rationale")) == (
        "A3",
        "unowned",
        "1.0.1",
        None,
    )
    twice = desk.do(
        "import",
        entries=[{"id": "z", "body": "1"}, {"id": "z", "body": "2"}],
        mode="overwrite",
        batchSize=1,
    )
    assert (twice["imported"], twice["overwritten"]) == (1, 1)
    assert desk.do("get", id="z")["item"]["body"] == "2"


@promise("000-import-errors")
def test_import_errors_have_index_and_code_and_do_not_stop_others(desk: Any) -> None:
    entries = [
        {"id": "ok", "body": "x"},
        {"id": "../x", "body": "x"},
        {"body": "x"},
        "text",
        {"id": "nobody"},
        {"id": "v", "body": "x", "version": "1"},
    ]
    answer = desk.do("import", entries=entries, mode="skip")
    assert (answer["imported"], answer["total"]) == (1, 6)
    assert [(error["index"], error["code"]) for error in answer["errors"]] == [
        (1, "invalid_id"),
        (2, "missing_id"),
        (3, "missing_entry"),
        (4, "missing_required_fields"),
        (5, "invalid_semver"),
    ]
    assert answer["errors"][0]["id"] == "../x"
    assert all(error["error"] for error in answer["errors"])
    assert (
        desk.error("instructions/import", entries=[], mode="replace").code.kind
        is Kind.INVALID_ARGUMENT
    )


@promise("000-import-validate")
def test_import_without_validation_still_checks_ids(desk: Any) -> None:
    entries = [
        {"id": "odd", "body": "x", "priority": 900, "requirement": "MUST"},
        {"id": "../../etc/x", "body": "x"},
    ]
    answer = desk.do("import", entries=entries, mode="skip", validate=False)
    assert answer["imported"] == 1
    assert [error["code"] for error in answer["errors"]] == ["invalid_id"]
    item = desk.do("get", id="odd")["item"]
    assert (item["priority"], item["requirement"]) == (50, "mandatory")
    strict = desk.do(
        "import", entries=[{"id": "odd2", "body": "x", "priority": 900}], mode="skip", validate=True
    )
    assert [error["code"] for error in strict["errors"]] == ["invalid_fields"]


@promise("000-import-time")
def test_import_sets_timestamps_and_hashes(desk: Any) -> None:
    entry = {
        "id": "a",
        "body": "A",
        "createdAt": "2001-01-01T00:00:00Z",
        "updatedAt": "2001-01-01T00:00:00Z",
        "sourceHash": "f" * 64,
    }
    desk.do("import", entries=[entry], mode="skip")
    item = desk.do("get", id="a")["item"]
    assert item["createdAt"] > "2020"
    assert item["updatedAt"] > "2020"
    assert item["sourceHash"] == hashlib.sha256(b"A").hexdigest()


@promise("000-remove-shape")
def test_remove_returns_the_shape_of_the_contract(desk: Any) -> None:
    desk.add("a")
    desk.add("b")
    answer = desk.do("remove", ids=["a", "nope", "a"])
    assert (
        answer["removed"],
        answer["removedIds"],
        answer["missing"],
        answer["errorCount"],
        answer["errors"],
    ) == (
        1,
        ["a"],
        ["nope"],
        0,
        [],
    )
    assert desk.do("get", id="a")["notFound"]
    assert desk.files.get("a.json") is None
    assert desk.call("instructions/remove", id="b")["removed"] == 1
    assert desk.error("instructions/remove").code.kind is Kind.INVALID_ARGUMENT
    assert desk.do("remove", ids=["../escape"])["missing"] == ["../escape"]


@promise("000-remove-confirm")
def test_more_than_ten_need_confirmation(desk: Any) -> None:
    ids = [f"n{number}" for number in range(11)]
    for id_ in ids:
        desk.add(id_)
    error = desk.error("instructions/remove", ids=ids)
    assert error.code.kind is Kind.INVALID_ARGUMENT
    assert "confirm" in str(error.hint)
    assert desk.do("list")["count"] == 11
    assert desk.do("remove", ids=ids[:10])["removed"] == 10
    for id_ in ids[:10]:
        desk.add(id_)
    assert desk.do("remove", ids=ids, confirm=True)["removed"] == 11
    assert (
        desk.error("instructions/remove", ids=ids).code.kind is Kind.INVALID_ARGUMENT
    )  # eleven are asked for, whether they exist or not
    assert desk.do("remove", ids=ids, confirm=True)["missing"] == ids


@promise("000-remove-cascade")
def test_cascade_removes_dependents_of_dependents(desk: Any) -> None:
    desk.add("base")
    desk.add("mid", dependencies=["base"])
    desk.add("top", dependencies=["mid"])
    desk.add("other")
    assert "cascadeRemovals" not in desk.do("remove", ids=["nope"])
    answer = desk.do("remove", ids=["base"], cascade=True)
    assert answer["removedIds"] == ["base"]
    assert answer["cascadeRemovals"] == ["mid", "top"]
    assert answer["removed"] == 3
    assert [item["id"] for item in desk.do("list")["items"]] == ["other"]


@pytest.mark.parametrize("levels", [250, 900])
def test_an_entry_nested_too_deep_is_refused_with_its_field(desk: Any, levels: int) -> None:
    deep: Any = "x"
    for _ in range(levels):
        deep = [deep]
    for field in ("extensions", "examples", "unknown"):
        answer = desk.do("add", entry={"id": "a", "body": "x", field: {"deep": deep}}, lax=True)
        assert (answer["created"], answer["error"]) == (False, "invalid_fields")
        assert field in answer["feedbackHint"]
        imported = desk.do(
            "import", entries=[{"id": "a", "body": "x", field: {"deep": deep}}], mode="overwrite"
        )
        assert imported["imported"] == 0
        assert len(imported["errors"]) == 1
