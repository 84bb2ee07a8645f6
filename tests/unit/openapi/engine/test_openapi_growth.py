"""Fixing, editing and joining take time in proportion to the document, however many places
change.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from commonplace.openapi.engine.document.load import parse_text
from commonplace.openapi.engine.fix import FixOptions, fix
from commonplace.openapi.engine.join.documents import JoinPart, join
from commonplace.openapi.engine.yaml.edit import edit_yaml
from commonplace.openapi.engine.yaml.emit import to_yaml
from commonplace.openapi.model import Family

SMALL, LARGE = 400, 4000


def document(size: int, description: str = "") -> dict[str, Any]:
    operation = {"operationId": "same", "responses": {"200": {"description": "one\ntwo\n"}}}
    schemas = {
        f"S[{number}]": {"type": "object", "description": f"{description}{number}"}
        for number in range(size)
    }
    paths = {f"/p{number}": {"get": operation} for number in range(size)}
    return {
        "openapi": "3.0.3",
        "info": {"title": "t", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def growth(prepare: Callable[[int], Callable[[], object]]) -> float:
    """How many times longer ten times as much takes: about ten, and a hundred where each place
    looks at all others.
    """

    def seconds(size: int) -> float:
        best = float("inf")
        for _ in range(2):
            work = prepare(size)
            begun = time.thread_time()
            work()
            best = min(best, time.thread_time() - begun)
        return best

    return seconds(LARGE) / seconds(SMALL)


def test_fixing_many_places_takes_linear_time() -> None:
    options = FixOptions(duplicate_operation_ids=True, schema_names=True)

    def prepare(size: int) -> Callable[[], object]:
        source = document(size)
        return lambda: fix(source, Family.V30, options)

    assert growth(prepare) < 25


def test_joining_many_differing_schemas_takes_linear_time() -> None:
    def prepare(size: int) -> Callable[[], object]:
        parts = [
            JoinPart(document(size, side), "3.0.3", Family.V30, side) for side in ("left", "right")
        ]
        return lambda: join(parts, path_strategy="accept-left", schema_strategy="rename-right")

    assert growth(prepare) < 25


def test_editing_many_places_of_a_yaml_text_takes_linear_time() -> None:
    def prepare(size: int) -> Callable[[], object]:
        source = document(size // 4)
        text = "# head\n" + to_yaml(source)
        data = parse_text(text).data
        new = fix(
            data, Family.V30, FixOptions(duplicate_operation_ids=True, schema_names=True)
        ).document
        return lambda: edit_yaml(text, data, new)

    assert growth(prepare) < 25
