"""Import memory from other programs, and export it."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path

from commonplace.kernel.auth import Tenant
from commonplace.kernel.clock import Clock, utc_now
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
from commonplace.memory.model import Entry, SecretHandling
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.text import clean_project
from commonplace.memory.use_cases.drafting import screen_entry
from commonplace.memory.use_cases.suggestions import Suggestions

Progress = Callable[[str, int, int], None]  # stage, done, total
PROGRESS_ENTRIES = 500  # entries between two reports


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
class ImportOptions:
    """How to import; the format is detected unless it is given."""

    format: ImportFormat | None = None
    project: str | None = None  # for records that name none
    dry_run: bool = False
    suggest: bool = False  # also look for links among the imported entries
    progress: Progress = lambda stage, done, total: None


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
    """What an export wrote."""

    format: ExportFormat
    path: Path
    entries: int
    links: int


def detect_format(path: Path) -> ImportFormat:
    """Tell the format by the content; the name only decides between kinds of JSON."""
    if path.is_dir():
        return ImportFormat.BASIC_MEMORY
    try:
        with path.open("rb") as stream:
            start = stream.read(len(SQLITE_MAGIC))
    except OSError as error:
        raise failure(
            INVALID_IMPORT, f"{path} cannot be read: {error.strerror or error}."
        ) from error
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
        f"The format of {path.name} was not recognised.",
        hint=f"Name it with --format: {', '.join(ImportFormat)}.",
    )


def read_entries(path: Path, new_id: Callable[[], str]) -> list[Entry]:
    """Return the entries of an export, or of a file of another program."""
    builder = EntryBuilder(new_id, utc_now())
    return _READERS[detect_format(path)](path, builder).entries


class Importer:
    """Reads a file whole, then writes all of it in one transaction or nothing."""

    def __init__(
        self,
        store: MemoryStore,
        suggestions: Suggestions,
        secrets: SecretHandling,
        new_id: Callable[[], str],
        clock: Clock,
    ) -> None:
        self._store = store
        self._suggestions = suggestions
        self._secrets = secrets
        self._new_id = new_id
        self._clock = clock

    async def run(
        self, tenant: Tenant, path: Path, options: ImportOptions | None = None
    ) -> Imported:
        """Import a file or folder; entries that exist are left as they are."""
        options = options or ImportOptions()
        chosen = options.format or detect_format(path)
        batch = await self._read(path, chosen, options)
        entries = self._screen(batch, options.progress)
        options.progress("write", 0, len(entries))
        added = await self._store.add_all(
            tenant,
            entries,
            batch.links,
            batch.usage,
            decided=batch.decided,
            with_status=batch.with_status,
            dry_run=options.dry_run,
        )
        options.progress("write", len(entries), len(entries))
        suggestions = 0
        if options.suggest and not options.dry_run:
            new = [entry for entry in entries if entry.id not in added.known]
            suggestions = await self._suggest(tenant, new, options.progress)
        return Imported(
            chosen,
            len(batch.entries),
            added.entries,
            added.links,
            len(added.known),
            tuple(batch.problems),
            suggestions,
            options.dry_run,
            sum(map(_has_hidden_characters, entries)),
        )

    async def _read(self, path: Path, format_: ImportFormat, options: ImportOptions) -> Batch:
        options.progress("read", 0, 1)
        builder = EntryBuilder(self._new_id, self._clock(), options.project)
        batch = await asyncio.to_thread(_READERS[format_], path, builder)
        options.progress("read", 1, 1)
        return batch

    def _screen(self, batch: Batch, progress: Progress) -> list[Entry]:
        """Return the entries without secrets; refused ones are added to the problems."""
        entries = []
        for number, entry in enumerate(batch.entries, start=1):
            try:
                entries.append(screen_entry(entry, self._secrets))
            except CommonplaceError as error:
                batch.problems.append(f"{entry.title[:60]!r}: {error.message}")
            if number % PROGRESS_ENTRIES == 0 or number == len(batch.entries):
                progress("check", number, len(batch.entries))
        return entries

    async def _suggest(self, tenant: Tenant, entries: Sequence[Entry], progress: Progress) -> int:
        count = 0
        for number, entry in enumerate(entries, start=1):
            count += await self._suggestions.propose_for(tenant, entry)
            progress("suggest", number, len(entries))
        return count


def _has_hidden_characters(entry: Entry) -> bool:
    return bool(count_hidden((entry.title, entry.content, entry.context, entry.tags)))


async def export_entries(
    store: MemoryStore,
    tenant: Tenant,
    path: Path,
    format_: ExportFormat,
    *,
    now: datetime,
    project: str | None = None,
    force: bool = False,
) -> Exported:
    """Write a snapshot of everything that is not deleted, or of one project.

    Links and decided suggestions come with their entries if all of these do. It is written beside
    its place and renamed, so that a partial export never appears.
    """
    project = clean_project(project)
    entries = await store.everything(tenant)
    if project is not None:
        entries = tuple(entry for entry in entries if entry.project == project)
    ids = {entry.id for entry in entries}
    links = [link for link in await store.all_links(tenant) if ids >= {*link.ends}]
    decided = await store.housekeeping.decided(tenant)
    batch = Batch(
        list(entries),
        links,
        await store.usage(tenant, ids),
        decided=[suggestion for suggestion in decided if ids >= {*suggestion.entry_ids}],
    )
    await asyncio.to_thread(_write, batch, path, format_, now, force)
    return Exported(format_, path, len(entries), len(links))


def _write(batch: Batch, path: Path, format_: ExportFormat, now: datetime, force: bool) -> None:
    if path.exists() and not (force and path.is_file()):
        raise failure(
            INVALID_IMPORT,
            f"{path} already exists.",
            hint="Give another name, or replace a file with --force.",
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        if format_ is ExportFormat.ARCHIVE:
            write_archive(batch, draft, now)
        elif format_ is ExportFormat.JSONL:
            write_jsonl(batch, draft)
        else:
            draft.mkdir()
            write_vault(batch, draft)
        draft.replace(path)
    finally:
        if draft.is_dir():
            shutil.rmtree(draft)
        else:
            draft.unlink(missing_ok=True)
