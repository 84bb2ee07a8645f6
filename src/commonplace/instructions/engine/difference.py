"""Difference between two versions of a document."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.kernel.json_types import Json

MAX_DIFF_LINES = 400
_DERIVED = frozenset({"updatedAt", "changeLog", "sourceHash", "body"})


@dataclass(frozen=True, slots=True)
class DocumentDifference:
    """Fields that differ as (before, after), and a unified diff of the body."""

    fields: Mapping[str, tuple[Json, Json]]
    body_diff: str
    truncated: bool = False


def compare_documents(
    before: Mapping[str, Json] | None, after: Mapping[str, Json] | None
) -> DocumentDifference:
    """Return the fields that differ, and a unified diff of the body."""
    old, new = dict(before or {}), dict(after or {})
    fields = {
        name: (old.get(name), new.get(name))
        for name in sorted(old.keys() | new.keys())
        if name not in _DERIVED and old.get(name) != new.get(name)
    }
    lines = list(
        difflib.unified_diff(
            str(old.get("body", "")).splitlines(),
            str(new.get("body", "")).splitlines(),
            "before",
            "after",
            lineterm="",
            n=2,
        )
    )
    return DocumentDifference(
        fields, "\n".join(lines[:MAX_DIFF_LINES]), len(lines) > MAX_DIFF_LINES
    )
