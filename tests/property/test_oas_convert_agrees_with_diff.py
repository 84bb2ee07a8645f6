"""A converted document means what its source means, or an issue names the difference."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.convert.chain import LADDER, Conversion, convert
from commonplace.openapi.engine.convert.consequences import name_breaking_changes, source_path
from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.diff.rules import BREAKING, ApiChange
from commonplace.openapi.engine.document.load import load
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.model import ApiDocument, Family
from oas_calls import document, minimal, operation

SMALL_BYTES = 100_000
ALWAYS = ("asana.yaml", "google-maps.json")
RANDOM_DOCUMENTS = 400


def corpus(data: Path, soak: bool) -> Iterator[ApiDocument]:
    """The documents that load: all of them in a soak, else the small ones and two of middle
    size.
    """
    for path in sorted([*data.glob("openapi/dev/*"), *data.glob("openapi/conformance/**/*")]):
        if path.suffix not in (".json", ".yaml") or not (
            soak or path.stat().st_size < SMALL_BYTES or path.name in ALWAYS
        ):
            continue
        try:
            yield load(path.read_bytes(), name=path.name)
        except CommonplaceError:
            assert "conformance" in path.parts, path


def compared(source: ApiDocument, target: Family) -> tuple[Conversion, list[ApiChange]]:
    made = name_breaking_changes(
        source, source.data, convert(source.data, source.family, target), target
    )
    revision = load(orjson.dumps(made.document))
    changes = diff(source, revision, ReferenceResolver(source), ReferenceResolver(revision))
    return made, [change for change in changes if change.level in BREAKING]


def shown(changes: list[ApiChange]) -> list[str]:
    return [f"{change.rule.id} {change.path}: {change.message}" for change in changes[:10]]


def newer(source: ApiDocument) -> tuple[Family, ...]:
    return LADDER[LADDER.index(source.family) + 1 :]


def older(source: ApiDocument) -> tuple[Family, ...]:
    return LADDER[: LADDER.index(source.family)]


@pytest.mark.timeout(3600)
def test_an_upward_conversion_breaks_no_client(data: Path, soak: bool) -> None:
    checked = 0
    for source in corpus(data, soak):
        for target in newer(source):
            _, breaking = compared(source, target)
            assert not breaking, (source.name, target, shown(breaking))
            checked += 1
    assert checked > 40


@pytest.mark.timeout(3600)
def test_issues_name_every_breaking_change_of_a_downward_conversion(data: Path, soak: bool) -> None:
    checked = 0
    for source in corpus(data, soak):
        for target in older(source):
            made, breaking = compared(source, target)
            places = [source_path(issue.path) for issue in made.issues if issue.severity != "info"]
            unnamed = [
                change
                for change in breaking
                if not any(around(source_path(change.path), place) for place in places)
            ]
            assert not unnamed, (source.name, target, shown(unnamed))
            checked += len(breaking)
    assert checked > 10


def around(path: str, place: str) -> bool:
    """Tell whether one of two places contains the other; the whole document does not count."""
    return (place.count("/") > 1 and f"{path}/".startswith(f"{place}/")) or f"{place}/".startswith(
        f"{path}/"
    )


class Nullables:
    """Random 3.0 schemas with `nullable` wherever authors put it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def schema(self, depth: int = 0) -> dict[str, Any]:
        kinds = ["string", "integer", "enum", "object", "reference"] + [
            "allOf",
            "oneOf",
            "anyOf",
            "array",
            "untyped",
        ] * (depth < 3)
        made = self.make(self.random.choice(kinds), depth)
        if "$ref" not in made and self.random.random() < 0.5:
            made["nullable"] = True
        return made

    def make(self, kind: str, depth: int) -> dict[str, Any]:
        if kind == "reference":
            return {"$ref": f"#/components/schemas/{self.random.choice('ABC')}"}
        if kind in ("allOf", "oneOf", "anyOf"):
            made: dict[str, Any] = {
                kind: [self.schema(depth + 1) for _ in range(self.random.randint(1, 3))]
            }
            if kind == "allOf" and self.random.random() < 0.5:
                made["allOf"].append(
                    self.random.choice(
                        [
                            {"nullable": True},
                            {"type": "object", "nullable": True, "description": "d"},
                        ]
                    )
                )
            if self.random.random() < 0.3:
                made["type"] = "object"
            return made | ({"description": "d"} if self.random.random() < 0.3 else {})
        if kind == "array":
            return {"type": "array", "items": self.schema(depth + 1)}
        if kind == "object":
            names = self.random.sample("xyz", 2)
            return {
                "type": "object",
                "properties": {name: self.schema(depth + 1) for name in names} if depth < 3 else {},
            }
        if kind == "enum":
            typed = {"type": "string"} if self.random.random() < 0.8 else {}
            return {
                **typed,
                "enum": self.random.sample(
                    ["a", "b", "c", *([None] if self.random.random() < 0.3 else [])], 2
                ),
            }
        return {} if kind == "untyped" else {"type": kind}

    def document(self) -> dict[str, Any]:
        content = {"application/json": {"schema": self.schema()}}
        put = operation(
            requestBody={"content": content},
            responses={"200": {"description": "d", "content": content}},
        )
        named = {name: {"type": "object", "properties": {"p": self.schema(2)}} for name in "AB"}
        named["C"] = {"type": "string", "enum": ["a", "b"], "nullable": True}
        return minimal("3.0.3", paths={"/x": {"put": put}}, components={"schemas": named})


def test_nullable_means_the_same_before_and_after_a_conversion(soak: bool) -> None:
    for seed in range(RANDOM_DOCUMENTS * (20 if soak else 1)):
        source = document(Nullables(seed).document())
        _, breaking = compared(source, Family.V31)
        assert not breaking, (
            seed,
            shown(breaking),
            orjson.dumps(source.data["paths"]["/x"]["put"]["requestBody"]).decode(),
        )


def test_a_nullable_enum_admits_null_after_the_conversion() -> None:
    schema = {"type": "string", "nullable": True, "enum": ["a", "b"]}
    made = convert(minimal("3.0.3", components={"schemas": {"S": schema}}), Family.V30, Family.V31)
    assert made.document["components"]["schemas"]["S"] == {
        "type": ["string", "null"],
        "enum": ["a", "b", None],
    }
    assert [issue.path for issue in made.issues] == ["/components/schemas/S/enum"]
