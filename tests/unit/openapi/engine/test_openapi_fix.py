"""Each fixer: what it changes, what it leaves alone, and that a second run finds nothing."""

from __future__ import annotations

import copy
from dataclasses import asdict
from typing import Any

from commonplace.openapi.engine.document.load import parse_text
from commonplace.openapi.engine.fix import FixedDocument, FixOptions, fix
from commonplace.openapi.engine.yaml.edit import edit_yaml
from commonplace.openapi.model import Family

EVERYTHING = FixOptions(
    duplicate_operation_ids=True, schema_names=True, prune=True, stub_missing_refs=True
)


def document(paths: dict[str, Any], **components: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "paths": paths,
    }
    if components:
        made["components"] = components
    return made


def fixed(
    source: dict[str, Any], options: FixOptions = EVERYTHING, family: Family = Family.V30
) -> FixedDocument:
    before = copy.deepcopy(source)
    result = fix(source, family, options)
    assert source == before, "the source must not change"
    again = fix(result.document, family, options)
    assert again.fixes == ()
    assert again.document is result.document
    return result


OK = {"200": {"description": "ok"}}


def test_an_undeclared_path_parameter_is_declared_as_a_required_string() -> None:
    result = fixed(document({"/pets/{petId}": {"get": {"responses": OK}}}), FixOptions())
    assert result.document["paths"]["/pets/{petId}"]["get"]["parameters"] == [
        {"name": "petId", "in": "path", "required": True, "schema": {"type": "string"}}
    ]
    assert [asdict(fix) for fix in result.fixes] == [
        {
            "type": "missing-path-parameter",
            "path": "/paths/~1pets~1{petId}/get",
            "description": "Declared path parameter 'petId' as a required string.",
        }
    ]


def test_in_2_0_the_declared_parameter_has_its_type_beside_it() -> None:
    source = {
        "swagger": "2.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/a/{b}": {"get": {"responses": OK}}},
    }
    result = fixed(source, FixOptions(), Family.V20)
    assert result.document["paths"]["/a/{b}"]["get"]["parameters"] == [
        {"name": "b", "in": "path", "required": True, "type": "string"}
    ]


def test_parameters_of_the_path_item_and_of_references_count_as_declared() -> None:
    shared = {"name": "a", "in": "path", "required": True, "schema": {"type": "string"}}
    source = document(
        {
            "/{a}/{b}": {
                "parameters": [shared],
                "get": {"parameters": [{"$ref": "#/components/parameters/B"}], "responses": OK},
            }
        },
        parameters={
            "B": {"name": "b", "in": "path", "required": True, "schema": {"type": "string"}}
        },
    )
    assert fixed(source, FixOptions()).fixes == ()


def test_path_parameters_become_required_in_operations_path_items_and_components() -> None:
    def loose() -> dict[str, Any]:
        return {"name": "a", "in": "path", "schema": {"type": "string"}}

    source = document(
        {
            "/{a}": {
                "parameters": [loose()],
                "get": {"parameters": [{**loose(), "required": False}], "responses": OK},
            }
        },
        parameters={"A": loose()},
    )
    result = fixed(source, FixOptions())
    assert sorted(fix.path for fix in result.fixes) == [
        "/components/parameters/A",
        "/paths/~1{a}/get/parameters/0",
        "/paths/~1{a}/parameters/0",
    ]
    assert {fix.type for fix in result.fixes} == {"path-parameter-not-required"}
    assert result.document["paths"]["/{a}"]["get"]["parameters"][0]["required"] is True


def test_a_query_parameter_that_is_not_required_is_left_alone() -> None:
    source = document(
        {
            "/a": {
                "get": {
                    "parameters": [{"name": "q", "in": "query", "schema": {"type": "string"}}],
                    "responses": OK,
                }
            }
        }
    )
    assert fixed(source).document is source


def test_duplicate_operation_ids_get_the_next_free_number() -> None:
    source = document(
        {path: {"get": {"operationId": "list", "responses": OK}} for path in ("/a", "/b", "/c")}
        | {"/d": {"get": {"operationId": "list2", "responses": OK}}}
    )
    assert fixed(source, FixOptions()).fixes == ()
    result = fixed(source, FixOptions(duplicate_operation_ids=True))
    assert [item["get"]["operationId"] for item in result.document["paths"].values()] == [
        "list",
        "list3",
        "list4",
        "list2",
    ]
    assert [fix.path for fix in result.fixes] == [
        "/paths/~1b/get/operationId",
        "/paths/~1c/get/operationId",
    ]


