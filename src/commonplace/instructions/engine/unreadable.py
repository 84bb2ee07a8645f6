"""Values and fields of stored documents that cannot be read as written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import orjson

from commonplace.instructions.engine.entry.problems import did_you_mean, shown
from commonplace.instructions.fields import KNOWN_FIELDS
from commonplace.instructions.model import Instruction
from commonplace.kernel.json_types import Json, JsonObject

MAX_VALUES = 500


@dataclass(frozen=True, slots=True)
class StoredProblem:
    """A field of a stored instruction, and what is wrong with it."""

    id: str
    field: str
    problem: str


def unreadable_values(
    entries: Iterable[Instruction], read_stored: Callable[[str], JsonObject]
) -> list[StoredProblem]:
    """List values that were replaced on load: as they are stored, and what is used instead."""
    found: list[StoredProblem] = []
    for entry in entries:
        if not entry.salvaged:
            continue
        stored = read_stored(entry.id)
        document = entry.document.whole()
        for field in entry.salvaged:
            used = f"read as {shown(document[field])}" if field in document else "left out"
            if isinstance(document.get(field), list):
                used = (
                    f"read as {', '.join(map(str, document[field][:5]))}"
                    if field == "categories"
                    else "read in part"
                )
            problem = f"{_shown_stored(stored.get(field))} cannot be read; it is {used}"
            found.append(StoredProblem(entry.id, field, problem))
        if len(found) >= MAX_VALUES:
            break
    return found[:MAX_VALUES]


def unknown_fields(entries: Iterable[Instruction]) -> list[StoredProblem]:
    """List fields of stored documents that an instruction does not have."""
    found: list[StoredProblem] = []
    for entry in entries:
        for name in sorted(entry.document.whole().keys() - KNOWN_FIELDS):
            problem = f"is not a field of an instruction.{did_you_mean(name, KNOWN_FIELDS)}"
            found.append(StoredProblem(entry.id, name[:80], problem))
        if len(found) >= MAX_VALUES:
            break
    return found[:MAX_VALUES]


def _shown_stored(value: Json) -> str:
    if isinstance(value, list | dict):
        text = orjson.dumps(value).decode()
        return text if len(text) <= 60 else f"{text[:59]}…"
    return shown(value)
