"""Write tools as docs/reference/contracts/openapi.md requires, through the pipeline."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from commonplace.dispatch.call import Call, to_json
from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Registry
from commonplace.kernel.auth import AuthContext, Scope, local_user
from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.service import OpenApiService
from commonplace.openapi.store.access import Access
from commonplace.openapi.store.documents import DocumentStore
from commonplace.openapi.toolset import toolset

NAMES = ("fix", "convert", "join", "overlay_apply", "overlay_validate", "generate")
SPEC = {
    "openapi": "3.0.3",
    "info": {"title": "Pets", "version": "1"},
    "paths": {
        "/pets/{id}": {
            "get": {"operationId": "getPet", "responses": {"200": {"description": "ok"}}}
        }
    },
    "components": {
        "schemas": {
            "Pet": {"type": "object", "properties": {"name": {"type": "string", "nullable": True}}}
        }
    },
}
CONTENT = {"content": json.dumps(SPEC)}
OVERLAY = {
    "content": "overlay: 1.0.0\ninfo: {title: Titles, version: '1'}\nactions:\n"
    "  - target: $.info\n    update: {title: New}\n  - target: $.zzz\n    remove: true\n"
}


class Tools:
    def __init__(self, folder: Path, *, read_only: bool = False, local: bool = True) -> None:
        access = Access(local=local, working_folder=folder, roots=() if local else (folder,))
        openapi = toolset(lambda: OpenApiService(DocumentStore(access)))
        self.tools = {name: tool for tool in openapi.load() for name in (tool.name, *tool.aliases)}
        self.pipeline = Pipeline(Registry([openapi]), read_only=read_only)

    def call(self, tool: str, auth: AuthContext | None = None, **arguments: Any) -> Any:
        outcome = asyncio.run(self.pipeline.run(Call(tool, arguments, auth or local_user())))
        if outcome.error is not None:
            raise outcome.error
        assert outcome.output is not None
        return to_json(outcome.output)

    def error(
        self, tool: str, auth: AuthContext | None = None, **arguments: Any
    ) -> CommonplaceError:
        with pytest.raises(CommonplaceError) as raised:
            self.call(tool, auth, **arguments)
        return raised.value


@pytest.fixture
def tools(tmp_path: Path) -> Tools:
    return Tools(tmp_path)


def test_every_contract_name_is_an_alias_and_errors_show_the_message_first(tools: Tools) -> None:
    for name in NAMES:
        assert tools.tools[name] is tools.tools[f"oas_{name}"]
        assert tools.tools[name].message_first
    assert "oas_bundle" in tools.tools


# fix
def test_fix_reports_each_fix_and_returns_the_document_when_asked(tools: Tools) -> None:
    answer = tools.call("fix", spec=CONTENT, include_document=True)
    assert answer["version"] == "3.0.3"
    assert answer["fix_count"] == 1
    assert set(answer["fixes"][0]) == {"type", "path", "description"}
    assert (
        json.loads(answer["document"])["paths"]["/pets/{id}"]["get"]["parameters"][0]["name"]
        == "id"
    )
    assert "document" not in tools.call("fix", spec=CONTENT)


def test_fix_keeps_the_names_that_other_files_of_the_document_use(
    tools: Tools, tmp_path: Path
) -> None:
    (tmp_path / "a.yaml").write_text(
        "get: {responses: {'200': {description: k, content: {a/b: {schema: {anyOf: "
        "[{$ref: 'root.yaml#/components/schemas/Pet'}, {$ref: "
        "'root.yaml#/components/schemas/R[U]'}]}}}}}}\n"
    )
    (tmp_path / "root.yaml").write_text(
        "openapi: 3.0.3\ninfo: {title: t, version: '1'}\npaths: {/a: {$ref: a.yaml}}\n"
        "components:\n  schemas:\n    Pet: {type: string}\n    'R[U]': {type: string}\n    "
        "Unused: {type: string}\n"
    )
    answer = tools.call("fix", spec={"file": "root.yaml"}, prune=True, fix_schema_names=True)
    assert [(fix["type"], fix["path"]) for fix in answer["fixes"]] == [
        ("pruned-unused-schema", "/components/schemas/Unused")
    ]


def test_fix_writes_its_output_and_dry_run_writes_nothing(tools: Tools, tmp_path: Path) -> None:
    assert "written_to" not in tools.call("fix", spec=CONTENT, output="out.json", dry_run=True)
    assert not (tmp_path / "out.json").exists()
    answer = tools.call("fix", spec=CONTENT, output="out.json")
    assert answer["written_to"] == str((tmp_path / "out.json").resolve())
    assert (
        "parameters"
        in json.loads((tmp_path / "out.json").read_text())["paths"]["/pets/{id}"]["get"]
    )


def test_a_file_may_have_as_long_a_name_as_its_folder_allows(tools: Tools, tmp_path: Path) -> None:
    name = "x" * 250 + ".json"
    tools.call("fix", spec=CONTENT, output=name)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == [name]


def test_fix_in_place_keeps_the_comments_of_a_yaml_file(tools: Tools, tmp_path: Path) -> None:
    source = (
        "# mine\nopenapi: 3.0.3\ninfo: {title: t, version: '1'} # here\npaths:\n  /a/{b}:\n "
        "   get: # op\n      responses: {}\n"
    )
    (tmp_path / "spec.yaml").write_text(source)
    tools.call("fix", spec={"file": str(tmp_path / "spec.yaml")}, output="spec.yaml")
    text = (tmp_path / "spec.yaml").read_text()
    assert all(line in text for line in ("# mine", "# here", "# op"))
    assert yaml.safe_load(text)["paths"]["/a/{b}"]["get"]["parameters"][0]["required"] is True
    again = tools.call("fix", spec={"file": str(tmp_path / "spec.yaml")})
    assert again["fix_count"] == 0


def test_fix_flags(tools: Tools) -> None:
    broken = {
        **SPEC,
        "paths": {
            "/a": {"get": {"operationId": "x", "responses": {}}},
            "/b": {"get": {"operationId": "x", "responses": {}}},
            "/c": {},
        },
        "components": {"schemas": {"R[U]": {"$ref": "#/components/schemas/Gone"}}},
    }
    spec = {"content": json.dumps(broken)}
    flags = {
        "fix_duplicate_operationids": "duplicate-operation-id",
        "fix_schema_names": "renamed-generic-schema",
        "prune": "pruned-unused-schema",
        "stub_missing_refs": "stub-missing-ref",
    }
    assert tools.call("fix", spec=spec)["fix_count"] == 0
    for flag, kind in flags.items():
        assert kind in {
            fix["type"] for fix in tools.call("fix", spec=spec, **{flag: True})["fixes"]
        }, flag


def test_fix_pages_long_lists(tools: Tools) -> None:
    many = {**SPEC, "paths": {f"/{n}/{{id}}": {"get": {"responses": {}}} for n in range(150)}}
    first = tools.call("fix", spec={"content": json.dumps(many)})
    rest = tools.call("fix", spec={"content": json.dumps(many)}, offset=100, limit=1000)
    assert (first["fix_count"], first["returned"], len(rest["fixes"])) == (150, 100, 50)


# convert
def test_convert_answers_with_versions_issues_and_the_document(tools: Tools) -> None:
    answer = tools.call("convert", spec=CONTENT, target="3.1")
    assert (answer["source_version"], answer["target_version"], answer["document_version"]) == (
        "3.0.3",
        "3.1",
        "3.1.1",
    )
    assert answer["success"] is True
    assert answer["issue_count"] == len(answer["issues"])
    document = json.loads(answer["document"])
    assert document["openapi"] == "3.1.1"
    assert document["components"]["schemas"]["Pet"]["properties"]["name"] == {
        "type": ["string", "null"]
    }


def test_convert_to_a_file_leaves_the_document_out_and_follows_its_name(
    tools: Tools, tmp_path: Path
) -> None:
    answer = tools.call("convert", spec=CONTENT, target="2.0", output="swagger.yaml")
    assert "document" not in answer
    assert yaml.safe_load((tmp_path / "swagger.yaml").read_text())["swagger"] == "2.0"


def test_convert_keeps_the_format_of_its_input(tools: Tools) -> None:
    answer = tools.call(
        "convert", spec={"content": yaml.safe_dump(SPEC, sort_keys=False)}, target="3.1"
    )
    assert answer["document"].startswith("openapi: 3.1.1\n")


def test_convert_reports_what_is_impossible(tools: Tools) -> None:
    hooks = {"openapi": "3.1.0", "info": {"title": "t", "version": "1"}, "webhooks": {"a": {}}}
    answer = tools.call("convert", spec={"content": json.dumps(hooks)}, target="2.0")
    assert answer["success"] is False
    assert answer["critical_count"] >= 1
    assert answer["issues"][0]["severity"] == "critical"
    assert set(answer["issues"][0]) == {"severity", "path", "message"}


@pytest.mark.parametrize("target", ["", "4.0", "3", "2.0.1", "three"])
def test_convert_refuses_targets_it_does_not_know(tools: Tools, target: str) -> None:
    error = tools.error("convert", spec=CONTENT, target=target)
    assert error.code.name == "INVALID_ARGUMENT"
    assert "target" in str(error.details)


# join
def test_join_counts_and_returns_the_document(tools: Tools) -> None:
    other = {
        **SPEC,
        "paths": {"/other": {"get": {"responses": {}}}},
        "components": {"schemas": {"Pet": {"type": "string"}, "Toy": {}}},
    }
    answer = tools.call("join", specs=[CONTENT, {"content": json.dumps(other)}])
    assert (
        answer["spec_count"],
        answer["path_count"],
        answer["schema_count"],
        answer["collision_count"],
    ) == (2, 2, 2, 1)
    assert answer["warning_count"] == len(answer["warnings"]) == 1
    assert set(json.loads(answer["document"])["paths"]) == {"/pets/{id}", "/other"}


def test_join_strategies_and_output(tools: Tools, tmp_path: Path) -> None:
    other = {
        "content": json.dumps(
            {**SPEC, "paths": {"/pets/{id}": {"get": {"summary": "other", "responses": {}}}}}
        )
    }
    assert tools.error("join", specs=[CONTENT, other]).code.name == "JOIN_COLLISION"
    assert (
        tools.error("join", specs=[CONTENT, other], path_strategy="fail").code.name
        == "JOIN_COLLISION"
    )
    tools.call("join", specs=[CONTENT, other], path_strategy="accept-right", output="joined.json")
    assert (
        json.loads((tmp_path / "joined.json").read_text())["paths"]["/pets/{id}"]["get"]["summary"]
        == "other"
    )
    assert (
        tools.error("join", specs=[CONTENT, other], path_strategy="guess").code.name
        == "INVALID_ARGUMENT"
    )


def test_join_needs_two_documents_of_one_version(tools: Tools) -> None:
    assert tools.error("join", specs=[CONTENT]).code.name == "SPEC_INPUT"
    old = {"content": '{"swagger": "2.0", "info": {"title": "t", "version": "1"}, "paths": {}}'}
    error = tools.error("join", specs=[CONTENT, old])
    assert error.code.name == "MIXED_VERSIONS"
    assert "convert" in str(error.hint)


# overlays
def test_overlay_apply_counts_matches_and_returns_the_document(tools: Tools) -> None:
    answer = tools.call("overlay_apply", spec=CONTENT, overlay=OVERLAY)
    assert (answer["actions_applied"], answer["actions_skipped"]) == (1, 1)
    assert answer["changes"][0] == {
        "action_index": 0,
        "target": "$.info",
        "operation": "update",
        "match_count": 1,
    }
    assert answer["warnings"]
    assert json.loads(answer["document"])["info"] == {"title": "New", "version": "1"}


def test_overlay_apply_dry_run_strict_and_output(tools: Tools, tmp_path: Path) -> None:
    preview = tools.call(
        "overlay_apply", spec=CONTENT, overlay=OVERLAY, dry_run=True, output="x.json"
    )
    assert "document" not in preview
    assert not (tmp_path / "x.json").exists()
    assert preview["changes"][0]["match_count"] == 1
    assert (
        tools.error("overlay_apply", spec=CONTENT, overlay=OVERLAY, strict=True).code.name
        == "OVERLAY_TARGET_UNMATCHED"
    )
    tools.call("overlay_apply", spec=CONTENT, overlay=OVERLAY, output="x.json")
    assert json.loads((tmp_path / "x.json").read_text())["info"]["title"] == "New"
    assert (
        tools.error("overlay_apply", spec=CONTENT, overlay={"content": "overlay: 1.0.0"}).code.name
        == "INVALID_OVERLAY"
    )


def test_overlay_validate_under_both_names_of_its_input(tools: Tools) -> None:
    for name in ("spec", "overlay"):
        answer = tools.call("overlay_validate", **{name: OVERLAY})
        assert (answer["valid"], answer["version"], answer["title"], answer["action_count"]) == (
            True,
            "1.0.0",
            "Titles",
            2,
        )
        assert (answer["error_count"], answer["errors"]) == (0, [])
    bad = tools.call(
        "overlay_validate", spec={"content": "overlay: 1.0.0\ninfo: {title: t}\nactions: []"}
    )
    assert bad["valid"] is False
    assert {error["path"] for error in bad["errors"]} == {"/info", "/actions"}
    assert (
        tools.error("overlay_validate", spec={"content": "overlay: 1.2.0"}).code.name
        == "UNSUPPORTED_VERSION"
    )
    assert tools.error("overlay_validate").code.name in ("SPEC_INPUT", "INVALID_ARGUMENT")


# generate
def test_generate_writes_types_by_default_and_client_and_server_on_request(
    tools: Tools, tmp_path: Path
) -> None:
    answer = tools.call("generate", spec=CONTENT, output_dir="gen")
    assert answer["success"] is True
    assert (answer["package_name"], answer["output_dir"]) == (
        "api",
        str((tmp_path / "gen").resolve()),
    )
    assert answer["file_count"] == len(answer["files"])
    assert all(set(file) == {"name", "size"} for file in answer["files"])
    assert answer["generated_types"] == 1
    assert (answer["warning_count"], answer["critical_count"]) == (0, 0)
    assert "client.go" not in {file["name"] for file in answer["files"]}
    both = tools.call(
        "generate", spec=CONTENT, output_dir="gen", client=True, server=True, package_name="pets"
    )
    names = {file["name"] for file in both["files"]}
    assert {"types.go", "client.go", "server.go"} <= names
    assert both["generated_operations"] == 1
    assert (tmp_path / "gen" / "types.go").read_text().count("package pets\n") == 1
    back = tools.call("generate", spec=CONTENT, output_dir="gen")
    assert "client.go" in back["removed"]
    assert not (tmp_path / "gen" / "client.go").exists()


def test_generate_can_return_files_and_needs_somewhere_to_put_them(tools: Tools) -> None:
    answer = tools.call("generate", spec=CONTENT, include_files=True)
    assert any("type Pet struct" in file["content"] for file in answer["files"])
    assert tools.error("generate", spec=CONTENT).details == {"field": "output_dir"}
    assert tools.error("generate", spec=CONTENT, output_dir="x", types=False).details == {
        "field": "types"
    }


def test_generate_refuses_foreign_files_and_odd_package_names(tools: Tools, tmp_path: Path) -> None:
    (tmp_path / "gen").mkdir()
    (tmp_path / "gen" / "types.go").write_text("package mine\n")
    assert tools.error("generate", spec=CONTENT, output_dir="gen").code.name == "FOREIGN_FILE"
    assert (tmp_path / "gen" / "types.go").read_text() == "package mine\n"
    for name in ("Upper", "a-b", "func", "../x"):
        assert (
            tools.error("generate", spec=CONTENT, output_dir="y", package_name=name).code.name
            == "INVALID_ARGUMENT"
        )


def test_generate_python(tools: Tools) -> None:
    answer = tools.call(
        "generate", spec=CONTENT, language="python", client=True, include_files=True
    )
    assert {file["name"] for file in answer["files"]} == {
        "__init__.py",
        "client.py",
        "models.py",
        "runtime.py",
    }
    assert (
        tools.error("generate", spec=CONTENT, language="rust", include_files=True).code.name
        == "INVALID_ARGUMENT"
    )


# Rules for all of them
WRITING: dict[str, dict[str, Any]] = {
    "fix": {"spec": CONTENT, "output": "o"},
    "convert": {"spec": CONTENT, "target": "3.1", "output": "o"},
    "join": {"specs": [CONTENT, CONTENT], "output": "o"},
    "overlay_apply": {"spec": CONTENT, "overlay": OVERLAY, "output": "o"},
    "generate": {"spec": CONTENT, "output_dir": "o"},
    "oas_bundle": {"spec": CONTENT, "output": "o"},
}


@pytest.mark.parametrize("tool", WRITING)
def test_writing_a_file_needs_the_write_scope(tools: Tools, tmp_path: Path, tool: str) -> None:
    reader = AuthContext(local_user().tenant, frozenset({Scope.READ}), "reader")
    assert tools.error(tool, reader, **WRITING[tool]).code.name == "SCOPE_REQUIRED"
    assert Tools(tmp_path, read_only=True).error(tool, **WRITING[tool]).code.name == "READ_ONLY"
    assert list(tmp_path.iterdir()) == []
    looking = {
        key: value for key, value in WRITING[tool].items() if key not in ("output", "output_dir")
    }
    looking |= {"include_files": True} if tool == "generate" else {}
    assert tools.call(tool, reader, **looking)


@pytest.mark.parametrize("tool", WRITING)
def test_outputs_stay_inside_the_allowed_folders(tools: Tools, tmp_path: Path, tool: str) -> None:
    field = "output_dir" if tool == "generate" else "output"
    outside = tmp_path.parent / "outside"
    (tmp_path / "link").symlink_to(tmp_path.parent)
    for path in (str(outside), "../outside", "link/outside"):
        assert tools.error(tool, **{**WRITING[tool], field: path}).code.name == "PATH_NOT_ALLOWED"
    assert not outside.exists()


@pytest.mark.parametrize("tool", [*NAMES, "oas_bundle"])
def test_a_spec_needs_exactly_one_source(tools: Tools, tool: str) -> None:
    arguments = dict(WRITING.get(tool, {"spec": OVERLAY}))
    for bad in ({}, {"file": "a", "content": "b"}):
        broken = (
            {**arguments, "specs": [bad, CONTENT]} if tool == "join" else {**arguments, "spec": bad}
        )
        assert tools.error(tool, **broken).code.name == "SPEC_INPUT"


@pytest.mark.parametrize("tool", [name for name in WRITING if name != "join"])
@pytest.mark.parametrize(
    "hostile",
    [
        "[",
        "[]",
        "{}",
        '{"openapi": "3.3.0"}',
        '{"openapi": "3.0.0", "paths": [], "components": 5, "info": null, "servers": {}}',
    ],
)
def test_hostile_documents_give_a_typed_error_or_an_answer(
    tools: Tools, tool: str, hostile: str
) -> None:
    arguments = {
        key: value for key, value in WRITING[tool].items() if key not in ("output", "output_dir")
    }
    arguments |= {"include_files": True} if tool == "generate" else {}
    try:
        tools.call(tool, **{**arguments, "spec": {"content": hostile}})
    except CommonplaceError as error:
        assert error.code.name != "INTERNAL", error.message  # noqa: PT017


def test_a_document_nested_to_the_limit_is_answered_with_a_typed_error(tools: Tools) -> None:
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(480):
        deep = {"items": deep}
    spec = {"content": json.dumps({**SPEC, "components": {"schemas": {"Deep": deep}}})}
    for tool, arguments in (
        ("convert", {"target": "2.0"}),
        ("generate", {"include_files": True}),
        ("fix", {"prune": True}),
    ):
        try:
            tools.call(tool, spec=spec, **arguments)
        except CommonplaceError as error:
            assert error.code.name == "SPEC_TOO_DEEP"  # noqa: PT017