def test_generic_schema_names_are_renamed_with_every_reference() -> None:
    reference = {"$ref": "#/components/schemas/Response[User]"}
    source = document(
        {
            "/a": {
                "get": {
                    "responses": {
                        "200": {
                            "description": "ok",
                            "content": {"application/json": {"schema": reference}},
                        }
                    }
                }
            }
        },
        schemas={
            "Response[User]": {"type": "object"},
            "Deep": {
                "properties": {
                    "inner": {"$ref": "#/components/schemas/Response[User]/properties/x"}
                }
            },
            "Animal": {
                "discriminator": {
                    "propertyName": "k",
                    "mapping": {
                        "u": "Response[User]",
                        "v": "#/components/schemas/Response%5BUser%5D",
                    },
                }
            },
        },
    )
    result = fixed(source, FixOptions(schema_names=True))
    schemas = result.document["components"]["schemas"]
    assert list(schemas) == ["Response_User_", "Deep", "Animal"]
    content = result.document["paths"]["/a"]["get"]["responses"]["200"]["content"][
        "application/json"
    ]
    assert content["schema"]["$ref"] == "#/components/schemas/Response_User_"
    assert (
        schemas["Deep"]["properties"]["inner"]["$ref"]
        == "#/components/schemas/Response_User_/properties/x"
    )
    assert schemas["Animal"]["discriminator"]["mapping"] == {
        "u": "Response_User_",
        "v": "#/components/schemas/Response_User_",
    }


def test_pruning_removes_empty_paths_and_schemas_that_only_unused_schemas_use() -> None:
    used = {"$ref": "#/components/schemas/Used"}
    source = document(
        {
            "/empty": {"description": "nothing here"},
            "/a": {
                "get": {
                    "responses": {
                        "200": {
                            "description": "ok",
                            "content": {"application/json": {"schema": used}},
                        }
                    }
                }
            },
        },
        schemas={
            "Used": {"properties": {"next": {"$ref": "#/components/schemas/Transitive"}}},
            "Transitive": {"type": "string"},
            "Loop": {"properties": {"self": {"$ref": "#/components/schemas/Loop"}}},
            "Unused": {"$ref": "#/components/schemas/Loop"},
        },
    )
    assert fixed(source, FixOptions()).fixes == ()
    result = fixed(source, FixOptions(prune=True))
    assert list(result.document["paths"]) == ["/a"]
    assert list(result.document["components"]["schemas"]) == ["Used", "Transitive"]
    assert [fix.type for fix in result.fixes] == [
        "pruned-empty-path",
        "pruned-unused-schema",
        "pruned-unused-schema",
    ]


def test_missing_targets_get_stubs_of_their_kind() -> None:
    source = document(
        {
            "/a": {
                "get": {
                    "responses": {
                        "200": {
                            "description": "ok",
                            "content": {
                                "application/json": {
                                    "schema": {"$ref": "#/components/schemas/Gone"}
                                }
                            },
                        },
                        "404": {"$ref": "#/components/responses/NotFound"},
                    }
                }
            }
        }
    )
    result = fixed(source, FixOptions(stub_missing_refs=True))
    assert result.document["components"]["schemas"]["Gone"]["type"] == "object"
    assert "description" in result.document["components"]["responses"]["NotFound"]
    assert [fix.path for fix in result.fixes] == [
        "/components/schemas/Gone",
        "/components/responses/NotFound",
    ]


def test_hostile_shapes_are_left_alone() -> None:
    for broken in (
        [],
        {"paths": []},
        {"paths": {"/a/{b}": None}},
        {"paths": {"/a/{b}": {"get": {"parameters": "x"}}}},
    ):
        source = {"openapi": "3.0.0", **(broken if isinstance(broken, dict) else {})}
        fix(source, Family.V30, EVERYTHING)


YAML = """\
# The pets
openapi: 3.0.3
info: {title: Pets, version: '1'}   # inline
paths:
  /pets/{petId}:   # by id
    get:
      operationId: "list"
      # why not
      responses:
        '200':
          description: >
            folded
            text
  /other/{petId}:
    parameters:
      - name: petId   # keep me
        in: path
        schema: {type: string}
    get:
      operationId: list
      responses: {}

components:
  schemas:
    # the unused one
    Unused:
      type: object
    Used: {type: string}
"""


def test_a_yaml_source_keeps_comments_quotes_and_layout_around_a_fix() -> None:
    data = parse_text(YAML).data
    result = fix(data, Family.V30, FixOptions(duplicate_operation_ids=True))
    text = edit_yaml(YAML, data, result.document)
    assert parse_text(text).data == result.document
    for kept in (
        "# The pets",
        "   # inline",
        "# by id",
        "# why not",
        "# keep me",
        "# the unused one",
        'operationId: "list"',
        "description: >",
    ):
        assert kept in text
    changed = [line for line in text.splitlines() if line not in YAML.splitlines()]
    assert changed == [
        "      parameters:",
        "        - name: petId",
        "          in: path",
        "          required: true",
        "          schema:",
        "            type: string",
        "        required: true",
        "      operationId: list2",
    ]


def test_pruning_a_yaml_source_removes_only_the_lines_of_the_schema() -> None:
    data = parse_text(YAML).data
    result = fix(data, Family.V30, FixOptions(prune=True))
    text = edit_yaml(YAML, data, result.document)
    assert parse_text(text).data == result.document
    assert 'operationId: "list"' in text
    assert "# The pets" in text


