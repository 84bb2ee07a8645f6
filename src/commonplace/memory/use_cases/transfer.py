"""Moving memory in and out: which format a file has, reading it whole before anything is
written, writing beside and renaming.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from commonplace.kernel.auth import Tenant
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.hidden_characters import count_hidden
from commonplace.memory.errors import INVALID_IMPORT, failure
from commonplace.memory.formats.batch import Batch, EntryBuilder
from commonplace.memory.formats.jsonl import (
    first_record,
    read_jsonl,
    read_server_memory,
    write_jsonl,
)
from commonplace.memory.formats.markdown import read_notes, write_vault
from commonplace.memory.formats.mem0 import read_mem0
from commonplace.memory.formats.rekall import (
    SQLITE_MAGIC,
    read_archive,
    read_database,
    write_archive,
)
from commonplace.memory.service import MemoryService

Progress = Callable[[str, int, int], None]


class ImportFormat(StrEnum):
    REKALL_ARCHIVE = "rekall-archive"
    REKALL_DATABASE = "rekall-database"
    SERVER_MEMORY = "server-memory"
    BASIC_MEMORY = "basic-memory"
    MEM0 = "mem0"
    JSONL = "jsonl"


class ExportFormat(StrEnum):
    ARCHIVE = "archive"
    OBSIDIAN = "obsidian"
    JSONL = "jsonl"


_READERS: dict[ImportFormat, Callable[[Path, EntryBuilder], Batch]] = {
    ImportFormat.REKALL_ARCHIVE: read_archive,
    ImportFormat.REKALL_DATABASE: read_database,
    ImportFormat.SERVER_MEMORY: read_server_memory,
    ImportFormat.BASIC_MEMORY: read_notes,
    ImportFormat.MEM0: read_mem0,
    ImportFormat.JSONL: read_jsonl,
}


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did, or would do."""

    format: ImportFormat
    read: int
    entries: int
    links: int
    known: int
    problems: tuple[str, ...]
    suggestions: int
    dry_run: bool
    hidden: int = 0  # entries with characters that readers do not see


@dataclass(frozen=True, slots=True)
class Exported:
    format: ExportFormat
    path: Path
    entries: int
    links: int


def silent(stage: str, done: int, total: int) -> None:
    """Progress nobody watches."""


def detect(path: Path) -> ImportFormat:
    """By what is in it; the name only decides between kinds of JSON."""
    if path.is_dir():
        return ImportFormat.BASIC_MEMORY
    try:
        with path.open("rb") as stream:
            start = stream.read(len(SQLITE_MAGIC))
    except OSError as missing:
        raise failure(
            INVALID_IMPORT, f"{path} cannot be read: {missing.strerror or missing}."
        ) from missing
    if start == SQLITE_MAGIC:
        return ImportFormat.REKALL_DATABASE
    if start.startswith(b"PK"):
        return ImportFormat.REKALL_ARCHIVE
    if path.suffix in (".jsonl", ".ndjson", ".json"):
        first = first_record(path)
        if "record" in first:
            return ImportFormat.JSONL
        graph = first.get("type") in ("entity", "relation") or "entities" in first
        return ImportFormat.SERVER_MEMORY if graph or path.suffix != ".json" else ImportFormat.MEM0
    raise failure(
        INVALID_IMPORT,
        f"{path.name} is of no known format.",
        hint=f"Name it with --format: {', '.join(ImportFormat)}.",
    )


async def import_into(
    service: MemoryService,
    tenant: Tenant,
    path: Path,
    *,
    format_: ImportFormat | None = None,
    project: str | None = None,
    dry_run: bool = False,
    suggest: bool = False,
    progress: Progress = silent,
) -> Imported:
    """All of it in one transaction, or nothing.

    Entries that are here already are left as they are.
    """
    chosen = format_ or detect(path)
    progress("read", 0, 1)
    maker = EntryBuilder(service.new_id, service.now(), project)
    parcel = await asyncio.to_thread(_READERS[chosen], path, maker)
    progress("read", 1, 1)
    entries = []
    for number, entry in enumerate(parcel.entries, start=1):
        try:
            entries.append(service.without_secrets(entry))
        except CommonplaceError as refused:
            parcel.problems.append(f"{entry.title[:60]!r}: {refused.message}")
        if number % 500 == 0 or number == len(parcel.entries):
            progress("check", number, len(parcel.entries))
    progress("write", 0, len(entries))
    added = await service.store.add_all(
        tenant, entries, parcel.links, parcel.usage, told=parcel.told, dry_run=dry_run
    )
    progress("write", len(entries), len(entries))
    suggestions = 0
    if suggest and not dry_run:
        suggestions = await service.suggest_for(
            tenant, [entry for entry in entries if entry.id not in added.known], progress
        )
    hidden = sum(
        bool(count_hidden((entry.title, entry.content, entry.context, entry.tags)))
        for entry in entries
    )
    problems = tuple(parcel.problems)
    return Imported(
        chosen,
        len(parcel.entries),
        added.entries,
        added.links,
        len(added.known),
        problems,
        suggestions,
        dry_run,
        hidden,
    )


async def export_from(
    service: MemoryService,
    tenant: Tenant,
    path: Path,
    format_: ExportFormat,
    *,
    force: bool = False,
) -> Exported:
    """A snapshot of everything that is not deleted.

    Written beside its place and renamed, so a half export never appears.
    """
    entries = await service.store.everything(tenant)
    here = {entry.id for entry in entries}
    links = [
        link
        for link in await service.store.all_links(tenant)
        if link.source_id in here and link.target_id in here
    ]
    usage = await service.store.usage(tenant, here)
    parcel = Batch(list(entries), links, usage)
    await asyncio.to_thread(_write, parcel, path, format_, service.now(), force)
    return Exported(format_, path, len(entries), len(links))


def _write(parcel: Batch, path: Path, format_: ExportFormat, now: datetime, force: bool) -> None:
    if path.exists() and not (force and path.is_file()):
        raise failure(
            INVALID_IMPORT,
            f"{path} is there already.",
            hint="Give another name, or --force for a file.",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if format_ is ExportFormat.ARCHIVE:
            write_archive(parcel, draft, now)
        elif format_ is ExportFormat.JSONL:
            write_jsonl(parcel, draft)
        else:
            draft.mkdir()
            write_vault(parcel, draft)
        draft.replace(path)
    finally:
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink(missing_ok=True)
