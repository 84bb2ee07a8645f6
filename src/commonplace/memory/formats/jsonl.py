"""JSON lines: our own export, and the file of the reference server-memory.

Our records have `record` (entry, link or suggestion), those of server-memory `type` (entity or
relation).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import orjson

from commonplace.kernel.json_types import JsonObject
from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.formats.batch import (
    Batch,
    EntryBuilder,
    knows_type,
    list_of,
    read_bounded,
    text_of,
)
from commonplace.memory.formats.records import (
    entry_record,
    link_record,
    note_record,
    note_suggestion,
    read_entry_record,
    read_link_record,
    suggestion_record,
)
from commonplace.memory.model import Entry


def write_jsonl(batch: Batch, path: Path) -> None:
    """Write one record a line, entries first."""
    with path.open("wb") as stream:
        for entry in batch.entries:
            stream.write(
                orjson.dumps({"record": "entry", **entry_record(entry, batch.usage.get(entry.id))})
                + b"\n"
            )
        for link in batch.links:
            stream.write(orjson.dumps({"record": "link", **link_record(link)}) + b"\n")
        for suggestion in batch.decided:
            record = {"record": "suggestion", **suggestion_record(suggestion)}
            stream.write(orjson.dumps(record) + b"\n")


def read_jsonl(path: Path, builder: EntryBuilder) -> Batch:
    """Read our own export."""
    batch = Batch()
    for where, record in _lines(path):
        if record.get("record") == "entry":
            entry = batch.add(where, partial(read_entry_record, record, builder))
            if entry is not None:
                note_record(batch, entry.id, record, builder.now)
        elif record.get("record") == "link":
            batch.links.append(read_link_record(record, builder))
        elif record.get("record") == "suggestion":
            note_suggestion(batch, where, record, builder)
        else:
            batch.problems.append(f"{where}: neither an entry, a link nor a suggestion")
    return batch


def read_server_memory(path: Path, builder: EntryBuilder) -> Batch:
    """Read entities as entries, with their observations and relations as lines."""
    batch = Batch()
    graph = _read_graph(path, batch)
    entries: dict[str, Entry] = {}
    for name, entity in graph.entities.items():
        tags = [entity.type] if entity.type and not knows_type(entity.type) else []
        lines = (*dict.fromkeys(entity.observations), *dict.fromkeys(entity.relations))
        content = "\n".join(f"- {line}" for line in lines)
        make = partial(builder.entry, name, content, type_=entity.type, tags=tags)
        entry = batch.add(entity.where, make)
        if entry is not None:
            entries[name] = entry
    for where, record in graph.relations:
        source, target = entries.get(text_of(record, "from")), entries.get(text_of(record, "to"))
        if source is None or target is None:
            batch.problems.append(f"{where}: relates an entity that is not in the file")
        elif source.id != target.id:
            batch.links.append(builder.link(source.id, target.id, record.get("relationType")))
    return batch


@dataclass(slots=True)
class _Entity:
    where: str
    type: str
    observations: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Graph:
    entities: dict[str, _Entity] = field(default_factory=dict)
    relations: list[tuple[str, JsonObject]] = field(default_factory=list)


def _read_graph(path: Path, batch: Batch) -> _Graph:
    graph = _Graph()
    for where, record in _graph_records(path):
        name = text_of(record, "name")
        if record.get("type") == "entity" and name:
            entity = graph.entities.setdefault(name, _Entity(where, text_of(record, "entityType")))
            entity.observations += [str(item) for item in list_of(record.get("observations"))]
        elif record.get("type") == "relation":
            graph.relations.append((where, record))
        else:
            batch.problems.append(f"{where}: neither an entity nor a relation")
    for _, record in graph.relations:
        source = graph.entities.get(text_of(record, "from"))
        if source is not None:
            source.relations.append(f"{text_of(record, 'relationType')}: {text_of(record, 'to')}")
    return graph


def _graph_records(path: Path) -> Iterator[tuple[str, JsonObject]]:
    """Yield the lines of a file, or the records of an answer of the tool `read_graph`."""
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


def first_record(path: Path) -> JsonObject:
    """Return the object on the first line, or the whole file if it is one object, or nothing."""
    content = read_bounded(path).strip()
    for part in (content.split(b"\n", 1)[0], content):
        try:
            value = orjson.loads(part)
        except orjson.JSONDecodeError:
            continue
        return value if isinstance(value, dict) else {}
    return {}


def _lines(path: Path) -> Iterator[tuple[str, JsonObject]]:
    for number, line in enumerate(read_bounded(path).split(b"\n"), start=1):
        if line.strip():
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError as error:
                raise failure(
                    INVALID_IMPORT, f"Line {number} of {path.name} is not JSON: {error}."
                ) from error
            if not isinstance(record, dict):
                raise failure(INVALID_IMPORT, f"Line {number} of {path.name} is not an object.")
            yield f"line {number}", record
