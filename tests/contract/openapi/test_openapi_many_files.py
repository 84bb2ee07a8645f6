"""Descriptions in several files: counted, walked, validated, compared and bundled as one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from oas_calls import Tools

ROOT = """openapi: 3.1.0
info: {title: M, version: "1"}
paths:
  /pets: {$ref: paths/pets.yaml}
  /pets/{id}: {$ref: paths/pet.yaml}
components:
  schemas: {Pet: {$ref: schemas/pet.yaml}, Local: {type: string}}
  securitySchemes: {k: {$ref: shared.yaml#/security/k}}
security: [{k: []}]
"""
FILES = {
    "paths/pets.yaml": """get:
  operationId: list
  summary: s
  parameters: [{$ref: '../shared.yaml#/parameters/limit'}]
  responses:
    '200':
      description: ok
      content: {application/json: {schema: {type: array, items: {$ref: ../schemas/pet.yaml}}}}
    default: {$ref: '../shared.yaml#/responses/default'}
""",
    "paths/pet.yaml": """parameters:
- {name: id, in: path, required: true, schema: {$ref: '../root.yaml#/components/schemas/Local'}}
get:
  operationId: get
  summary: s
  responses:
    '200': {description: ok, content: {application/json: {schema: {$ref: ../schemas/pet.yaml}}}}
""",
    "schemas/pet.yaml": "type: object\nproperties: {owner: {$ref: owner.yaml}, "
    "friends: {type: array, items: {$ref: '#'}}}\n",
    "schemas/owner.yaml": "type: object\n"
    "properties: {pets: {type: array, items: {$ref: pet.yaml}}, "
    "kind: {$ref: '#/$defs/kind'}}\n"
    "$defs: {kind: {type: string, enum: [a, b]}}\n",
    "shared.yaml": """parameters: {limit: {name: limit, in: query, schema: {type: integer}}}
responses: {default: {description: err, content: {application/json: {schema: {type: object}}}}}
security: {k: {type: apiKey, in: header, name: X}}
""",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {"root.yaml": ROOT, **FILES}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path / "root.yaml"


@pytest.fixture
def ask(root: Path) -> Any:
    tools = Tools()
    return lambda tool, **arguments: tools.call(tool, spec={"file": str(root)}, **arguments)


def test_operations_in_other_files_are_counted_and_walked(ask: Any) -> None:
    assert (ask("parse")["path_count"], ask("parse")["operation_count"]) == (2, 2)
    assert [row["operation_id"] for row in ask("walk_operations")["summaries"]] == ["list", "get"]
    assert {row["name"] for row in ask("walk_parameters", name="limit")["summaries"]} == {"limit"}
    assert ask("walk_responses", group_by="status_code")["groups"][0] == {"key": "200", "count": 2}
    assert ask("walk_refs")["total"] == 4, "references are shown as they are written"


def test_a_bundle_keeps_the_names_of_imports(ask: Any) -> None:
    made = ask("oas_bundle")
    assert made["file_count"] == 5
    whole = Tools()
    spec = {"content": made["document"]}
    assert whole.call("validate", spec=spec)["valid"]
    assert {
        row["name"] for row in whole.call("walk_schemas", spec=spec, component=True)["summaries"]
    } >= {"Local", "Pet", "owner"}
    assert whole.call("walk_refs", spec=spec, target="#/components/schemas/Pet")["refs"] == [
        {"ref": "#/components/schemas/Pet", "count": 4}
    ]


def test_a_document_does_not_differ_from_its_bundle(ask: Any, root: Path) -> None:
    made = ask("oas_bundle")["document"]
    changes = Tools().call("diff", base={"file": str(root)}, revision={"content": made})["changes"]
    assert changes == []


def test_a_change_in_another_file_is_a_change(ask: Any, root: Path) -> None:
    before = ask("oas_bundle")["document"]
    (root.parent / "schemas/owner.yaml").write_text("type: string\n")
    changes = Tools().call("diff", base={"content": before}, revision={"file": str(root)})
    assert changes["breaking_count"] > 0


def test_findings_of_other_files_name_their_origin(ask: Any, root: Path) -> None:
    assert ask("validate")["valid"]
    (root.parent / "schemas/owner.yaml").write_text("type: objekt\n")
    (root.parent / "paths/pet.yaml").write_text(
        FILES["paths/pet.yaml"].replace("operationId: get", "operationId: list")
    )
    errors = {error["rule"]: error for error in ask("validate")["errors"]}
    assert "owner.yaml" in errors["wrong-value"]["message"]
    assert errors["operation-id-duplicate"]["path"] == "/paths/~1pets~1{id}/get/operationId"


def test_a_missing_file_is_named_and_the_rest_is_read(ask: Any, root: Path) -> None:
    (root.parent / "schemas/owner.yaml").unlink()
    walked = ask("walk_operations", detail=True, resolve_refs=True)
    assert walked["returned"] == 2
    assert walked["unresolved_refs"] == ["owner.yaml"]
    assert ask("validate")["valid"] is False


def test_references_of_other_files_that_cannot_be_followed_are_each_shown_once(
    ask: Any, root: Path
) -> None:
    (root.parent / "schemas/owner.yaml").write_text(
        "type: object\nproperties: {a: {$ref: 'http://127.0.0.1:9/a.yaml'}, b: {$ref: "
        "'http://127.0.0.1:9/b.yaml#/x'}}\n"
    )
    answer = ask("validate")
    shown = [
        (warning["message"].split()[0], warning["path"].rsplit("/", 2)[-2])
        for warning in answer["warnings"]
        if warning["rule"] == "ref-external"
    ]
    assert sorted(shown) == [
        ("http://127.0.0.1:9/a.yaml", "a"),
        ("http://127.0.0.1:9/b.yaml#/x", "b"),
    ]


def test_a_reference_relative_to_the_wrong_folder_is_reported(ask: Any, root: Path) -> None:
    """A file of that name beside the root must not satisfy a reference of another folder."""
    (root.parent / "schemas/owner.yaml").write_text(
        "type: object\nproperties: {a: {$ref: lost.yaml}}\n"
    )
    (root.parent / "lost.yaml").write_text("type: string\n")
    found = [
        warning
        for warning in (*ask("validate")["errors"], *ask("validate")["warnings"])
        if warning["rule"].startswith("ref-")
    ]
    assert [finding["message"].split()[0] for finding in found] == ["lost.yaml"]
    ignored = ask("validate", ignore=["ref-*"])
    assert not [
        warning
        for warning in (*ignored["errors"], *ignored["warnings"])
        if warning["rule"].startswith("ref-")
    ]


def test_findings_of_other_files_have_no_line(ask: Any, root: Path) -> None:
    (root.parent / "schemas/owner.yaml").write_text("type: objekt\n")
    (root.parent / "paths/pet.yaml").write_text(
        FILES["paths/pet.yaml"].replace("operationId: get", "operationId: list")
    )
    (root.parent / "root.yaml").write_text(ROOT + "tags: [{name: t}, {name: t}]\n")
    errors = {error["rule"]: error for error in ask("validate")["errors"]}
    assert "line" not in errors["wrong-value"]
    assert "line" not in errors["operation-id-duplicate"]
    assert errors["tag-duplicate"]["line"] == 10


HEAD = 'openapi: 3.0.3\ninfo: {title: M, version: "1"}\n'


@pytest.mark.parametrize(
    "files",
    [
        {
            "root.yaml": HEAD + "paths: {/a: {$ref: 'a.yaml#/'}}\n",
            "a.yaml": "get: {summary: s, responses: {'200': {description: ok}}}\n",
        },
        {
            "root.yaml": HEAD + "paths: {}\ncomponents: {schemas: {X: {$ref: 'sub/x.yaml'}}}\n",
            "sub/x.yaml": "{$ref: 'sub/x.yaml'}\n",
            "sub/sub/x.yaml": "type: string\n",
        },
    ],
    ids=["the whole of a file", "the same words in another folder"],
)
def test_unusual_references_are_resolved(tmp_path: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    answer = Tools().call("oas_validate", spec={"file": str(tmp_path / "root.yaml")})
    assert (answer["errors"], answer["warnings"]) == ([], [])


def test_a_pointer_to_an_unnamed_entry_is_unresolved_in_the_document_itself() -> None:
    content = HEAD + "paths: {}\ncomponents: {schemas: {X: {$ref: '#/'}}}\n"
    assert [
        error["rule"] for error in Tools().call("oas_validate", spec={"content": content})["errors"]
    ] == ["ref-unresolved"]


def test_a_reference_that_may_not_be_followed_says_why(tmp_path: Path) -> None:
    text = HEAD + "paths: {}\ncomponents: {schemas: {X: {$ref: 'http://169.254.169.254/x.yaml'}}}\n"
    (tmp_path / "root.yaml").write_text(text)
    answer = Tools().call("oas_validate", spec={"file": str(tmp_path / "root.yaml")})
    assert [warning["rule"] for warning in answer["warnings"]] == ["ref-external"]
    assert (
        "was not checked. 169.254.169.254 is in a private or local network"
        in answer["warnings"][0]["message"]
    )
