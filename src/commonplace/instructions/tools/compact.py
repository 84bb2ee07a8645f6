"""Shorter answers for agents: cut lists and long values, with a note that says so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson

from commonplace.instructions.engine.summary import (
    LISTED_CHARS,
    count_fitting,
    count_fitting_values,
    shorten,
)
from commonplace.kernel.json_types import Json, JsonObject

MAX_LINES = 50  # of a list in a compact answer
DIFF_CHARS = 1500
VALUE_CHARS = 200


def cut_items(answer: JsonObject, total: int, how: str) -> JsonObject:
    """Leave out items that do not fit into an answer, and say how to get them."""
    items = answer["items"]
    count = count_fitting(items)
    if count == len(items):
        return answer
    note = f"{count} of {total} are shown, to keep the answer short. {how}"
    return {**answer, "items": items[:count], "note": note}


def cut_lists(
    answer: JsonObject, names: Sequence[str], how: str, limit: int = MAX_LINES
) -> JsonObject:
    """Leave out the ends of long lists, and say how to get them."""
    long = [name for name in names if len(answer.get(name) or ()) > limit]
    if not long:
        return answer
    counts = ", ".join(f"{limit} of {len(answer[name])} in {name}" for name in long)
    shown = {name: answer[name][:limit] for name in long}
    return {**answer, **shown, "note": f"Shown to keep the answer short: {counts}. {how}"}


def cut_history(answer: JsonObject) -> JsonObject:
    """Shorten the differences of a history: long values and long diffs of bodies."""
    changes = []
    for change in answer["changes"]:
        changes.append({**change, "diff": cut_difference(change["diff"])})
    count = count_fitting_values(changes)
    log = answer["changeLog"][-MAX_LINES:]
    if count == len(changes) and log == answer["changeLog"]:
        return {**answer, "changes": changes}
    note = (
        f"{count} of {answer['count']} changes and the last {len(log)} lines of the change log "
        f"are shown. Set full for all."
    )
    return {**answer, "changes": changes[:count], "changeLog": log, "note": note}


def cut_difference(difference: JsonObject) -> JsonObject:
    """Shorten a long diff of a body, and long values."""
    shown = dict(difference)
    if len(shown["bodyDiff"]) > DIFF_CHARS:
        shown |= {"bodyDiff": shown["bodyDiff"][:DIFF_CHARS], "bodyDiffTruncated": True}
    shown["fields"] = {
        name: {side: _cut_value(value) for side, value in sides.items()}
        for name, sides in shown["fields"].items()
    }
    return shown


def _cut_value(value: Json) -> Json:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return value if len(text) <= VALUE_CHARS else shorten(text, VALUE_CHARS)


def cut_body(document: Json) -> Json:
    """Replace a long body by a snippet."""
    body = document.get("body") if isinstance(document, Mapping) else None
    if not isinstance(body, str) or len(body) <= DIFF_CHARS:
        return document
    rest = {name: value for name, value in document.items() if name != "body"}
    return {**rest, "snippet": shorten(body, LISTED_CHARS), "bodyChars": len(body)}
