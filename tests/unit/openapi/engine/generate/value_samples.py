"""Values that fit a schema, made from the schema alone and checked with an independent
validator.
"""

from __future__ import annotations

import base64
import re._parser as sre_parse  # type: ignore[import-not-found]
from typing import Any

import jsonschema_rs

from commonplace.openapi.engine.pointers import resolve_pointer


def matching(pattern: str, number: int) -> str:
    """A text that a simple pattern matches; `number` varies it."""

    def text(parts: Any) -> str:
        out = ""
        for kind, value in parts:
            name = str(kind)
            if name == "LITERAL":
                out += chr(value)
            elif name == "IN":
                out += member(value)
            elif name in ("MAX_REPEAT", "MIN_REPEAT"):
                low, high, inner = value
                out += "".join(text(inner) for _ in range(max(low, min(high, 1))))
            elif name == "SUBPATTERN":
                out += text(value[-1])
            elif name == "BRANCH":
                out += text(value[1][0])
            elif name == "ANY":
                out += "a"
        return out

    def member(options: Any) -> str:
        for kind, value in options:
            if str(kind) == "LITERAL":
                return chr(value)
            if str(kind) == "RANGE":
                return chr(value[0] + number % (value[1] - value[0] + 1))
            if str(kind) == "CATEGORY":
                return "7" if "DIGIT" in str(value) else "a" if "WORD" in str(value) else " "
        return "a"

    return text(sre_parse.parse(pattern))


class Samples:
    """Deterministic samples for the schemas of one 3.1 document."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.first_wins = False  # which part of an allOf gives a member that several have
        self._count = 0
        self._validators: dict[str, jsonschema_rs.Validator] = {}

    def sample(self, schema: Any, depth: int = 0) -> Any:
        if not isinstance(schema, dict):
            return {"free": "form"}
        if "$ref" in schema:
            base = self.sample(resolve_pointer(self.document, schema["$ref"]), depth + 1)
            rest = {key: value for key, value in schema.items() if key != "$ref"}
            if rest.keys() & {"properties", "allOf"} and isinstance(base, dict):
                base = {**base, **self.sample(rest, depth)}
            return base
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return next((value for value in schema["enum"] if value is not None), None)
        for keyword in ("oneOf", "anyOf"):
            branches = [item for item in schema.get(keyword) or [] if item != {"type": "null"}]
            if branches and not (
                "properties" in schema
                and all("$ref" not in item and "properties" not in item for item in branches)
            ):
                chosen = self.sample(branches[0], depth + 1)
                own = (
                    self._object(
                        {key: value for key, value in schema.items() if key != keyword}, depth
                    )
                    if "properties" in schema
                    else {}
                )
                return {**own, **chosen} if isinstance(chosen, dict) and own else chosen
        if schema.get("allOf"):
            parts = [self.sample(part, depth + 1) for part in schema["allOf"]]
            if all(isinstance(part, dict) for part in parts):
                merged: dict[str, Any] = {}
                for part in reversed(parts) if self.first_wins else parts:
                    merged.update({key: value for key, value in part.items() if key != "free"})
                merged.update(self._object(schema, depth) if "properties" in schema else {})
                return merged
            return parts[0]
        return self._typed(schema, depth)

    def _typed(self, schema: dict[str, Any], depth: int) -> Any:
        kinds = schema.get("type")
        kind = (
            next((kind for kind in kinds if kind != "null"), "null")
            if isinstance(kinds, list)
            else kinds
        )
        if kind is None:
            kind = "object" if "properties" in schema else "array" if "items" in schema else None
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            least = int(schema.get("minItems", 0))
            if depth > 6 and not least:
                return []
            return self._array(schema.get("items", {}), max(1, least), depth)
        if kind in ("integer", "number"):
            return self._number(schema, kind)
        if kind == "boolean":
            return True
        if kind == "string":
            return self._string(schema)
        return {"free": "form"} if kind is None else None

    def _array(self, items: Any, wanted: int, depth: int) -> list[Any]:
        found = [self.sample(items, depth + 1) for _ in range(wanted)]
        enum = (
            resolve_pointer(self.document, items["$ref"])
            if isinstance(items, dict) and "$ref" in items
            else items or {}
        ).get("enum")
        return list(enum[:wanted]) if enum and wanted > 1 else found

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        required = set(schema.get("required", []))
        found = {}
        for name, part in (schema.get("properties") or {}).items():
            if depth > 6 and name not in required:
                continue
            if depth > 14:
                break
            found[name] = self.sample(part, depth + 1)
        additional = schema.get("additionalProperties")
        if isinstance(additional, dict) and depth <= 6:
            found["extra-member"] = self.sample(additional, depth + 1)
        elif not found and depth <= 6 and additional is not False and "properties" not in schema:
            found["free"] = "form"
        return found

    def _number(self, schema: dict[str, Any], kind: str) -> int | float:
        self._count += 1
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        value: float = 7 + self._count % 5
        if low is not None and value <= low:
            value = low + 1
        if high is not None and value >= high:
            value = high - 1 if low is None or high - 1 > low else (low + high) / 2
        step = schema.get("multipleOf")
        if step:
            value = step * max(1, round(value / step))
        return (
            int(value)
            if kind == "integer"
            else value + 0.5
            if step is None and high is None
            else value
        )

    def _string(self, schema: dict[str, Any]) -> str:
        self._count += 1
        form = schema.get("format")
        fixed = {
            "date-time": "2024-02-29T12:34:56Z",
            "date": "2024-02-29",
            "uri": "https://example.com/a?b=c&d=e",
            "url": "https://example.com/a",
            "email": "someone@example.com",
            "uuid": "123e4567-e89b-12d3-a456-426614174000",
            "ipv4": "192.0.2.1",
            "ipv6": "2001:db8::1",
        }
        if (
            schema.get("contentEncoding") == "base64"
            or schema.get("contentMediaType") == "application/octet-stream"
            or form in ("byte", "binary")
        ):
            return base64.b64encode(f"bytes {self._count} \x00\xff".encode("latin-1")).decode()
        if form in fixed:
            return fixed[form]
        if "pattern" in schema:
            return matching(schema["pattern"], self._count)
        text = f"text {self._count}, with: ünïcode & signs/?"
        length = max(int(schema.get("minLength", 0)), 0)
        text = text + "x" * max(0, length - len(text))
        return text[: int(schema["maxLength"])] if "maxLength" in schema else text

    def is_valid(self, schema: Any, value: Any) -> bool:
        """Whether jsonschema-rs agrees that the value fits."""
        key = repr(schema)[:2000]
        if key not in self._validators:
            whole = {
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "allOf": [schema],
                "components": self.document.get("components", {}),
            }
            self._validators[key] = jsonschema_rs.validator_for(whole)
        return self._validators[key].is_valid(value)