def test_a_yaml_source_with_anchors_is_written_correctly_even_where_it_cannot_be_edited() -> None:
    source = (
        "openapi: 3.0.3\ninfo: {title: t, version: '1'}\nx: &x {a: 1}\npaths:\n  /a/{b}:\n  "
        "  get: &op\n      responses: {}\n    put: *op\n"
    )
    data = parse_text(source).data
    result = fix(data, Family.V30, FixOptions())
    assert parse_text(edit_yaml(source, data, result.document)).data == result.document
    assert len(result.fixes) == 2


def test_renaming_beside_other_fixes_leaves_the_source_and_its_comments_alone() -> None:
    text = (
        "openapi: 3.0.3  # the version\n"
        "info: {title: t, version: '1'}\n"
        "paths:\n"
        "  /empty: {}\n"
        "  /x:  # kept\n"
        "    get: {responses: {'200': {$ref: '#/components/responses/Ok'}}}\n"
        "components:\n"
        "  schemas:\n"
        "    R[U]: {type: string}  # a generic name\n"
        "  responses:\n"
        "    Ok: {description: k, content: {application/json: {schema: {$ref: "
        "'#/components/schemas/R[U]'}}}}\n"
    )
    source = parse_text(text).data
    result = fixed(source)
    assert sorted(fix.type for fix in result.fixes) == [
        "pruned-empty-path",
        "renamed-generic-schema",
    ]
    edited = edit_yaml(text, source, result.document)
    assert parse_text(edited).data == result.document
    assert [comment in edited for comment in ("# the version", "# kept", "# a generic name")] == [
        True
    ] * 3


def test_operation_ids_are_made_unique_wherever_operations_are() -> None:
    def operation() -> dict[str, Any]:
        return {"operationId": "x", "responses": OK}

    source = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "webhooks": {"h": {"post": operation()}},
        "paths": {
            "/a": {"get": {**operation(), "callbacks": {"c": {"{$url}": {"post": operation()}}}}}
        },
        "components": {"pathItems": {"P": {"get": operation()}}},
    }
    result = fixed(source, FixOptions(duplicate_operation_ids=True), Family.V31).document
    assert result["paths"]["/a"]["get"]["operationId"] == "x"
    assert result["paths"]["/a"]["get"]["callbacks"]["c"]["{$url}"]["post"]["operationId"] == "x2"
    assert result["webhooks"]["h"]["post"]["operationId"] == "x3"
    assert result["components"]["pathItems"]["P"]["get"]["operationId"] == "x4"


def test_schemas_that_are_referred_to_by_anchor_or_id_are_in_use() -> None:
    source = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {
            "/a": {
                "get": {
                    "responses": {
                        "200": {
                            "description": "k",
                            "content": {
                                "a/b": {
                                    "schema": {"anyOf": [{"$ref": "#pet"}, {"$ref": "urn:cat"}]}
                                }
                            },
                        },
                        "201": {
                            "description": "k",
                            "content": {"a/b": {"schema": {"$dynamicRef": "#node"}}},
                        },
                    }
                }
            }
        },
        "components": {
            "schemas": {
                "Pet": {"$anchor": "pet"},
                "Cat": {"$id": "urn:cat"},
                "Node": {"properties": {"x": {"$dynamicAnchor": "node"}}},
                "Unused": {},
            }
        },
    }
    assert list(
        fixed(source, FixOptions(prune=True), Family.V31).document["components"]["schemas"]
    ) == ["Pet", "Cat", "Node"]


def test_a_reference_in_an_example_gets_no_stub_and_an_escaped_one_gets_its_name() -> None:
    answer = {
        "description": "k",
        "content": {"a/b": {"example": {"$ref": "#/components/schemas/No"}}},
    }
    schema = {"$ref": "#/components/schemas/My%2EX"}
    source = document(
        {
            "/a": {
                "get": {
                    "responses": {
                        "200": answer,
                        "201": {"description": "k", "content": {"a/b": {"schema": schema}}},
                    }
                }
            }
        }
    )
    assert list(
        fixed(source, FixOptions(stub_missing_refs=True)).document["components"]["schemas"]
    ) == ["My.X"]


def test_values_that_python_calls_equal_are_still_written() -> None:
    text = "a: 1  # one\nb: [0, 1]\nc: true\n"
    new = {"a": True, "b": [False, 1], "c": 1}
    edited = edit_yaml(text, parse_text(text).data, new)
    assert edited.splitlines()[0] == "a: true  # one"
    assert repr(parse_text(edited).data) == repr(new)


def test_line_endings_are_kept() -> None:
    text = "a: 1\r\nb:\r\n  c: 2\r\n"
    edited = edit_yaml(text, parse_text(text).data, {"a": 1, "b": {"c": 2, "d": {"e": 3}}, "f": 4})
    assert edited == "a: 1\r\nb:\r\n  c: 2\r\n  d:\r\n    e: 3\r\nf: 4\r\n"
