"""Validation of examples and defaults against their schemas.

Matching values cost one check; only documents that contradict themselves pay for more.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from itertools import chain, islice

import jsonschema_rs

from commonplace.kernel.json_types import Json, JsonObject
from commonplace.openapi.engine.document.index import DocumentIndex
from commonplace.openapi.engine.document.json_schema import (
    ROOT_URI,
    Hides,
    convert_definitions,
    to_json_schema,
)
from commonplace.openapi.engine.document.nodes import NodePlace, ObjectNode, SchemaNode
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.pointers import escape_token
from commonplace.openapi.engine.validate.findings import make_finding
from commonplace.openapi.engine.validate.rules import ValidationFinding
from commonplace.openapi.model import ApiDocument

TIME_LIMIT_SECONDS = 6.0
EITHER: Hides = frozenset({"readOnly", "writeOnly"})
_DIRECTIONS: dict[str | int, Hides] = {
    **dict.fromkeys(("requestBody", "requestBodies", "parameters"), frozenset({"readOnly"})),
    **dict.fromkeys(("responses", "headers"), frozenset({"writeOnly"})),
}
_VALUE_KEYWORDS = frozenset({"default", "example", "examples"})
_KEYWORDS = frozenset(
    {
        "type",
        "enum",
        "const",
        "$ref",
        "properties",
        "items",
        "allOf",
        "anyOf",
        "oneOf",
        "pattern",
        "required",
    }
)


def check_examples(
    document: ApiDocument,
    index: DocumentIndex,
    resolver: ReferenceResolver,
    seconds: float = TIME_LIMIT_SECONDS,
) -> Iterator[ValidationFinding]:
    """Yield findings about examples and defaults.

    The time is bounded: a finding says so if a huge document has unchecked examples left.
    """
    checker = _ExampleChecker(document, _list_flagged_names(document, index))
    deadline = time.monotonic() + seconds

    def tasks() -> Iterator[Iterator[ValidationFinding]]:
        return chain(
            (
                _check_schema_values(node, checker, document)
                for node in index.schemas
                if not _VALUE_KEYWORDS.isdisjoint(node.schema)
            ),
            (
                _check_holder_values(node, checker, resolver)
                for node in (*index.parameters, *index.headers, *index.media_types)
            ),
        )

    # The first pass collects the schemas: compiled together, shared parts are compiled once.
    for task in tasks():
        deque(task, maxlen=0)
    checker.collecting = False
    for task in tasks():
        if time.monotonic() > deadline:
            yield make_finding(
                "examples-unchecked",
                "",
                f"Not all examples and defaults were checked within {seconds:.0f} seconds.",
            )
            return
        yield from task


def _check_schema_values(
    node: SchemaNode, checker: _ExampleChecker, document: ApiDocument
) -> Iterator[ValidationFinding]:
    schema, here = node.schema, node.place.pointer
    if "default" in schema:
        yield from _check_value(
            checker, schema, schema["default"], "default-mismatch", f"{here}/default", "default"
        )
    if "example" in schema:
        yield from _check_value(
            checker, schema, schema["example"], "example-mismatch", f"{here}/example", "example"
        )
    values = schema.get("examples")
    if isinstance(values, list) and document.family.json_schema:
        for position, value in enumerate(values):
            yield from _check_value(
                checker, schema, value, "example-mismatch", f"{here}/examples/{position}", "example"
            )


def _check_value(
    checker: _ExampleChecker,
    schema: JsonObject,
    value: Json,
    rule: str,
    where: str,
    what: str,
    hides: Hides = EITHER,
) -> Iterator[ValidationFinding]:
    problem = checker.problem(schema, value, hides)
    if problem is not None:
        yield make_finding(
            rule, where, f"The {what} {_describe_value(value)} does not match its schema{problem}."
        )


def _check_holder_values(
    node: ObjectNode, checker: _ExampleChecker, resolver: ReferenceResolver
) -> Iterator[ValidationFinding]:
    schema = node.value.get("schema")
    if not isinstance(schema, dict) or not _is_json(node):
        return
    here, hides = node.place.pointer, _find_hidden_flags(node)
    if "example" in node.value:
        yield from _check_value(
            checker,
            schema,
            node.value["example"],
            "example-mismatch",
            f"{here}/example",
            "example",
            hides,
        )
    examples = node.value.get("examples")
    for name, example in examples.items() if isinstance(examples, dict) else ():
        target = resolver.try_follow(example)
        if isinstance(target, dict):
            value = target.get("value", target.get("dataValue", _NOTHING))
            problem = checker.problem(schema, value, hides) if value is not _NOTHING else None
            if problem is not None:
                where = f"{here}/examples/{escape_token(name)}"
                yield make_finding(
                    "example-mismatch",
                    where,
                    f"The example {name!r} does not match its schema{problem}.",
                )


def _find_hidden_flags(node: ObjectNode) -> Hides:
    """Return the flags whose properties may be absent: requests need no readOnly ones,
    responses no writeOnly ones; a media type by itself may be used in either.
    """
    place: NodePlace | None = node.place
    while place is not None:
        if not place.key and place.step in _DIRECTIONS:
            return _DIRECTIONS[place.step]
        place = place.parent
    return EITHER


def _is_json(node: ObjectNode) -> bool:
    """Tell whether examples are JSON; those of other media types may be the text that is sent."""
    return "/" not in node.name or "json" in node.name.lower()


class _ExampleChecker:
    """Compiles each schema once, all of them together if possible.

    Schemas that do not compile are left to the other rules.
    """

    def __init__(self, document: ApiDocument, flagged: set[str]) -> None:
        self.document = document
        self.flagged = flagged  # the names of readOnly and writeOnly properties
        self.collecting = True
        self.needed: dict[int | str, JsonObject] = {}
        self.together: dict[Hides, jsonschema_rs.Validator | None] = {}
        self.compiled: dict[tuple[int | str, Hides], jsonschema_rs.Validator | None] = {}
        self.registries: dict[Hides, jsonschema_rs.Registry | None] = {}

    def problem(self, schema: JsonObject, value: Json, hides: Hides) -> str | None:
        """Describe how a value deviates from a schema; None if it is valid or undecidable.

        A value may have all required properties, or lack those that are hidden.
        """
        if not _KEYWORDS & schema.keys() or _is_plainly_valid(schema, value):
            return None
        if self.collecting:
            self.needed[_get_key(schema)] = schema
            return None
        errors, skipped = self._find_errors(schema, value, frozenset())
        if errors and self.flagged and all(map(self._may_be_hidden, errors)):
            errors, skipped = self._find_errors(schema, value, hides)
        return _describe_problem(errors[0], skipped) if errors else None

    def _may_be_hidden(self, error: jsonschema_rs.ValidationError) -> bool:
        """Tell whether requiring fewer properties may remove the error."""
        keyword = error.schema_path[-1]
        kind: Json = error.kind  # its attributes depend on the keyword
        if keyword in ("anyOf", "oneOf"):
            return any(branch and all(map(self._may_be_hidden, branch)) for branch in kind.context)
        return keyword == "required" and kind.property in self.flagged

    def _find_errors(
        self, schema: JsonObject, value: Json, hides: Hides
    ) -> tuple[list[jsonschema_rs.ValidationError], int]:
        """Return the first errors, and how many steps of their paths lead to the value."""
        key = _get_key(schema)
        validator, skipped = self._compile_all(hides), 1
        if validator is None:
            validator, skipped = self._compile_once(schema, hides), 0
            if validator is None:
                return [], 0
        instance = {str(key): value} if skipped else value
        try:
            return (
                []
                if validator.is_valid(instance)
                else list(islice(validator.iter_errors(instance), 20))
            ), skipped
        except (ValueError, jsonschema_rs.ValidationError, OverflowError):
            return [], skipped

    def _compile_all(self, hides: Hides) -> jsonschema_rs.Validator | None:
        """Return a validator of objects with a field per schema; None if one does not compile."""
        if hides not in self.together:
            self.together[hides] = self._compile(
                {str(key): schema for key, schema in self.needed.items()}, hides, fields=True
            )
        return self.together[hides]

    def _compile_once(self, schema: JsonObject, hides: Hides) -> jsonschema_rs.Validator | None:
        """Return a validator for a schema, or None if it does not compile."""
        key = (_get_key(schema), hides)
        if key not in self.compiled:
            self.compiled[key] = self._compile(schema, hides)
        return self.compiled[key]

    def _compile(
        self, schema: JsonObject, hides: Hides, fields: bool = False
    ) -> jsonschema_rs.Validator | None:
        try:
            if hides not in self.registries:
                self.registries[hides] = None  # if it fails, it is not tried again
                self.registries[hides] = jsonschema_rs.Registry(
                    [(ROOT_URI, convert_definitions(self.document, hides))]
                )
            if self.registries[hides] is None:
                return None
            if fields:
                converted: Json = {
                    "properties": {
                        name: to_json_schema(self.document, value, hides)
                        for name, value in schema.items()
                    }
                }
            else:
                converted = to_json_schema(self.document, schema, hides)
            return jsonschema_rs.Draft202012Validator(
                converted,
                registry=self.registries[hides],
                validate_formats=False,
                mask="the value",
                offline=True,
            )
        except (
            ValueError,
            jsonschema_rs.ReferencingError,
            jsonschema_rs.ValidationError,
            RecursionError,
        ):
            return None


def _list_flagged_names(document: ApiDocument, index: DocumentIndex) -> set[str]:
    """Return the names of properties that are readOnly or writeOnly, also by reference."""
    nodes = [
        node for node in index.schemas if "readOnly" in node.schema or "writeOnly" in node.schema
    ]
    names = {node.name for node in nodes}
    base = "#/definitions/" if document.is_v2 else "#/components/schemas/"
    shared = {
        f"{base}{escape_token(node.name)}"
        for node in nodes
        if document.schemas.get(node.name) is node.schema
    }
    return (
        names | {node.name for node in index.schemas if str(node.schema.get("$ref")) in shared}
        if shared
        else names
    )


def _get_key(schema: JsonObject) -> int | str:
    """Return a key for a schema; schemas that only refer to the same target share it."""
    ref = schema.get("$ref")
    return ref if len(schema) == 1 and isinstance(ref, str) else id(schema)


def _describe_problem(error: jsonschema_rs.ValidationError, skipped: int) -> str:
    where = "".join(f"/{escape_token(str(step))}" for step in error.instance_path[skipped:])
    message = error.message if len(error.message) <= 200 else error.message[:197] + "..."
    return f": {where + ' ' if where else ''}{message}"


def _is_plainly_valid(schema: JsonObject, value: Json) -> bool:
    """Tell whether a value is valid by its plain type; if not, a validator must decide."""
    kind = schema.get("type")
    if (
        not isinstance(kind, str)
        or kind in ("object", "array")
        or schema.keys() - _PLAIN_KEYWORDS
        or value is None
    ):
        return False
    if "enum" in schema:
        return (
            kind == "string"
            and isinstance(value, str)
            and isinstance(schema["enum"], list)
            and value in schema["enum"]
        )
    if kind == "string":
        return isinstance(value, str)
    if kind == "boolean":
        return isinstance(value, bool)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return kind == "number" and isinstance(value, (int, float)) and not isinstance(value, bool)


_PLAIN_KEYWORDS = frozenset(
    {
        "type",
        "enum",
        "format",
        "description",
        "example",
        "examples",
        "default",
        "title",
        "nullable",
        "readOnly",
        "writeOnly",
        "deprecated",
    }
)
_NOTHING: Json = object()


def _describe_value(value: Json) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
