"""`commonplace oas fix|convert|join|bundle|overlay|generate`: previews, `--check`, files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from commonplace.openapi.engine.document.load import parse_text
from oas_calls import minimal, operation

COMMENTED = """# the one API
openapi: 3.0.0
info: {title: A, version: '1'}  # kept
paths:
  /a/{id}:
    get:
      responses: {'200': {description: ok}}
"""


def swagger() -> dict[str, Any]:
    return minimal("2.0", paths={"/a": {"get": {"responses": {"200": {"description": "d"}}}}})


# fix


def test_fix_prints_the_document_and_its_fixes(shell: Any) -> None:
    printed = shell.oas("fix", shell.write("a.yaml", COMMENTED))
    assert printed.out.startswith("# the one API\n")
    assert parse_text(printed.out).data["paths"]["/a/{id}"]["get"]["parameters"][0]["name"] == "id"
    assert "missing-path-parameter" in printed.err
    assert "1 fixes" in printed.err
    assert shell.read("a.yaml") == COMMENTED


def test_fix_in_place_previews_keeps_comments_and_is_done_once(shell: Any) -> None:
    file = shell.write("a.yaml", COMMENTED)
    printed = shell.oas("fix", file, "--in-place")
    assert "+" in printed.err
    assert "wrote" in printed.err
    assert "# kept" in shell.read(file)
    assert "is up to date" in shell.oas("fix", file, "--in-place").err


def test_fix_check_writes_nothing_and_sets_the_exit_code(shell: Any) -> None:
    file = shell.write("a.yaml", COMMENTED)
    shell.oas("fix", file, "--check", expect=1)
    assert shell.oas("fix", file, "--check", "--json", expect=1).json["fix_count"] == 1
    assert shell.read(file) == COMMENTED
    shell.oas("fix", file, "-i", "--yes")
    shell.oas("fix", file, "--check")
    shell.oas("fix", file, "-i", "--check")


def test_fix_accepts_its_flags(shell: Any) -> None:
    schemas = {"Response[User]": {"type": "object"}, "Unused": {"type": "string"}}
    responses = {
        "200": {
            "description": "d",
            "content": {
                "application/json": {"schema": {"$ref": "#/components/schemas/Response[User]"}}
            },
        }
    }
    missing = {
        "200": {
            "description": "d",
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Gone"}}},
        }
    }
    document = minimal(
        paths={
            "/a": {"get": {"operationId": "x", "responses": responses}},
            "/b": {"get": {"operationId": "x", "responses": missing}},
        },
        components={"schemas": schemas},
    )
    file = shell.write("a.json", document)
    flags = ("--operation-ids", "--schema-names", "--prune", "--stub-missing-refs")
    fixes = shell.oas("fix", file, *flags, "--json").json["fixes"]
    assert {fix["type"] for fix in fixes} == {
        "duplicate-operation-id",
        "renamed-generic-schema",
        "pruned-unused-schema",
        "stub-missing-ref",
    }


def test_fix_writes_json_or_yaml_by_the_file_name(shell: Any) -> None:
    shell.oas("fix", shell.write("a.yaml", COMMENTED), "-o", "b.json")
    assert json.loads(shell.read("b.json"))["paths"]["/a/{id}"]["get"]["parameters"]


def test_in_place_needs_a_file(shell: Any) -> None:
    assert "--in-place needs a file" in shell.oas("fix", "-", "-i", stdin=COMMENTED, expect=2).err


# convert


def test_convert_prints_writes_previews_and_checks(shell: Any) -> None:
    file = shell.write("old.json", swagger())
    assert shell.oas("convert", file, "--target", "3.1").json["openapi"].startswith("3.1.")
    assert (
        "2.0 -> 3.1.1: 0 critical, 0 warning, 0 info"
        in shell.oas("convert", file, "--target", "3.1", "-o", "new.yaml").err
    )
    assert parse_text(shell.read("new.yaml")).data["openapi"] == "3.1.1"
    shell.oas("convert", file, "--target", "3.1", "-o", "new.yaml", "--check")
    shell.oas("convert", file, "--target", "3.2", "-o", "new.yaml", "--check", expect=1)
    preview = shell.oas("convert", file, "--target", "3.2", "-o", "new.yaml").err
    assert "-openapi: 3.1.1" in preview
    assert "+openapi: 3.2.0" in preview
    assert "is up to date" in shell.oas("convert", file, "--target", "3.2", "-o", "new.yaml").err


def test_convert_lists_what_was_lost(shell: Any) -> None:
    source = minimal("3.1.0", webhooks={"w": {"post": operation()}})
    printed = shell.oas("convert", shell.write("a.json", source), "--target", "2.0")
    assert "critical" in printed.err
    assert "/webhooks" in printed.err
    answer = shell.oas("convert", "a.json", "--target", "2.0", "--json").json
    assert (answer["success"], answer["critical_count"]) == (False, 1)


# join and bundle


def test_join_merges_and_summarizes(shell: Any) -> None:
    left = shell.write("left.json", minimal(paths={"/a": {"get": operation()}}))
    right = shell.write("right.json", minimal(paths={"/b": {"get": operation()}}))
    assert list(shell.oas("join", left, right).json["paths"]) == ["/a", "/b"]
    assert "Joined 2 documents: 2 paths" in shell.oas("join", left, right, "-o", "all.json").err
    shell.oas("join", left, right, "-o", "all.json", "--check")
    clash = shell.write("clash.json", minimal(paths={"/a": {"get": operation(summary="other")}}))
    assert "/a" in shell.oas("join", left, clash, expect=5).err
    kept = shell.oas("join", left, clash, "--paths", "accept-right").json
    assert kept["paths"]["/a"]["get"]["summary"] == "other"
    assert "convert" in shell.oas("join", left, shell.write("old.json", swagger()), expect=2).err


def test_bundle_includes_other_files(shell: Any) -> None:
    shell.write("pet.yaml", "type: object\n")
    content = {"application/json": {"schema": {"$ref": "pet.yaml"}}}
    root = minimal(
        paths={
            "/a": {"get": operation(responses={"200": {"description": "d", "content": content}})}
        }
    )
    printed = shell.oas("bundle", shell.write("root.json", root))
    assert printed.json["components"]["schemas"] == {"pet": {"type": "object"}}
    assert "1 parts from 1 other files" in printed.err
    assert (
        "--check compares with a file" in shell.oas("bundle", "root.json", "--check", expect=2).err
    )
    shell.oas("bundle", "root.json", "-o", "one.json", "--check", expect=1)
    assert not (shell.folder / "one.json").exists()


# overlay


OVERLAY = """overlay: 1.0.0
info: {title: o, version: '1'}
actions:
- {target: $.info, update: {title: New}}
- {target: $.nothing, remove: true}
"""


def test_overlay_shows_matches_and_applies(shell: Any) -> None:
    source, overlay = shell.write("a.yaml", COMMENTED), shell.write("o.yaml", OVERLAY)
    dry = shell.oas("overlay", source, overlay, "--dry-run")
    assert dry.out == ""
    rows = [line.split() for line in dry.err.splitlines()]
    assert ["0", "update", "1", "$.info"] in rows
    assert ["1", "remove", "0", "$.nothing"] in rows
    assert shell.oas("overlay", source, overlay, "--dry-run", "--json").json["actions_applied"] == 1
    applied = shell.oas("overlay", source, overlay).out
    assert "title: New" in applied
    assert applied.startswith("# the one API")
    assert "matches nothing" in shell.oas("overlay", source, overlay, "--strict", expect=5).err
    shell.oas("overlay", source, overlay, "-o", "new.yaml")
    shell.oas("overlay", source, overlay, "-o", "new.yaml", "--check")


def test_overlays_are_validated(shell: Any) -> None:
    assert "valid, 2 actions" in shell.oas("overlay-validate", shell.write("o.yaml", OVERLAY)).err
    broken = shell.oas(
        "overlay-validate", shell.write("bad.yaml", "overlay: 1.0.0\nactions: []\n"), expect=1
    )
    assert "error" in broken.out
    assert shell.oas("overlay-validate", "bad.yaml", "--json", expect=1).json["valid"] is False


# generate


@pytest.mark.parametrize(("language", "file"), [("go", "types.go"), ("python", "models.py")])
def test_generate_writes_and_checks(shell: Any, language: str, file: str) -> None:
    source = shell.write(
        "a.json",
        minimal(
            components={
                "schemas": {"Pet": {"type": "object", "properties": {"id": {"type": "integer"}}}}
            }
        ),
    )
    shell.oas("generate", source, "-o", "out", "-l", language, "--check", expect=1)
    assert not (shell.folder / "out").exists()
    printed = shell.oas("generate", source, "-o", "out", "-l", language)
    assert file in printed.out
    assert "1 types, 0 operations" in printed.err
    shell.oas("generate", source, "-o", "out", "-l", language, "--check")
    made = shell.folder / "out" / file
    made.write_text(made.read_text() + "\n")
    assert (
        f"{file} is out of date"
        in shell.oas("generate", source, "-o", "out", "-l", language, "--check", expect=1).err
    )
    assert (
        shell.oas("generate", source, "-o", "out", "-l", language, "--json").json["success"] is True
    )
    made.write_text("package mine\n")
    assert (
        "was not written by this generator"
        in shell.oas("generate", source, "-o", "out", "-l", language, expect=5).err
    )


def test_outputs_outside_the_folder_are_refused(shell: Any) -> None:
    source = shell.write("a.yaml", COMMENTED)
    for arguments in (
        ("fix", source, "-o", "/outside.yaml"),
        ("generate", source, "-o", "/outside"),
    ):
        assert "outside the folders" in shell.oas(*arguments, expect=4).err
