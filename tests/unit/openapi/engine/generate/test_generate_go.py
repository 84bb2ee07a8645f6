"""Generated Go: it compiles, passes vet and gofmt for awkward documents, is typed, and client
and server understand each other.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from go_loopback import driver
from go_toolchain import check_go, go, write_module
from value_samples import Samples

from commonplace.openapi.engine.document.load import load
from commonplace.openapi.engine.generate.go.package import build_go
from commonplace.openapi.engine.generate.model import Api, NamedType, Primitive, Scalar, Struct
from commonplace.openapi.engine.generate.operations import ApiReader
from commonplace.openapi.engine.generate.run import generate, upgrade_document
from commonplace.openapi.model import ApiDocument, Family

SMALL = (
    "petstore-3.0.yaml",
    "petstore-3.2.yaml",
    "tictactoe-3.1.yaml",
    "uber-2.0.json",
    "media-type-examples-3.2.yaml",
)
LOOPBACK = ("petstore-3.0.yaml", "tictactoe-3.1.yaml", "asana.yaml")
LARGE = (
    "docker-engine-swagger.yaml",
    "google-maps.json",
    "twilio-api-v2010.json",
    "discord.json",
    "kubernetes-swagger.json",
    "github-next-ghes-3.6.yaml",
    "stripe.yaml",
    "stripe-prev.yaml",
    "github-api.json",
)


def read(data: Path, name: str) -> ApiDocument:
    return load((data / "openapi/dev" / name).read_bytes())


def spec(
    paths: dict[str, Any] | None = None, schemas: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    document: dict[str, Any] = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": paths or {},
        **more,
    }
    if schemas is not None:
        document["components"] = {**more.get("components", {}), "schemas": schemas}
    return document


def files_of(
    document: dict[str, Any], *, client: bool = True, server: bool = True
) -> dict[str, str]:
    return generate(document, Family.V31, client=client, server=server).files


def types_of(schemas: dict[str, Any]) -> str:
    return generate(spec(schemas=schemas), Family.V31).files["types.go"]


def declaration(source: str, name: str) -> str:
    found = re.search(rf"^type {name} struct {{.*?^}}", source, re.MULTILINE | re.DOTALL)
    assert found, f"no type {name} in\n{source}"
    return found.group()


# What each kind of schema becomes
def test_optional_nullable_and_required_fields_have_their_own_types() -> None:
    text = types_of(
        {
            "M": {
                "type": "object",
                "required": ["a", "b", "list"],
                "properties": {
                    "a": {"type": "string"},
                    "b": {"type": ["string", "null"]},
                    "c": {"type": "string"},
                    "d": {"type": ["string", "null"]},
                    "list": {"type": "array", "items": {"type": "integer", "format": "int32"}},
                    "more": {"type": "array", "items": {"type": ["number", "null"]}},
                    "when": {"type": "string", "format": "date-time"},
                    "day": {"type": "string", "format": "date"},
                    "raw": {"type": "string", "contentEncoding": "base64"},
                    "free": {},
                    "large": {"type": "integer", "format": "uint64"},
                    "map": {"type": "object", "additionalProperties": {"type": "boolean"}},
                },
            }
        }
    )
    body = " ".join(declaration(text, "M").split())
    for line in (
        'A string `json:"a"`',
        'B *string `json:"b"`',
        'C *string `json:"c,omitempty"`',
        'D Nullable[string] `json:"d,omitzero"`',
        'List []int32 `json:"list"`',
        'More []*float64 `json:"more,omitzero"`',
        'When *time.Time `json:"when,omitempty"`',
        'Day *Date `json:"day,omitempty"`',
        'Raw []byte `json:"raw,omitzero"`',
        'Free any `json:"free,omitempty"`',
        'Large *uint64 `json:"large,omitempty"`',
        'Map map[string]bool `json:"map,omitzero"`',
    ):
        assert line in body, body
    assert "m.List = []int32{}" in text


def test_read_only_fields_are_optional_because_requests_lack_them() -> None:
    text = types_of(
        {
            "M": {
                "type": "object",
                "required": ["id"],
                "properties": {"id": {"type": "integer", "readOnly": True}},
            }
        }
    )
    assert 'ID *int64 `json:"id,omitempty"`' in text


def test_enums_have_constants_and_signs_have_names() -> None:
    text = types_of(
        {
            "E": {"type": "string", "enum": ["a-b", "+1", "-1", "", ">=", "a_b"]},
            "N": {"type": "integer", "enum": [-1, 0, 1]},
        }
    )
    names = re.findall(r"^\t(\w+) +[EN] += ", text, re.MULTILINE)
    assert names == [
        "EAB",
        "EPlus1",
        "EMinus1",
        "EEmpty",
        "EGreaterEqual",
        "EAB2",
        "NMinus1",
        "N0",
        "N1",
    ]


def test_all_of_is_one_struct_and_a_single_reference_is_that_type() -> None:
    text = types_of(
        {
            "Base": {
                "type": "object",
                "properties": {"id": {"type": "string"}},
                "required": ["id"],
            },
            "Child": {
                "allOf": [
                    {"$ref": "#/components/schemas/Base"},
                    {"type": "object", "properties": {"name": {"type": "string"}}},
                ]
            },
            "Holder": {
                "type": "object",
                "properties": {
                    "one": {"allOf": [{"$ref": "#/components/schemas/Base"}], "description": "d"}
                },
            },
        }
    )
    assert 'ID   string  `json:"id"`' in declaration(text, "Child")
    assert "One *Base" in declaration(text, "Holder")


def test_unions_hold_one_pointer_per_variant_and_know_the_discriminator() -> None:
    text = types_of(
        {
            "Cat": {
                "type": "object",
                "required": ["kind"],
                "properties": {"kind": {"type": "string"}},
            },
            "Dog": {
                "type": "object",
                "required": ["kind"],
                "properties": {"kind": {"type": "string"}},
            },
            "Pet": {
                "oneOf": [
                    {"$ref": "#/components/schemas/Cat"},
                    {"$ref": "#/components/schemas/Dog"},
                ],
                "discriminator": {
                    "propertyName": "kind",
                    "mapping": {"c": "#/components/schemas/Cat"},
                },
            },
            "Value": {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
            "Either": {"type": ["string", "boolean"]},
        }
    )
    assert "Cat *Cat" in declaration(text, "Pet")
    assert 'mapping: map[string]int{"c": 0, "Dog": 1}' in text
    assert "String *string" in " ".join(declaration(text, "Value").split())
    assert "Bool *bool" in " ".join(declaration(text, "Either").split())


def test_a_child_that_lists_its_parent_whose_one_of_lists_the_child_ends() -> None:
    text = types_of(
        {
            "Pet": {
                "type": "object",
                "properties": {"kind": {"type": "string"}},
                "oneOf": [{"$ref": "#/components/schemas/Cat"}],
                "discriminator": {"propertyName": "kind"},
            },
            "Cat": {
                "allOf": [
                    {"$ref": "#/components/schemas/Pet"},
                    {"type": "object", "properties": {"lives": {"type": "integer"}}},
                ]
            },
        }
    )
    assert "Lives" in declaration(text, "Cat")


def test_equal_inline_objects_are_one_type_when_they_are_large_and_their_own_when_small() -> None:
    large = {"type": "object", "properties": {name: {"type": "string"} for name in "abcde"}}
    small = {"type": "object", "properties": {"a": {"type": "string"}}}
    holder = {"type": "object", "properties": {"large": large, "small": small}}
    text = types_of({"One": holder, "Two": holder})
    assert "Large *OneLarge" in " ".join(declaration(text, "Two").split())
    assert "Small *TwoSmall" in " ".join(declaration(text, "Two").split())


def test_equal_combinations_that_are_one_type_after_all_are_named_once() -> None:
    same = {"allOf": [{"oneOf": [{"type": "string"}, {"type": "string", "format": "uuid"}]}]}
    text = types_of(
        {
            "One": {"type": "object", "properties": {"a": same}},
            "Two": {"type": "object", "properties": {"a": same}},
        }
    )
    assert "A *string" in declaration(text, "One")
    assert "A *string" in declaration(text, "Two")


def test_generation_is_deterministic_and_hints_do_not_leak_order() -> None:
    document = spec(
        schemas={
            "B": {"type": "object", "properties": {"x": {"enum": ["1", "2"]}}},
            "A": {"type": "object"},
        }
    )
    assert files_of(document) == files_of(document)


# Awkward documents
AWKWARD_SCHEMAS: dict[str, Any] = {
    "type": {
        "type": "object",
        "properties": {
            "func": {"type": "string"},
            "MarshalJSON": {"type": "string"},
            "id": {},
            "ID": {},
            "Id": {},
        },
    },
    "Nullable": {"type": "string"},
    "Client": {"type": "object"},
    "client": {"type": "object"},
    "Server": {"type": "object", "additionalProperties": False},
    "GetResponse": {"type": "object"},
    "GetRequest": {"type": "object"},
    "日本": {
        "type": "object",
        "properties": {
            "名前": {"type": "string"},
            "a,b": {"type": "string"},
            'q"t': {"type": "integer"},
            "": {"type": "string"},
            "`": {"type": ["string", "null"]},
        },
    },
    "123": {"type": "array", "items": {"$ref": "#/components/schemas/123"}},
    "Loop": {
        "type": "object",
        "required": ["next"],
        "properties": {"next": {"$ref": "#/components/schemas/Loop2"}},
    },
    "Loop2": {
        "type": "object",
        "required": ["back"],
        "properties": {"back": {"$ref": "#/components/schemas/Loop"}},
    },
    "Self": {"$ref": "#/components/schemas/Self"},
    "A": {"$ref": "#/components/schemas/B"},
    "B": {"$ref": "#/components/schemas/A"},
    "Missing": {"$ref": "#/components/schemas/Nowhere"},
    "Color": {"type": "string", "enum": ["red", "Red", "RED", "`", '"', "\\", "a\nb"]},
    "ColorRed": {"type": "string", "enum": ["x"]},
    "Empty": {},
    "Yes": True,
    "Tuple": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
    "Mixed": {"enum": ["a", 1, None, True]},
    "Map": {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "additionalProperties": {"$ref": "#/components/schemas/Map"},
    },
    "Recursive": {
        "oneOf": [
            {"type": "string"},
            {"type": "array", "items": {"$ref": "#/components/schemas/Recursive"}},
        ]
    },
    "AllLoop": {"allOf": [{"$ref": "#/components/schemas/AllLoop"}, {"type": "object"}]},
    "Doc": {
        "type": "object",
        "description": "* list\n# heading\n\n    code\n``quoted''\n1. one\n//go:build ignore\n+build "
        "x\n[a]: b\n*/ \u2028 \x00",
    },
    "Conflict": {
        "allOf": [
            {"properties": {"a": {"type": "string"}}},
            {"properties": {"a": {"type": "integer"}}},
        ]
    },
    "Deep": {
        "allOf": [{"$ref": "#/components/schemas/DeepA"}, {"$ref": "#/components/schemas/DeepB"}]
    },
    "DeepA": {"properties": {"child": {"$ref": "#/components/schemas/DeepA"}}},
    "DeepB": {"properties": {"child": {"$ref": "#/components/schemas/DeepB"}}},
}


def awkward() -> dict[str, Any]:
    reference = {"application/json": {"schema": {"$ref": "#/components/schemas/type"}}}
    ok = {"200": {"description": "ok\n- list", "content": reference}}

    def operation(name: str | None, **more: Any) -> dict[str, Any]:
        return {**({"operationId": name} if name else {}), "responses": ok, **more}

    parameters = [
        {"name": "a-b", "in": "query", "schema": {"type": "string"}},
        {"name": "a_b", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "a-b", "in": "header", "schema": {"type": "integer"}},
        {"name": "body", "in": "query", "schema": {"type": "string"}},
        {"name": "bodies", "in": "cookie", "schema": {"type": "string"}},
        {
            "name": "filter",
            "in": "query",
            "style": "deepObject",
            "explode": True,
            "schema": {"type": "object", "properties": {"x": {"type": "integer"}}},
        },
    ]
    return {
        "openapi": "3.1.0",
        "info": {"title": 'Package main\nimport "os"', "version": "`1`", "description": "*/"},
        "servers": [{"url": 'https://{h}.example.com/"`', "variables": {"h": {"default": "a"}}}],
        "paths": {
            "/get": {"get": operation("get"), "post": operation("Get"), "put": operation("get-")},
            "/x/{id}.{format}": {"get": operation(None, parameters=parameters)},
            "/x/{id}": {
                "delete": operation("ReadByte"),
                "get": operation("MarshalJSON", deprecated=True),
            },
            "/q?fixed=1": {
                "get": operation("type", requestBody={"required": True, "content": reference})
            },
            "/multi": {
                "post": operation(
                    "call",
                    requestBody={
                        "content": {
                            **reference,
                            "application/xml": {},
                            "multipart/form-data": {
                                "schema": {
                                    "type": "object",
                                    "properties": {
                                        "f": {
                                            "type": "string",
                                            "contentMediaType": "application/octet-stream",
                                        }
                                    },
                                }
                            },
                            "text/plain": {"schema": {"type": "string"}},
                            "application/vnd.x+json": {"schema": {"type": "integer"}},
                        }
                    },
                )
            },
            "/none": {"options": {"responses": {}}, "head": {}},
            "x-ignored": {},
        },
        "components": {
            "schemas": AWKWARD_SCHEMAS,
            "securitySchemes": {
                "Credential": {"type": "http", "scheme": "bearer"},
                "a b": {"type": "http", "scheme": "basic"},
                "tls": {"type": "mutualTLS"},
            },
        },
        "security": [{"Credential": []}, {"a b": [], "tls": []}, {}],
    }


@pytest.mark.parametrize(
    ("client", "server"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_an_awkward_document_compiles_whatever_is_generated(
    tmp_path: Path, client: bool, server: bool
) -> None:
    check_go(write_module(tmp_path, files_of(awkward(), client=client, server=server)))


def test_an_empty_document_compiles(tmp_path: Path) -> None:
    check_go(write_module(tmp_path, files_of(spec())))


def test_missing_references_are_reported_and_nothing_fails() -> None:
    made = generate(awkward(), Family.V31, client=True)
    assert any("Nowhere" in warning.path and warning.critical for warning in made.warnings)


# The corpus
@pytest.mark.oracle
@pytest.mark.parametrize("name", SMALL)
def test_small_real_documents_compile(tmp_path: Path, data: Path, name: str) -> None:
    document = read(data, name)
    check_go(
        write_module(
            tmp_path, generate(document.data, document.family, client=True, server=True).files
        )
    )


@pytest.mark.oracle
@pytest.mark.soak
@pytest.mark.timeout(7000)
def test_large_real_documents_compile(tmp_path: Path, data: Path, soak: bool) -> None:
    for name in LARGE if soak else ("docker-engine-swagger.yaml",):
        document = read(data, name)
        check_go(
            write_module(
                tmp_path / name,
                generate(document.data, document.family, client=True, server=True).files,
            ),
            timeout=1800,
        )


def untyped(api: Api) -> tuple[int, int]:
    """Properties that name a type, and those of them that became `any`."""
    declared = lost = 0
    for one in api.declarations:
        for member in one.fields if isinstance(one, Struct) else ():
            if member.declared:
                declared += 1
                kind = member.use.type
                while isinstance(kind, NamedType) and type(kind.declaration).__name__ == "Alias":
                    kind = kind.declaration.target.type  # type: ignore[attr-defined]
                lost += kind == Primitive(Scalar.ANY)
    return declared, lost


@pytest.mark.oracle
def test_at_most_one_in_twenty_declared_properties_is_untyped(data: Path) -> None:
    for name in (
        *SMALL,
        "asana.yaml",
        "discord.json",
        "docker-engine-swagger.yaml",
        "twilio-api-v2010.json",
        "kubernetes-swagger.json",
        "google-maps.json",
    ):
        document = read(data, name)
        declared, lost = untyped(ApiReader(upgrade_document(document.data, document.family)).read())
        sys.stdout.write(f"{name}: {lost} of {declared} declared properties are untyped\n")
        assert lost <= declared * 0.05, name


def talked(folder: Path, document: ApiDocument, timeout: int = 280) -> tuple[int, int, str]:
    """How many operations there are, for how many a sample could be made, and what client and
    server said to each other.
    """
    made = upgrade_document(document.data, document.family)
    reader = ApiReader(made)
    api = reader.read()
    files, operations = build_go(api, reader.types, "api", client=True, server=True)
    source, cases, counts = driver(operations, api, Samples(made))
    write_module(folder, {**files, "loop_test.go": source, "cases.json": cases})
    said = go(folder, "test", "-count=1", "-v", "./...", timeout=timeout)
    sys.stdout.write(f"\n{document.name}: {counts}; {re.findall(r'LOOPBACK .*', said)}\n")
    return len(api.operations), len(json.loads(cases)), said


@pytest.mark.oracle
@pytest.mark.parametrize("name", LOOPBACK)
def test_generated_client_and_server_understand_each_other(
    tmp_path: Path, data: Path, name: str
) -> None:
    operations, _, said = talked(tmp_path, read(data, name))
    assert f"LOOPBACK {operations} of {operations} operations" in said


@pytest.mark.oracle
@pytest.mark.soak
@pytest.mark.timeout(7000)
def test_a_client_and_server_with_forms_understand_each_other(
    tmp_path: Path, data: Path, soak: bool
) -> None:
    """Stripe's bodies are nested forms.

    A few of its schemas contradict themselves, so that there is no sample to send.
    """
    operations, cases, said = talked(
        tmp_path, read(data, "stripe.yaml" if soak else "uber-2.0.json"), timeout=1800
    )
    assert cases >= operations * 0.98
    assert f"LOOPBACK {cases} of {cases} operations" in said
