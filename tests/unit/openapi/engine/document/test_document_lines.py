"""Line numbers of JSON pointers."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from commonplace.openapi.engine.document.lines import find_lines
from commonplace.openapi.engine.document.load import load


def _true_lines(text: str) -> dict[str, int]:
    found: dict[str, int] = {}

    def visit(node: Any, pointer: str) -> None:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                here = f"{pointer}/{key.value.replace('~', '~0').replace('/', '~1')}"
                found[here] = key.start_mark.line + 1
                visit(value, here)
        elif isinstance(node, yaml.SequenceNode):
            for number, value in enumerate(node.value):
                found[f"{pointer}/{number}"] = value.start_mark.line + 1
                visit(value, f"{pointer}/{number}")

    visit(yaml.compose(text, Loader=yaml.CSafeLoader), "")
    return found


@pytest.mark.oracle
@pytest.mark.parametrize(
    "name",
    [
        "petstore-3.0.yaml",
        "petstore-3.2.yaml",
        "tictactoe-3.1.yaml",
        "uber-2.0.json",
        "docker-engine-swagger.yaml",
        "media-type-examples-3.2.yaml",
    ],
)
def test_lines_agree_with_a_parser_that_tracks_them(data: Path, name: str) -> None:
    text = (data / "openapi" / "dev" / name).read_text()
    truth = _true_lines(text)
    chosen = random.Random(1).sample(sorted(truth), min(len(truth), 400))
    found = find_lines(load(text), chosen)
    assert {pointer: line for pointer, line in found.items() if line != truth[pointer]} == {}


def test_lines_fall_back_to_the_nearest_parent() -> None:
    loaded = load("openapi: 3.0.0\ninfo:\n  title: a\n")
    assert find_lines(loaded, ["/info/version", "/nothing/at/all"]) == {
        "/info/version": 2,
        "/nothing/at/all": 1,
    }
