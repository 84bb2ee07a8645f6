"""Markdown notes: those of Basic Memory in, an Obsidian vault out, which can be read back."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import orjson
import yaml

from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import JsonObject
from commonplace.memory.anchors import anchor_record
from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.formats.batch import (
    RECORDS,
    Batch,
    EntryBuilder,
    knows_type,
    read_bounded,
    tags_of,
)
from commonplace.memory.formats.records import (
    note_suggestion,
    read_usage,
    suggestion_record,
    usage_reports,
)
from commonplace.memory.model import Entry, EntryUsage

NOTE_BYTES = 4 * 1024 * 1024
DECISIONS = ".commonplace/decisions.jsonl"  # Obsidian does not show hidden folders
MARK = "commonplace"  # key in the front matter of our own notes
# An Obsidian comment, so it is not shown; our content ends before it.
_LINKS = "\n\n%% commonplace links %%\n"
_FRONT = re.compile(r"\A---\r?\n(.*?)\r?\n---\r?\n?", re.DOTALL)
_OBSERVATION = re.compile(r"^\s*[-*] \[([^\]\[\n]{2,40})\] (.+)$", re.MULTILINE)
_RELATION = re.compile(
    r"^\s*[-*] ([\w][\w -]{0,60}?) \[\[([^\]|#\n]{1,300})(?:[|#][^\]\n]*)?\]\](?: "
    r"%%(.{20,30})%%$)?",
    re.MULTILINE,
)
_WIKILINK = re.compile(r"(?<!!)\[\[([^\]|#\n]{1,300})(?:[|#][^\]\n]*)?\]\]")
_TAG = re.compile(r"(?<![\w#])#([\w][\w/-]*)")
_UNSAFE = re.compile(r"[^\w -]+")


def write_vault(batch: Batch, folder: Path) -> None:
    """Write a note for each entry, in a folder for each type; the folder must be new or empty."""
    if folder.exists() and any(folder.iterdir()):
        raise failure(INVALID_IMPORT, f"{folder} is not empty.", hint="Give a new folder.")
    names = {
        entry.id: f"{_UNSAFE.sub('', entry.title).strip()[:60] or 'entry'} {entry.id[-6:]}"
        for entry in batch.entries
    }
    links: dict[str, list[str]] = {}
    for link in batch.links:
        if link.target_id in names:
            links.setdefault(link.source_id, []).append(
                f"- {link.relation.value} [[{names[link.target_id]}]] %%{iso(link.created_at)}%%"
            )
    for entry in batch.entries:
        target = folder / entry.type.value / f"{names[entry.id]}.md"
        target.parent.mkdir(parents=True, exist_ok=True)
        front = yaml.safe_dump(
            _make_front_matter(entry, batch.usage.get(entry.id)),
            allow_unicode="\x85" not in entry.context,  # unescaped, YAML ends the line there
            sort_keys=False,
            width=10_000,
        )
        target.write_text(
            f"---\n{front}---\n{entry.content}{_LINKS}{chr(10).join(links.get(entry.id, []))}\n",
            "utf-8",
            newline="",
        )
    if batch.decided:
        target = folder / DECISIONS
        target.parent.mkdir()
        records = [orjson.dumps(suggestion_record(each)) + b"\n" for each in batch.decided]
        target.write_bytes(b"".join(records))


@dataclass(frozen=True, slots=True)
class _Note:
    """A note as it was read: its front matter and text, and whether we wrote it."""

    where: str
    title: str
    front: JsonObject
    content: str
    ending: str  # where relations are: the part after our content, else the whole text
    ours: bool


@dataclass(frozen=True, slots=True)
class _Relation:
    where: str
    source_id: str
    relation: str
    target: str
    created: str  # only in our own notes


def read_notes(folder: Path, builder: EntryBuilder) -> Batch:
    """Read every Markdown file below a folder."""
    batch = Batch()
    names: dict[str, str] = {}  # ids by what a wikilink may say: title, file name, permalink
    mentions: list[tuple[str, str]] = []
    relations: list[_Relation] = []
    for path in _note_paths(folder, batch):
        note = _read_note(path, path.relative_to(folder).as_posix(), batch)
        entry = batch.add(note.where, partial(_entry, note, builder))
        if entry is None:
            continue
        usage = read_usage(note.front, builder.now)
        if usage is not None:
            batch.usage[entry.id] = usage
        if note.ours:
            batch.with_status.add(entry.id)
        permalink = str(note.front.get("permalink") or "")
        for name in (note.title, path.stem, permalink, note.where.removesuffix(".md")):
            names.setdefault(name.casefold().strip(), entry.id)
        for found in _RELATION.findall(note.ending):
            relations.append(_Relation(note.where, entry.id, *(part.strip() for part in found)))
        if not note.ours:
            text = _RELATION.sub("", note.content)
            mentions += [(entry.id, name.strip()) for name in _WIKILINK.findall(text)]
    if not batch.entries and not batch.problems:
        raise failure(INVALID_IMPORT, f"{folder.name} has no Markdown notes.")
    _add_links(batch, builder, names, relations, mentions)
    _read_decisions(folder / DECISIONS, batch, builder)
    return batch


def _read_decisions(path: Path, batch: Batch, builder: EntryBuilder) -> None:
    if not path.is_file() or path.is_symlink():
        return
    for number, line in enumerate(read_bounded(path).splitlines(), start=1):
        try:
            record = orjson.loads(line)
        except orjson.JSONDecodeError:
            record = None
        note_suggestion(batch, f"{DECISIONS} line {number}", record, builder)


def _read_note(path: Path, where: str, batch: Batch) -> _Note:
    front, body = _split(_decode(path.read_bytes()), where, batch)
    ours = MARK in front
    content = ending = body
    if ours and _LINKS in body:
        content, ending = body.rsplit(_LINKS, 1)
    return _Note(where, str(front.get("title") or path.stem), front, content, ending, ours)


def _add_links(
    batch: Batch,
    builder: EntryBuilder,
    names: Mapping[str, str],
    relations: Iterable[_Relation],
    mentions: Iterable[tuple[str, str]],
) -> None:
    for relation in relations:
        target = names.get(relation.target.casefold())
        if target is None:
            batch.problems.append(f"{relation.where}: no note is called {relation.target!r}")
        elif target != relation.source_id:
            batch.links.append(
                builder.link(relation.source_id, target, relation.relation, relation.created)
            )
    linked = {link.ends for link in batch.links}
    pairs = ((source, names.get(name.casefold(), source)) for source, name in mentions)
    for pair in dict.fromkeys(pairs):
        if pair[0] != pair[1] and pair not in linked:
            batch.links.append(builder.link(*pair, "related"))


def _make_front_matter(entry: Entry, usage: EntryUsage | None) -> JsonObject:
    return {
        "title": entry.title,
        "type": entry.type.value,
        "tags": list(entry.tags),
        MARK: entry.id,
        "project": entry.project,
        "confidence": entry.confidence,
        "status": entry.status.value,
        "memory_type": entry.memory_type.value,
        "superseded_by": entry.superseded_by,
        "created": iso(entry.created_at),
        "modified": iso(entry.updated_at),
        "context": entry.context,
        "access_count": usage.access_count if usage else 0,
        "last_accessed": iso(usage.last_accessed) if usage and usage.last_accessed else None,
        **usage_reports(usage),
        "anchors": [anchor_record(anchor) for anchor in entry.anchors],
    }


def _entry(note: _Note, builder: EntryBuilder) -> Entry:
    front, content = note.front, note.content
    tags = [str(tag) for tag in tags_of(front.get("tags")) if tag is not None]
    type_ = front.get("type")
    if not note.ours:  # elsewhere `#` marks a tag; in our own notes it is part of one
        tags = [tag.strip().lstrip("#") for tag in tags]
        content = content.strip()
        observations = _OBSERVATION.findall(content)
        tags += [tag for _, text in observations for tag in _TAG.findall(text)]
        if not knows_type(type_) or type_ == "note":
            type_ = _observed_type([category for category, _ in observations]) or type_
    return builder.entry(
        note.title,
        content,
        id_=front.get(MARK),
        type_=type_,
        tags=tags,
        project=front.get("project"),
        confidence=front.get("confidence", 3),
        status=front.get("status"),
        memory_type=front.get("memory_type", None if note.ours else "semantic"),
        context=str(front.get("context") or ""),
        created=front.get("created") or front.get("created_at"),
        updated=front.get("modified") or front.get("updated_at"),
        superseded_by=front.get("superseded_by"),
        anchors=front.get("anchors") if note.ours else None,
    )


def _observed_type(categories: list[str]) -> str | None:
    """Return the most frequent category of observations that is one of our types."""
    counts = Counter(category.casefold() for category in categories if knows_type(category))
    return counts.most_common(1)[0][0] if counts else None


def _split(text: str, where: str, batch: Batch) -> tuple[JsonObject, str]:
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    try:
        front = yaml.load(found[1], Loader=_TimelessLoader)  # noqa: S506 - a safe loader
    except yaml.YAMLError as error:
        batch.problems.append(
            f"{where}: the front matter is not YAML ({str(error).splitlines()[0]})"
        )
        return {}, text[found.end() :]
    return (front if isinstance(front, dict) else {}), text[found.end() :]


def _decode(content: bytes) -> str:
    """Decode UTF-16 or UTF-8 by the byte order mark, and anything else as Windows-1252."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _note_paths(folder: Path, batch: Batch) -> Iterator[Path]:
    """Yield the notes by name, without hidden folders and links that lead out of the folder."""
    root = folder.resolve()
    count = 0
    for path in sorted(
        path for path in folder.rglob("*") if path.suffix.lower() in (".md", ".markdown")
    ):
        inside = path.resolve().is_relative_to(root) and not any(
            part.startswith(".") for part in path.relative_to(folder).parts
        )
        if not inside or not path.is_file():
            continue
        if path.stat().st_size > NOTE_BYTES:
            batch.problems.append(
                f"{path.relative_to(folder).as_posix()}: longer than {NOTE_BYTES} bytes"
            )
            continue
        count += 1
        if count > RECORDS:
            raise failure(
                INVALID_IMPORT, f"More than {RECORDS} notes.", hint="Import them in parts."
            )
        yield path


class _TimelessLoader(yaml.SafeLoader):
    """Keeps times as text, with everything that YAML 1.1 takes for one."""


_TimelessLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
