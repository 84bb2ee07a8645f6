"""A set that no ranking was tuned on: what releases say of themselves, and the lines they changed.

`data/releases.json` has the change log entry of a release as the query, the release before it as
the repository, and the lines that the release changed in it as the answer: JavaScript and
TypeScript. An entry often names less than what changed, so no ranking reaches 1.
"""

from __future__ import annotations

import json
from pathlib import Path

RELEASES = Path(__file__).parent / "data" / "releases.json"
Release = tuple[str, str, str, dict[str, list[tuple[int, int]]]]


def load_releases() -> list[Release]:
    raw = json.loads(RELEASES.read_text("utf-8"))
    return [(entry["id"], entry["package"], entry["query"], entry["gold"]) for entry in raw]
