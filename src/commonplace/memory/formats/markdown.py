"""Notes in folders: Basic Memory's (observations and [[wikilinks]]) in, an Obsidian vault out,
which reads back as it was.
"""

from __future__ import annotations

import codecs
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from commonplace.kernel.clock import iso
from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.formats.batch import RECORDS, Batch, EntryBuilder, kept, knows_type, tags_of
from commonplace.memory.model import Entry, EntryUsage
from commonplace.memory.text import parse_moment

NOTE_BYTES = 4 * 1024 * 1024
MARK = "commonplace"  # front matter of our own notes
_LINKS = (
    "\n\n%% commonplace links %%\n"  # an Obsidian comment: not shown, and where our content ends
)
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
    """One note an entry, in a folder for each type.

    The folder must be new or empty: nothing of yours is overwritten.
    """
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
        plain = (
            "\x85" not in entry.context
        )  # YAML takes it for the end of a line, unless it is escaped
        front = yaml.safe_dump(
            _front(entry, batch.usage.get(entry.id)),
            allow_unicode=plain,
            sort_keys=False,
            width=10_000,
        )
        target.write_text(
            f"---\n{front}---\n{entry.content}{_LINKS}{chr(10).join(links.get(entry.id, []))}\n",
            "utf-8",
            newline="",
        )


def read_notes(folder: Path, builder: EntryBuilder) -> Batch:
    """Every Markdown file below a folder."""
    batch = Batch()
    named: dict[str, str] = {}  # what a wikilink may say: title, file name, permalink
    mentions: list[tuple[str, str]] = []
    relations: list[
        tuple[str, ...]
    ] = []  # where, source, relation, target, and when in our own notes
    for path in _notes(folder, batch):
        where = path.relative_to(folder).as_posix()
        text = _text(path.read_bytes())
        front, body = _split(text, where, batch)
        ours = MARK in front
        content, ending = (
            (*body.rsplit(_LINKS, 1), "")[:2] if ours and _LINKS in body else (body, body)
        )
        title = str(front.get("title") or path.stem)
        entry = kept(
            batch,
            where,
            lambda f=front, t=title, c=content, o=ours: _entry(f, t, c, builder, o),  # type: ignore[misc]
        )
        if entry is None:
            continue
        usage = _usage(front, builder)
        if usage is not None:
            batch.usage[entry.id] = usage
        if ours:
            batch.with_status.add(entry.id)
        for name in (
            title,
            path.stem,
            str(front.get("permalink") or ""),
            where.removesuffix(".md"),
        ):
            named.setdefault(name.casefold().strip(), entry.id)
        relations += [
            (where, entry.id, *(part.strip() for part in found))
            for found in _RELATION.findall(ending)
        ]
        mentions += [
            (entry.id, name.strip())
            for name in _WIKILINK.findall("" if ours else _RELATION.sub("", body))
        ]
    if not batch.entries and not batch.problems:
        raise failure(INVALID_IMPORT, f"{folder.name} holds no Markdown notes.")
    for where, source, relation, wanted, made in relations:
        target = named.get(wanted.casefold())
        if target is None:
            batch.problems.append(f"{where}: no note called {wanted!r}")
        elif target != source:
            batch.links.append(builder.link(source, target, relation, made))
    linked = {(link.source_id, link.target_id) for link in batch.links}
    for pair in dict.fromkeys(
        (source, named.get(name.casefold(), source)) for source, name in mentions
    ):
        if pair[0] != pair[1] and pair not in linked:
            batch.links.append(builder.link(*pair, "related"))
    return batch


def _front(entry: Entry, usage: EntryUsage | None) -> dict[str, Any]:
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
    }


def _entry(
    front: dict[str, Any], title: str, content: str, builder: EntryBuilder, ours: bool
) -> Entry:
    tags = front.get("tags")
    names = [str(tag) for tag in tags_of(tags) if tag is not None]
    type_ = front.get("type")
    if not ours:  # elsewhere `#` marks a tag; in our own notes it is part of one
        names = [name.strip().lstrip("#") for name in names]
        content = content.strip()
        observed = _OBSERVATION.findall(content)
        names += [tag for _, text in observed for tag in _TAG.findall(text)]
        if not knows_type(type_) or type_ == "note":
            type_ = _observed_type([category for category, _ in observed]) or type_
    return builder.entry(
        title,
        content,
        id_=front.get(MARK),
        type_=type_,
        tags=names,
        project=front.get("project"),
        confidence=front.get("confidence", 3),
        status=front.get("status"),
        memory_type=front.get("memory_type") if ours else front.get("memory_type", "semantic"),
        context=str(front.get("context") or ""),
        created=front.get("created") or front.get("created_at"),
        updated=front.get("modified") or front.get("updated_at"),
        superseded_by=front.get("superseded_by"),
    )


def _observed_type(categories: list[str]) -> str | None:
    """What most observations are called, if it is one of our kinds."""
    counts = Counter(category.casefold() for category in categories if knows_type(category))
    return counts.most_common(1)[0][0] if counts else None


def _usage(front: dict[str, Any], builder: EntryBuilder) -> EntryUsage | None:
    count, last = front.get("access_count"), front.get("last_accessed")
    return (
        EntryUsage(count, parse_moment(str(last), builder.now))
        if isinstance(count, int) and count > 0 and last
        else None
    )


def _split(text: str, where: str, batch: Batch) -> tuple[dict[str, Any], str]:
    found = _FRONT.match(text)
    if found is None:
        return {}, text
    try:
        front = yaml.load(found[1], Loader=_Plain)  # noqa: S506 - a subclass of the safe loader
    except yaml.YAMLError as broken:
        batch.problems.append(
            f"{where}: its front matter is not YAML ({str(broken).splitlines()[0]})"
        )
        return {}, text[found.end() :]
    return (front if isinstance(front, dict) else {}), text[found.end() :]


def _text(content: bytes) -> str:
    """Without its byte order mark; what is no UTF-8 is read as Windows wrote it before."""
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return content.decode("utf-16", "replace")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", "replace")


def _notes(folder: Path, batch: Batch) -> Iterator[Path]:
    """In order of their names; links that lead out of the folder and hidden folders are passed
    by.
    """
    root = folder.resolve()
    seen = 0
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
        seen += 1
        if seen > RECORDS:
            raise failure(
                INVALID_IMPORT, f"More than {RECORDS} notes.", hint="Import them in parts."
            )
        yield path


class _Plain(yaml.SafeLoader):
    """Times stay text, and so does everything that YAML 1.1 would turn into one."""


_Plain.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
