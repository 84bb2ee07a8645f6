"""The real Mermaid parser reads graphs of instructions."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise, product
from pathlib import Path
from string import ascii_lowercase, digits

from conformance.suite import node
from instruction_server import Server

from commonplace.instructions.engine.graph import MERMAID_WORDS, to_mermaid

ROOT = Path(__file__).resolve().parent.parent.parent
PARSER = Path(__file__).parent / "mermaid" / "parse.mjs"
NODE_MODULES = ROOT / ".tools" / "node" / "node_modules"
RESERVED = (
    "style",
    "graph",
    "subgraph",
    "class",
    "click",
    "flowchart",
    "href",
    "call",
    "interpolate",
    "end",
    "default",
)
OTHERS = (
    "linkstyle",
    "classdef",
    "style-guide",
    "graph.x",
    "end-of",
    "the-end",
    "class_1",
    "direction",
    "title",
    "constructor",
    "v",
    "x",
    "o",
)


def parse(*drawings: str) -> list[str | None]:
    """What the parser says of each drawing: None where it is fine."""
    assert (NODE_MODULES / "mermaid").is_dir(), "run make setup"
    done = subprocess.run(
        [node(), str(PARSER), str(NODE_MODULES)],
        input=json.dumps(drawings),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    problems: list[str | None] = json.loads(done.stdout)
    return problems


def test_the_mermaid_parser_detects_an_invalid_graph() -> None:
    sound, broken = parse('flowchart TB\n  a["a"]\n', 'flowchart TB\n  style["style"]\n')
    assert sound is None
    assert broken is not None


def test_ids_and_categories_that_are_mermaid_keywords_can_be_drawn(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        for name in (*RESERVED, *OTHERS):
            category = name.replace(".", "-")
            server.call(
                "instructions/add",
                entry={"id": name, "body": "x", "categories": [category, "shared"]},
                lax=True,
            )
        drawings = [
            server.call("graph/export", format="mermaid", **options)["mermaid"]
            for options in (
                {},
                {"enrich": True},
                {"enrich": True, "includeCategoryNodes": True},
                {"includeEdgeTypes": ["primary"]},
                {"maxEdges": 0},
            )
        ]
    for drawing in drawings:
        assert all(f'["{name}"]' in drawing for name in (*RESERVED, *OTHERS))
    assert parse(*drawings) == [None] * len(drawings)


def test_every_short_id_and_every_reserved_word_can_be_drawn() -> None:
    short = [
        "".join(letters)
        for length in (1, 2)
        for letters in product(ascii_lowercase + digits, repeat=length)
    ]
    words = sorted(MERMAID_WORDS)
    names = [*short, *words, *(f"{word}-x" for word in words), *(f"x.{word}" for word in words)]
    parts = [
        names[start : start + 400] for start in range(0, len(names), 400)
    ]  # Mermaid draws fewer than 500 edges
    drawings = [to_mermaid(_chain(part), "2025-01-01T00:00:00.000Z") for part in parts]
    assert parse(*drawings) == [None] * len(parts)


def _chain(names: list[str]) -> dict[str, object]:
    edges = [{"from": name, "to": other, "type": "category"} for name, other in pairwise(names)]
    return {
        "meta": {"graphSchemaVersion": 1},
        "nodes": [{"id": name} for name in names],
        "edges": edges,
    }
