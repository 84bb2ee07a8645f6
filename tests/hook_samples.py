"""Inputs of hooks: as documented for Claude Code, and made from the published schemas of Codex."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parent / "data" / "hooks"
CODEX_SCHEMAS: dict[str, Any] = json.loads((DATA / "codex_schemas.json").read_text())
CLAUDE_CODE: list[dict[str, Any]] = json.loads((DATA / "claude_code_events.json").read_text())[
    "events"
]
PATCH = """*** Begin Patch
*** Update File: src/app.py
@@
-x = 1
+x = 2
*** Add File: docs/new page.md
+# Title
*** Delete File: old.txt
*** End Patch
"""


def claude_code_ids() -> list[str]:
    return [f"{sample['event']}-{sample['variant'] or 'only'}" for sample in CLAUDE_CODE]


def codex_inputs() -> list[tuple[str, dict[str, Any]]]:
    """Return an input for every event, and one more for each value of an enumeration."""
    samples = []
    for name, schema in CODEX_SCHEMAS.items():
        if name.endswith(".input"):
            event = name.removesuffix(".input")
            samples += [(event, sample) for sample in _make_inputs(schema)]
    return samples


def codex_ids() -> list[str]:
    varied = ("source", "trigger", "permission_mode")
    return [
        "-".join([event, *(str(sample[field]) for field in varied if field in sample)])
        for event, sample in codex_inputs()
    ]


def _make_inputs(schema: dict[str, Any]) -> list[dict[str, Any]]:
    base: dict[str, Any] = {}
    varied: dict[str, list[str]] = {}
    for field, kind in schema["properties"].items():
        if field not in schema["required"]:
            continue
        if kind is True:
            base[field] = {"command": PATCH} if field == "tool_input" else {}
        elif "const" in kind:
            base[field] = kind["const"]
        elif "enum" in kind:
            base[field] = kind["enum"][0]
            varied[field] = kind["enum"][1:]
        elif kind.get("type") == "boolean":
            base[field] = False
        else:
            base[field] = {"tool_name": "apply_patch", "cwd": "/home/dev/demo"}.get(field, "text")
    return [base, *(base | {field: value} for field, values in varied.items() for value in values)]
