"""Generated Go: it compiles, passes vet and gofmt for awkward documents, is typed, and client
and server understand each other.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest
from go_cases import SMALL, awkward, files_of, read, spec

from commonplace.openapi.engine.generate.model import Api, NamedType, Primitive, Scalar, Struct
from commonplace.openapi.engine.generate.operations import ApiReader
from commonplace.openapi.engine.generate.run import generate, upgrade_document
from commonplace.openapi.model import Family


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


def test_a_child_and_parent_that_list_each_other_do_not_loop() -> None:
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


def test_equal_combinations_are_named_once() -> None:
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


def test_missing_references_are_reported_and_nothing_fails() -> None:
    made = generate(awkward(), Family.V31, client=True)
    assert any("Nowhere" in warning.path and warning.critical for warning in made.warnings)


def untyped(api: Api) -> tuple[int, int]:
    """Properties that name a type, and those of them that became `any`."""
    declared = lost = 0
    for item in api.declarations:
        for member in item.fields if isinstance(item, Struct) else ():
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
