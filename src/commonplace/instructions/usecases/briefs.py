"""Compact items of lists and searches. Those of lists are kept until their instruction changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from commonplace.instructions.engine.brief import (
    LISTED_CHARS,
    brief_of,
    excerpt,
    fitting,
    fitting_values,
    opening,
    shorten,
)
from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.model import Instruction
from commonplace.kernel.json.document import Document

KEPT = 8192


class Briefs:
    """Its caller holds the catalogue's lock."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[Instruction, Document]] = {}

    def listed(self, catalogue: Catalogue, ids: Sequence[str]) -> list[Document]:
        entries = catalogue.entries
        return [self._brief(entries[id_]) for id_ in ids]

    def _brief(self, entry: Instruction) -> Document:
        known = self._known.get(entry.id)
        if known is None or known[0] is not entry:
            if len(self._known) >= KEPT:
                self._known.clear()
            known = self._known[entry.id] = (
                entry,
                brief_of(entry, shorten(opening(entry.document), LISTED_CHARS)),
            )
        return known[1]

    def found(self, catalogue: Catalogue, ids: Sequence[str], query: str) -> list[Document]:
        """With snippets of where the query stands."""
        entries = [catalogue.entries[id_] for id_ in ids]
        return [brief_of(entry, excerpt(entry.text[1], query)) for entry in entries]


SHOWN = 50  # lines of a list in a compact answer
DIFF_CHARS = 1500
VALUE_CHARS = 200


def first_of(
    answer: Mapping[str, Any], names: Sequence[str], how: str, most: int = SHOWN
) -> dict[str, Any]:
    """Leave out the end of long lists in an answer, and say so."""
    long = [name for name in names if len(answer.get(name) or ()) > most]
    if not long:
        return dict(answer)
    counts = ", ".join(f"{most} of {len(answer[name])} in {name}" for name in long)
    shown = {name: answer[name][:most] for name in long}
    return {**answer, **shown, "note": f"Shown to keep the answer short: {counts}. {how}"}


def brief_history(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Shorten the differences of a history: long values and long diffs of bodies."""
    changes = []
    for change in answer["changes"]:
        diff = dict(change["diff"])
        if len(diff["bodyDiff"]) > DIFF_CHARS:
            diff |= {"bodyDiff": diff["bodyDiff"][:DIFF_CHARS], "bodyDiffTruncated": True}
        diff["fields"] = {
            name: {side: _brief_value(value) for side, value in sides.items()}
            for name, sides in diff["fields"].items()
        }
        changes.append({**change, "diff": diff})
    count = fitting_values(changes)
    log = answer["changeLog"][-SHOWN:]
    if count == len(changes) and log == answer["changeLog"]:
        return {**answer, "changes": changes}
    note = (
        f"{count} of {answer['count']} changes and the last {len(log)} lines of the change "
        f"log are shown. Set full for all."
    )
    return {**answer, "changes": changes[:count], "changeLog": log, "note": note}


def _brief_value(value: Any) -> Any:
    text = value if isinstance(value, str) else orjson.dumps(value).decode()
    return value if len(text) <= VALUE_CHARS else shorten(text, VALUE_CHARS)


def without_body(document: Any) -> Any:
    """Replace a long body by a snippet."""
    body = document.get("body") if isinstance(document, Mapping) else None
    if not isinstance(body, str) or len(body) <= DIFF_CHARS:
        return document
    rest = {name: value for name, value in document.items() if name != "body"}
    return {**rest, "snippet": shorten(body, LISTED_CHARS), "bodyChars": len(body)}


def bounded(answer: Mapping[str, Any], total: int, how: str) -> dict[str, Any]:
    """Leave out items that do not fit into an answer of a size that an agent can read, and say
    so.
    """
    items = answer["items"]
    count = fitting(items)
    if count == len(items):
        return dict(answer)
    note = f"{count} of {total} are shown, to keep the answer short. {how}"
    return {**answer, "items": items[:count], "note": note}
