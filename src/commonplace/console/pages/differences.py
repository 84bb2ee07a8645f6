"""Differences between what is saved and what a person typed, as lines of a unified diff."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from commonplace.kernel.json_types import Json

MAX_LINES = 2000


def compare_fields(
    saved: Mapping[str, Json], typed: Mapping[str, Json], names: Sequence[str], text: str
) -> list[str]:
    """Return two lines for each field that differs, and a diff of the field `text`."""
    lines = [
        line
        for name in names
        if name != text and (typed[name] or "") != (saved.get(name) or "")
        for line in (f"-{name}: {_flat(saved.get(name, ''))}", f"+{name}: {_flat(typed[name])}")
    ]
    before, after = (str(side.get(text, "")).splitlines() for side in (saved, typed))
    diff = list(difflib.unified_diff(before, after, lineterm="", n=2))
    lines += diff[2:]  # without the names of the files
    if len(lines) > MAX_LINES:
        return [*lines[:MAX_LINES], f"@@ {len(lines) - MAX_LINES} more lines @@"]
    return lines


def _flat(value: Json) -> str:
    return ", ".join(str(part) for part in value) if isinstance(value, list) else str(value)
