"""Mutated documents and random trees: every write tool answers or refuses with a code."""

from __future__ import annotations

import random
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent))

from commonplace.kernel.errors import CommonplaceError
from commonplace.openapi.engine.document.load import load
from oas_calls import Tools
from oas_mutations import mutate, random_document

SEEDS = (
    "petstore-3.0.yaml",
    "petstore-3.2.yaml",
    "tictactoe-3.1.yaml",
    "uber-2.0.json",
    "media-type-examples-3.2.yaml",
)
OVERLAY = """\
overlay: 1.1.0
info: {title: o, version: '1'}
actions: [{target: $.info, update: {x-a: 1}}, {target: $.paths.*, remove: true}]
"""
EVERY_FIX = {
    "prune": True,
    "fix_schema_names": True,
    "stub_missing_refs": True,
    "fix_duplicate_operationids": True,
}


def list_calls(text: str, original: str) -> list[tuple[str, dict[str, Any]]]:
    spec, other = {"content": text}, {"content": original}
    code = {"spec": spec, "include_files": True, "client": True}
    merge = {"schema_strategy": "deduplicate-or-rename", "semantic_dedup": True}
    return [
        ("generate", {**code, "server": True}),
        ("generate", {**code, "language": "python"}),
        *(("convert", {"spec": spec, "target": f"{v}"}) for v in ("2.0", "3.0", "3.1", "3.2")),
        ("fix", {"spec": spec, **EVERY_FIX}),
        ("overlay_apply", {"spec": spec, "overlay": {"content": OVERLAY}}),
        ("join", {"specs": [spec, other], "path_strategy": "accept-right"}),
        ("join", {"specs": [other, spec], "path_strategy": "accept-left", **merge}),
    ]


@pytest.mark.oracle
@pytest.mark.soak
def test_broken_documents_never_cause_an_internal_error(data: Path, soak: bool) -> None:
    tools, chooser = Tools(), random.Random(23)
    originals = [load((data / "openapi" / "dev" / name).read_bytes()).data for name in SEEDS]
    for number in range(5000 if soak else 150):
        original = originals[number % len(SEEDS)]
        broken = mutate(original, chooser) if number % 3 else random_document(chooser)
        try:
            text = orjson.dumps(broken).decode()
        except (TypeError, ValueError):
            continue  # the mutation is not JSON
        for name, arguments in list_calls(text, orjson.dumps(original).decode()):
            try:
                tools.call(name, **arguments)
            except CommonplaceError as error:
                refusal = error.code.name
                assert refusal != "INTERNAL", (name, text)
