"""What people wrote into the files and the server cannot read as it stands: values, fields,
folders.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from commonplace.instructions.engine.problems import did_you_mean, shown
from commonplace.instructions.model import KNOWN_FIELDS, Instruction
from commonplace.instructions.service import Service

MOST = 500


def unreadable_values(service: Service, entries: Iterable[Instruction]) -> list[dict[str, Any]]:
    """Return the values that were read as others, by instruction: as they are written, and what
    is used instead.
    """
    found = []
    for entry in entries:
        if not entry.salvaged:
            continue
        stored = _stored(service, entry.id)
        document = entry.document.whole()
        for field in entry.salvaged:
            used = f"read as {shown(document[field])}" if field in document else "left out"
            if isinstance(document.get(field), list):
                used = (
                    f"read as {', '.join(map(str, document[field][:5]))}"
                    if field == "categories"
                    else "read in part"
                )
            found.append(
                {
                    "id": entry.id,
                    "field": field,
                    "problem": f"{shown_written(stored.get(field))} cannot be read; it is {used}",
                }
            )
        if len(found) >= MOST:
            break
    return found[:MOST]


def shown_written(value: Any) -> str:
    """Return a value of a file for a message."""
    if isinstance(value, list | dict):
        text = orjson.dumps(value).decode()
        return text if len(text) <= 60 else f"{text[:59]}…"
    return shown(value)


def unknown_fields(entries: Iterable[Instruction]) -> list[dict[str, str]]:
    """Return the fields of files that no instruction has."""
    found = []
    for entry in entries:
        for name in sorted(entry.document.whole().keys() - KNOWN_FIELDS):
            problem = f"is no field of an instruction.{did_you_mean(name, KNOWN_FIELDS)}"
            found.append({"id": entry.id, "field": name[:80], "problem": problem})
        if len(found) >= MOST:
            break
    return found[:MOST]


def _stored(service: Service, id_: str) -> Mapping[str, Any]:
    content = service.shelf.directory.read_bytes(id_) or b"{}"
    try:
        raw = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
    except orjson.JSONDecodeError:
        return {}
    return raw if isinstance(raw, dict) else {}
