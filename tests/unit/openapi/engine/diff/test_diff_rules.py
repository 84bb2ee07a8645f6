"""The rules of comparison: each fires for its pair of documents and not for the near miss."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from diff_rule_cases import (
    FIRES,
    INTEGER,
    LITERAL_ONLY,
    NEAR,
    NUMBER,
    STRING,
    changes,
    get,
    props,
    received,
    ref,
    sent,
)

from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.diff.rules import CHANGE_RULES, ApiChange, Level
from commonplace.openapi.engine.document.load import load
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from oas_calls import minimal, operation


def test_every_rule_has_a_pair_that_fires() -> None:
    assert CHANGE_RULES.keys() - FIRES.keys() - LITERAL_ONLY == set()


@pytest.mark.parametrize("rule", FIRES)
def test_the_rule_fires(rule: str) -> None:
    old, new = FIRES[rule]
    found = {change.rule.id: change.level for change in changes(old, new)}
    assert rule in found
    assert found[rule] in (CHANGE_RULES[rule].request, CHANGE_RULES[rule].response, Level.INFO)


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        ("^[a-z]+$", "^[a-z]{1,10}$", {"pattern-narrowed"}),
        ("^[a-z]{1,10}$", "^[a-z]{1,20}$", {"pattern-widened"}),
        ("^(cat|dog)$", "^(cat|dog|fox)$", {"pattern-widened"}),
        ("^[a-c]$", "^[b-d]$", {"pattern-narrowed", "pattern-widened"}),
        ("^[0-9]+$", r"^\d+$", {"pattern-changed"}),
        ("^abc$", "abc", {"pattern-widened"}),
        ("^[^@]+@x$", "^[^@.]+@x$", {"pattern-narrowed"}),
        (".*", "^a", {"pattern-narrowed"}),
        ("^.*$", None, set()),
        ("^(?!a)", "^(?!b)", {"pattern-changed"}),
        ("a" * 600, "b" * 600, {"pattern-changed"}),
        ("(", ")", {"pattern-changed"}),
    ],
)
def test_patterns_are_compared_by_sample_strings(
    old: str, new: str | None, rules: set[str]
) -> None:
    after = {**STRING, "pattern": new} if new is not None else STRING
    assert {
        change.rule.id for change in changes(sent({**STRING, "pattern": old}), sent(after))
    } == rules


@pytest.mark.parametrize(
    ("kind", "old", "new", "rules"),
    [
        (INTEGER, 2, 4, {"multiple-of-narrowed"}),
        (INTEGER, 6, 3, {"multiple-of-widened"}),
        (INTEGER, 2, 3, {"multiple-of-changed"}),
        (INTEGER, 1, None, set()),
        (INTEGER, None, 1, set()),
        (INTEGER, 0.5, None, set()),
        (NUMBER, 0.01, 0.1, {"multiple-of-narrowed"}),
        (NUMBER, 1, None, {"multiple-of-widened"}),
    ],
)
def test_multiples_are_compared_by_valid_numbers(
    kind: dict[str, Any], old: Any, new: Any, rules: set[str]
) -> None:
    before, after = (
        {**kind, **({"multipleOf": step} if step is not None else {})} for step in (old, new)
    )
    assert {change.rule.id for change in changes(sent(before), sent(after))} == rules


@pytest.mark.parametrize("rule", FIRES)
def test_a_near_miss_does_not_fire(rule: str) -> None:
    old, new = NEAR.get(rule, (FIRES[rule][0], FIRES[rule][0]))
    changed = deepcopy(new)
    changed["info"]["x-touched"] = True  # so that the documents are not simply equal
    assert rule not in {change.rule.id for change in changes(old, changed)}


@pytest.mark.parametrize(
    ("rule", "opposite"),
    [
        ("type-narrowed", "type-widened"),
        ("enum-value-removed", "enum-value-added"),
        ("bound-tightened", "bound-loosened"),
        ("required-property-added", "required-property-removed"),
        ("additional-properties-closed", "additional-properties-opened"),
        ("pattern-narrowed", "pattern-widened"),
        ("multiple-of-narrowed", "multiple-of-widened"),
    ],
)
def test_the_direction_decides_the_severity(rule: str, opposite: str) -> None:
    """Narrowing breaks what clients send, widening what they receive."""
    old, new = FIRES[rule]
    schema_old = old["paths"]["/a"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema_new = new["paths"]["/a"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    levels = {
        "sent": {
            change.rule.id: change.level for change in changes(sent(schema_old), sent(schema_new))
        },
        "received": {
            change.rule.id: change.level
            for change in changes(received(schema_old), received(schema_new))
        },
        "sent back": {
            change.rule.id: change.level for change in changes(sent(schema_new), sent(schema_old))
        },
        "received back": {
            change.rule.id: change.level
            for change in changes(received(schema_new), received(schema_old))
        },
    }
    assert levels["sent"][rule] is Level.ERROR
    assert levels["received"][rule] is Level.INFO
    assert levels["sent back"][opposite] in (Level.INFO, Level.WARNING)
    assert levels["received back"][opposite] is Level.ERROR


def test_callbacks_reverse_the_direction() -> None:
    def called(schema: Any) -> dict[str, Any]:
        sending = operation(requestBody={"content": {"application/json": {"schema": schema}}})
        return get(callbacks={"done": {"{$url}": {"post": sending}}})

    found = {
        change.rule.id: change.level
        for change in changes(called({"enum": ["a"]}), called({"enum": ["a", "b"]}))
    }
    assert found["enum-value-added"] is Level.ERROR


def test_a_named_schema_is_reported_once_with_its_worst_direction() -> None:
    def both(schema: Any) -> dict[str, Any]:
        use = {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}}
        used = operation(
            requestBody={"content": use}, responses={"200": {"description": "fine", "content": use}}
        )
        return {
            **minimal(paths={"/a": {"post": used}, "/b": {"post": used}}),
            "components": {"schemas": {"S": schema}},
        }

    (change,) = changes(both({"enum": ["a"]}), both({"enum": ["a", "b"]}))
    assert (change.rule.id, change.path) == ("enum-value-added", "/components/schemas/S/enum")
    assert change.level is Level.ERROR
    assert [direction.value for direction in change.directions] == ["request", "response"]


def test_renaming_a_schema_changes_nothing_for_clients() -> None:
    old = ref({"$ref": "#/components/schemas/A"}, A=props(a=STRING))
    new = ref({"$ref": "#/components/schemas/B"}, B=props(a=STRING))
    assert {change.level for change in changes(old, new)} == {Level.INFO}


def test_a_schema_that_became_a_branch_only_gained_the_other_branches() -> None:
    one, several = props(("a",), a=STRING), {"oneOf": [props(("a",), a=STRING), INTEGER]}
    for make, added, removed in (
        (sent, Level.INFO, Level.ERROR),
        (received, Level.ERROR, Level.INFO),
    ):
        assert [(change.rule.id, change.level) for change in changes(make(one), make(several))] == [
            ("alternative-added", added)
        ]
        assert [(change.rule.id, change.level) for change in changes(make(several), make(one))] == [
            ("alternative-removed", removed)
        ]


def test_a_named_schema_that_became_a_branch_only_gained_the_other_branches() -> None:
    one = ref({"$ref": "#/components/schemas/A"}, A=props(a=STRING), B=INTEGER)
    several = ref(
        {"anyOf": [{"$ref": "#/components/schemas/A"}, {"$ref": "#/components/schemas/B"}]},
        A=props(a=STRING),
        B=INTEGER,
    )
    assert [change.rule.id for change in changes(one, several)] == ["alternative-added"]


def test_parts_of_an_allof_about_one_property_are_combined() -> None:
    def parts(most: int) -> dict[str, Any]:
        return {"allOf": [props(a=STRING), {"properties": {"a": {"maxLength": most}}}]}

    assert [change.rule.id for change in changes(sent(parts(5)), sent(parts(4)))] == [
        "bound-tightened"
    ]
    assert changes(sent(parts(5)), sent(props(a={"type": "string", "maxLength": 5}))) == []


def test_recursive_schemas_are_compared_in_finite_time() -> None:
    def tree(kind: str) -> dict[str, Any]:
        node = props(
            value={"type": kind},
            children={"type": "array", "items": {"$ref": "#/components/schemas/N"}},
        )
        return ref({"$ref": "#/components/schemas/N"}, N=node)

    assert [change.rule.id for change in changes(tree("string"), tree("integer"))] == [
        "type-changed"
    ]


SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Test", "version": "1"},
    "consumes": ["application/json"],
    "produces": ["application/json"],
    "paths": {
        "/a/{id}": {
            "post": {
                "summary": "does it",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "type": "integer"},
                    {
                        "name": "tags",
                        "in": "query",
                        "type": "array",
                        "items": {"type": "string"},
                        "collectionFormat": "multi",
                    },
                    {
                        "name": "b",
                        "in": "body",
                        "required": True,
                        "schema": {"$ref": "#/definitions/S"},
                    },
                ],
                "responses": {
                    "200": {"description": "fine", "schema": {"$ref": "#/definitions/S"}}
                },
            }
        }
    },
    "definitions": {
        "S": {"type": "object", "properties": {"a": {"type": "string", "x-nullable": True}}}
    },
}
OPENAPI: dict[str, Any] = minimal(
    "3.1.0",
    paths={
        "/a/{id}": {
            "post": operation(
                parameters=[
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "integer"}},
                    {
                        "name": "tags",
                        "in": "query",
                        "schema": {"type": "array", "items": {"type": "string"}},
                    },
                ],
                requestBody={
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/S"}}},
                },
                responses={
                    "200": {
                        "description": "fine",
                        "content": {
                            "application/json": {"schema": {"$ref": "#/components/schemas/S"}}
                        },
                    }
                },
            )
        }
    },
    components={
        "schemas": {"S": {"type": "object", "properties": {"a": {"type": ["string", "null"]}}}}
    },
)


def test_the_same_api_in_two_versions_differs_only_in_the_version() -> None:
    assert [change.rule.id for change in changes(SWAGGER, OPENAPI)] == ["version-changed"]
    assert [change.rule.id for change in changes(OPENAPI, SWAGGER)] == ["version-changed"]


def test_literal_comparison_counts_the_format_as_breaking() -> None:
    found = {change.rule.id: change.level for change in changes(SWAGGER, OPENAPI, literal=True)}
    assert found["structure-removed"] is Level.ERROR
    assert found["structure-added"] is Level.INFO


@pytest.mark.oracle
def test_a_document_does_not_differ_from_itself(data: Path, soak: bool) -> None:
    """Extensions in every operation and schema force a full comparison without any change."""
    for path in sorted((data / "openapi" / "dev").iterdir()):
        if path.stat().st_size > 3_000_000 and not soak:
            continue
        first, second = load(path.read_bytes()), load(path.read_bytes())
        for item in second.data["paths"].values():
            for part in item.values():
                if isinstance(part, dict):
                    part["x-touched"] = True
        for schema in second.schemas.values():
            schema["x-touched"] = True
        assert diff(first, second, ReferenceResolver(first), ReferenceResolver(second)) == [], (
            path.name
        )


@pytest.mark.oracle
def test_swapping_sides_swaps_added_and_removed(data: Path) -> None:
    old = load((data / "openapi" / "dev" / "stripe-prev.yaml").read_bytes())
    new = load((data / "openapi" / "dev" / "stripe.yaml").read_bytes())
    there = diff(old, new, ReferenceResolver(old), ReferenceResolver(new))
    back = diff(new, old, ReferenceResolver(new), ReferenceResolver(old))

    def count(found: list[ApiChange], kind: str) -> int:
        return sum(1 for change in found if change.rule.kind.value == kind)

    assert count(there, "added") == count(back, "removed") > 0
    assert count(there, "removed") == count(back, "added") > 0
    assert count(there, "modified") == count(back, "modified") > 0
