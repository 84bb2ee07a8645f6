"""Changes between two documents: by severity and place, and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from commonplace.kernel.json_types import JsonObject

LEVELS = (
    ("critical", "Breaks every client", "bad"),
    ("error", "Breaks clients", "bad"),
    ("warning", "May break clients", "warn"),
    ("info", "Breaks nobody", "info"),
)
ChangeGroup = tuple[str, str, int, Mapping[str, list[JsonObject]]]


def group_changes(changes: Sequence[JsonObject]) -> list[ChangeGroup]:
    """Return (title, kind, count, changes by place) of each level that occurs, worst first."""
    groups: list[ChangeGroup] = []
    for level, title, kind in LEVELS:
        found = [change for change in changes if change["severity"] == level]
        if found:
            groups.append((title, kind, len(found), by_place(found)))
    return groups


def by_place(changes: Sequence[JsonObject]) -> dict[str, list[JsonObject]]:
    """Return changes by the operation or component that they belong to."""
    places: dict[str, list[JsonObject]] = {}
    for change in changes:
        places.setdefault(place_of(str(change["path"])), []).append(change)
    return places


def place_of(pointer: str) -> str:
    """Name the place of a JSON pointer.

    `/paths/~1pets/get/responses/200` is `GET /pets`; `/components/schemas/Pet/...` is
    `schemas Pet`.
    """
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    if len(steps) >= 3 and steps[0] == "paths":
        return f"{steps[2].upper()} {steps[1]}"
    if len(steps) >= 2 and steps[0] == "paths":
        return steps[1]
    if len(steps) >= 3 and steps[0] == "components":
        return f"{steps[1]} {steps[2]}"
    if len(steps) >= 2 and steps[0] == "definitions":
        return f"schemas {steps[1]}"
    return " ".join(steps[:2]) or "the document"


def write_report(found: JsonObject) -> str:
    """Return the changes as Markdown, for a pull request."""
    lines = [f"**{found['summary']}**", ""]
    for level, title, _ in LEVELS:
        changes = [change for change in found["changes"] if change["severity"] == level]
        if changes:
            lines += [f"### {title}", ""]
            lines += [
                f"- `{place_of(str(change['path']))}`: {change['message']}" for change in changes
            ]
            lines.append("")
    return "\n".join(lines)
