"""JSON lines: our own export (`record`: entry or link), and the file of the MCP reference
server-memory (`type`: entity or relation).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.formats.batch import (
    Batch,
    EntryBuilder,
    kept,
    knows_type,
    list_of,
    read_bounded,
    text_of,
)
from commonplace.memory.formats.records import (
    entry_record,
    link_record,
    note_record,
    read_entry_record,
    read_link_record,
)
from commonplace.memory.model import Entry


def write_jsonl(batch: Batch, path: Path) -> None:
    with path.open("wb") as stream:
        for entry in batch.entries:
            stream.write(
                orjson.dumps({"record": "entry", **entry_record(entry, batch.usage.get(entry.id))})
                + b"\n"
            )
        for link in batch.links:
            stream.write(orjson.dumps({"record": "link", **link_record(link)}) + b"\n")


def read_jsonl(path: Path, builder: EntryBuilder) -> Batch:
    batch = Batch()
    for where, record in _lines(path):
        if record.get("record") == "entry":
            entry = kept(batch, where, lambda record=record: read_entry_record(record, builder))  # type: ignore[misc]
            if entry is not None:
                note_record(batch, entry.id, record, builder.now)
        elif record.get("record") == "link":
            batch.links.append(read_link_record(record, builder))
        else:
            batch.problems.append(f"{where}: neither an entry nor a link")
    return batch


def read_server_memory(path: Path, builder: EntryBuilder) -> Batch:
    """An entity is an entry with its observations as lines; what relates two entities is a link
    and a line of its source.
    """
    entities: dict[str, dict[str, Any]] = {}
    relations: list[tuple[str, dict[str, Any]]] = []
    batch = Batch()
    for where, record in _graph(path):
        name = text_of(record, "name")
        if record.get("type") == "entity" and name:
            known = entities.setdefault(
                name, {"where": where, "type": text_of(record, "entityType"), "observations": []}
            )
            known["observations"] += [str(item) for item in list_of(record.get("observations"))]
        elif record.get("type") == "relation":
            relations.append((where, record))
        else:
            batch.problems.append(f"{where}: neither an entity nor a relation")
    told: dict[str, list[str]] = {}
    for _, record in relations:
        told.setdefault(text_of(record, "from"), []).append(
            f"{text_of(record, 'relationType')}: {text_of(record, 'to')}"
        )
    made: dict[str, Entry] = {}
    for name, entity in entities.items():
        lines = [f"- {line}" for line in dict.fromkeys(entity["observations"])]
        lines += [f"- {line}" for line in dict.fromkeys(told.get(name, []))]
        tags = [entity["type"]] if entity["type"] and not knows_type(entity["type"]) else []
        content, type_ = "\n".join(lines), entity["type"]
        entry = kept(
            batch,
            entity["where"],
            lambda name=name, content=content, type_=type_, tags=tags: builder.entry(
                name, content, type_=type_, tags=tags
            ),  # type: ignore[misc]
        )
        if entry is not None:
            made[name] = entry
    for where, record in relations:
        source, target = made.get(text_of(record, "from")), made.get(text_of(record, "to"))
        if source is None or target is None:
            batch.problems.append(f"{where}: relates an entity that the file does not have")
        elif source.id != target.id:
            batch.links.append(builder.link(source.id, target.id, record.get("relationType")))
    return batch


def _graph(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Its lines, or what its tool `read_graph` answers: one object with all entities and
    relations.
    """
    content = read_bounded(path).strip()
    try:
        whole = orjson.loads(content) if content else None
    except orjson.JSONDecodeError:
        whole = None  # several lines
    if not isinstance(whole, dict) or not isinstance(whole.get("entities"), list):
        yield from _lines(path)
        return
    for type_, name in (("entity", "entities"), ("relation", "relations")):
        for number, record in enumerate(list_of(whole.get(name)), start=1):
            yield f"{type_} {number}", {**record, "type": type_} if isinstance(record, dict) else {}


def first_record(path: Path) -> dict[str, Any]:
    """The object on the first line, or the whole file where it is one; empty for anything else."""
    content = read_bounded(path).strip()
    for part in (content.split(b"\n", 1)[0], content):
        try:
            value = orjson.loads(part)
        except orjson.JSONDecodeError:
            continue
        return value if isinstance(value, dict) else {}
    return {}


def _lines(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, line in enumerate(read_bounded(path).split(b"\n"), start=1):
        if line.strip():
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as broken:
                raise failure(
                    INVALID_IMPORT, f"Line {number} of {path.name} is not JSON: {broken}."
                ) from broken
            if not isinstance(record, dict):
                raise failure(INVALID_IMPORT, f"Line {number} of {path.name} is not an object.")
            yield f"line {number}", record
