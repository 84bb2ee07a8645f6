"""Mutated documents and random trees: every read tool answers or refuses with a code."""

from __future__ import annotations

import random
import sys
import time
from pathlib import Path
from typing import Any

import orjson
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.load import load
from oas_calls import Tools
from oas_mutations import mutate

SEEDS = (
    "petstore-3.0.yaml",
    "petstore-3.2.yaml",
    "tictactoe-3.1.yaml",
    "uber-2.0.json",
    "media-type-examples-3.2.yaml",
)
WALKS = ("operations", "schemas", "parameters", "responses", "headers", "security", "paths", "refs")


def ask_everything(tools: Tools, text: str, original: str) -> None:
    spec = {"content": text}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("parse", {"spec": spec, "full": True, "resolve_refs": True}),
        ("validate", {"spec": spec, "strict": True}),
    ]
    calls += [
        (f"walk_{kind}", {"spec": spec, "detail": True, "resolve_refs": True}) for kind in WALKS
    ]
    calls += [(f"walk_{kind}", {"spec": spec}) for kind in WALKS]
    calls += [
        ("diff", {"base": {"content": original}, "revision": spec}),
        ("diff", {"base": spec, "revision": {"content": original}}),
    ]
    for name, arguments in calls:
        try:
            tools.call(name, **arguments)
        except CommonplaceError as error:
            refusal = error.code.name
            assert refusal != "INTERNAL", (name, text)


@pytest.mark.oracle
@pytest.mark.soak
def test_mutated_documents_never_cause_an_internal_error(data: Path, soak: bool) -> None:
    tools, chooser = Tools(), random.Random(7)
    originals = {}
    for name in SEEDS:
        value = load((data / "openapi" / "dev" / name).read_bytes()).data
        originals[name] = (value, orjson.dumps(value).decode())
    for number in range(3000 if soak else 60):
        name = SEEDS[number % len(SEEDS)]
        value, original = originals[name]
        try:
            text = orjson.dumps(mutate(value, chooser)).decode()
        except (TypeError, ValueError):
            continue  # the mutation is not JSON
        ask_everything(tools, text, original)


@pytest.mark.soak
def test_random_bytes_of_yaml_are_answered_in_time(soak: bool) -> None:
    chooser = random.Random(11)
    pieces = [
        "- ",
        "? ",
        ": ",
        "a",
        "\n",
        "  ",
        "[",
        "]",
        "{",
        "}",
        "&a ",
        "*a",
        "!!str ",
        "|\n",
        ">\n",
        '"',
        "'",
        "#",
        "1_0",
        "<<",
        ",",
        "\t",
        "---\n",
        "%YAML 1.2\n",
        "openapi: 3.0.0\n",
    ]
    begun = time.thread_time()
    for _ in range(20_000 if soak else 2000):
        text = "".join(chooser.choices(pieces, k=chooser.randint(1, 60)))
        try:
            load(text)
        except CommonplaceError as error:
            refusal = error.code.name
            assert refusal.startswith(("SPEC_", "NOT_A", "UNSUPPORTED"))
    assert time.thread_time() - begun < (200 if soak else 20)
