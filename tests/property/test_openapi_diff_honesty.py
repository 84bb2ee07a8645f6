"""Breaking verdicts of diff have a witness instance, and the others have none."""

from __future__ import annotations

import random
import string
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.diff.rules import BREAKING, Level
from commonplace.openapi.engine.document.json_schema import to_json_schema
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from oas_calls import document, minimal, operation

SAMPLES = 200
TRIES = 3000


class Maker:
    """Random schemas, near copies of them, and instances at their edges."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def schema(self, depth: int = 0) -> dict[str, Any]:
        kinds = ["string", "integer", "number", "boolean", "enum"] + (
            ["array", "object", "object", "choice"] if depth < 3 else []
        )
        kind = self.random.choice(
            kinds if depth else ["object", "array", "string", "integer", "enum", "choice"]
        )
        made = getattr(self, f"_{kind}")(depth)
        if kind not in ("enum", "choice") and self.random.random() < 0.2:
            made["nullable"] = True
        return made

    def _string(self, depth: int) -> dict[str, Any]:
        low, high = sorted(self.random.sample(range(7), 2))
        return {"type": "string"} | self._some({"minLength": low, "maxLength": high})

    def _integer(self, depth: int) -> dict[str, Any]:
        low, high = sorted(self.random.sample(range(-5, 10), 2))
        return {"type": "integer"} | self._some({"minimum": low, "maximum": high})

    def _number(self, depth: int) -> dict[str, Any]:
        return self._integer(depth) | {"type": "number"}

    def _boolean(self, depth: int) -> dict[str, Any]:
        return {"type": "boolean"}

    def _enum(self, depth: int) -> dict[str, Any]:
        return {
            "type": "string",
            "enum": self.random.sample(["a", "b", "c", "d", "e"], self.random.randint(1, 4)),
        }

    def _array(self, depth: int) -> dict[str, Any]:
        low, high = sorted(self.random.sample(range(5), 2))
        return {"type": "array", "items": self.schema(depth + 1)} | self._some(
            {"minItems": low, "maxItems": high}
        )

    def _object(self, depth: int) -> dict[str, Any]:
        names = self.random.sample("pqrst", self.random.randint(1, 3))
        made: dict[str, Any] = {
            "type": "object",
            "properties": {name: self.schema(depth + 1) for name in names},
        }
        required = [name for name in names if self.random.random() < 0.4]
        if required:
            made["required"] = required
        if self.random.random() < 0.3:
            made["additionalProperties"] = False
        return made

    def _choice(self, depth: int) -> dict[str, Any]:
        branches = [
            {"type": "string", "maxLength": 4},
            {"type": "integer"},
            {"type": "boolean"},
            {"type": "array", "items": {"type": "integer"}},
        ]
        return {
            self.random.choice(["oneOf", "anyOf"]): self.random.sample(
                branches, self.random.randint(2, 3)
            )
        }

    def _some(self, parts: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in parts.items() if self.random.random() < 0.5}

    def near(self, schema: dict[str, Any]) -> dict[str, Any]:
        """A copy with one place changed."""
        copy = deepcopy(schema)
        node = self.random.choice(list(self._nodes(copy)))
        self._change(node)
        return copy

    def _nodes(self, schema: dict[str, Any]) -> Any:
        yield schema
        for child in (
            *schema.get("properties", {}).values(),
            *([schema["items"]] if "items" in schema else ()),
        ):
            yield from self._nodes(child)

    def _change(self, node: dict[str, Any]) -> None:
        ways = (
            [lambda: node.update(nullable=not node.get("nullable", False))]
            if "type" in node and "enum" not in node
            else []
        )
        for low, high in (
            ("minLength", "maxLength"),
            ("minimum", "maximum"),
            ("minItems", "maxItems"),
        ):
            if high in node:
                ways.append(
                    lambda high=high: node.update({high: node[high] + self.random.choice([1, 2])})
                )
                ways.append(
                    lambda high=high, low=low: node.update(
                        {high: max(node[high] - 1, node.get(low, 0 if high != "maximum" else -99))}
                    )
                )
                ways.append(lambda high=high: node.pop(high))
        if "enum" in node:
            ways.append(lambda: node["enum"].append("new"))
            if len(node["enum"]) > 1:
                ways.append(lambda: node["enum"].pop())
        if "properties" in node:
            ways.append(lambda: node["properties"].update(added=self.schema(3)))
            ways.append(
                lambda: node.update(
                    required=[
                        *node.get("required", []),
                        *[n for n in node["properties"] if n not in node.get("required", [])][:1],
                    ]
                )
            )
            ways.append(
                lambda: (
                    node.update(additionalProperties=False)
                    if "additionalProperties" not in node
                    else node.pop("additionalProperties")
                )
            )
            if node.get("required"):
                ways.append(lambda: node["required"].pop())
            removable = [
                name for name in node["properties"] if name not in node.get("required", [])
            ]
            if removable:
                ways.append(lambda: node["properties"].pop(removable[0]))
        for keyword in ("oneOf", "anyOf"):
            if keyword in node:
                ways.append(lambda keyword=keyword: node[keyword].append({"type": "object"}))
                if len(node[keyword]) > 2:
                    ways.append(lambda keyword=keyword: node[keyword].pop())
        if node.get("type") in ("integer", "number"):
            ways.append(
                lambda: node.update(type="number" if node["type"] == "integer" else "integer")
            )
        if ways:
            self.random.choice(ways)()

    def instance(self, schema: dict[str, Any], unknown: bool) -> Any:
        choose = self.random
        if schema.get("nullable") and choose.random() < 0.2:
            return None
        if "enum" in schema:
            return choose.choice(schema["enum"])
        for keyword in ("oneOf", "anyOf"):
            if keyword in schema:
                return self.instance(choose.choice(schema[keyword]), unknown)
        kind = schema.get("type")
        if kind == "string":
            low = schema.get("minLength", 0)
            high = schema.get("maxLength", low + 12)
            return "".join(
                choose.choices(
                    string.ascii_lowercase,
                    k=choose.choice([low, high, choose.randint(low, max(low, high))]),
                )
            )
        if kind in ("integer", "number"):
            low = schema.get("minimum", schema.get("maximum", 10) - 40)
            high = schema.get("maximum", low + 80)
            value = choose.choice([low, high, choose.randint(low, max(low, high))])
            return (
                value + 0.5
                if kind == "number" and value < high and choose.random() < 0.4
                else value
            )
        if kind == "boolean":
            return choose.random() < 0.5
        if kind == "array":
            low = schema.get("minItems", 0)
            high = schema.get("maxItems", low + 6)
            return [
                self.instance(schema["items"], unknown)
                for _ in range(choose.choice([low, high, choose.randint(low, max(low, high))]))
            ]
        made = {
            name: self.instance(child, unknown)
            for name, child in schema.get("properties", {}).items()
            if name in schema.get("required", []) or choose.random() < 0.7
        }
        if unknown and "additionalProperties" not in schema and choose.random() < 0.3:
            made["unknown"] = 1
        return made


def described(schema: Any, direction: str) -> Any:
    content = {"application/json": {"schema": schema}}
    if direction == "request":
        return document(
            minimal(paths={"/a": {"post": operation(requestBody={"content": content})}})
        )
    return document(
        minimal(
            paths={
                "/a": {
                    "post": operation(
                        responses={"200": {"description": "fine", "content": content}}
                    )
                }
            }
        )
    )


def judge(schema: Any, loaded: Any) -> Any:
    return jsonschema_rs.Draft202012Validator(to_json_schema(loaded, schema))


@pytest.mark.soak
@pytest.mark.parametrize("direction", ["request", "response"])
def test_only_breaking_verdicts_have_a_witness(direction: str, soak: bool) -> None:
    counts = {"breaking": 0, "harmless": 0, "undecided": 0}
    for seed in range(4000 if soak else 250):
        maker = Maker(seed)
        first = maker.schema()
        second = maker.near(first)
        old, new = described(first, direction), described(second, direction)
        found = diff(old, new, ReferenceResolver(old), ReferenceResolver(new))
        accepts_old, accepts_new = judge(first, old), judge(second, new)
        # The side whose values the other must still take: what clients send, or what they receive.
        giver, taker, source = (
            (accepts_old, accepts_new, first)
            if direction == "request"
            else (accepts_new, accepts_old, second)
        )
        levels = {change.level for change in found}
        told = [(change.rule.id, change.path) for change in found]
        if levels & BREAKING:
            counts["breaking"] += 1
            values = (
                maker.instance(maker.random.choice([first, second]), unknown=True)
                for _ in range(TRIES)
            )
            assert any(giver.is_valid(value) and not taker.is_valid(value) for value in values), (
                seed,
                told,
                first,
                second,
            )
        elif Level.WARNING in levels:
            counts["undecided"] += 1
        else:
            counts["harmless"] += 1
            for _ in range(SAMPLES):
                value = maker.instance(source, unknown=False)
                if giver.is_valid(value):
                    assert taker.is_valid(value), (seed, told, value, first, second)
    assert counts["breaking"] > 50
    assert counts["harmless"] > 50
