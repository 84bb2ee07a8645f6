"""Bring the memory of a data folder into the database of a team."""

from __future__ import annotations

import asyncio
import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.bootstrap.move_in import MovedPart, require_same
from commonplace.kernel.auth import Tenant

if TYPE_CHECKING:
    from commonplace.kernel.settings import Settings
    from commonplace.memory.model import Entry
    from commonplace.memory.service import MemoryService
    from commonplace.storage.postgres.database import PostgresDatabase

Hashes = dict[str, str]  # of what an entry says, by tenant and id


@dataclass(slots=True)
class _Outcome:
    added: int = 0
    sent: Hashes = field(default_factory=dict)
    before: Hashes = field(default_factory=dict)
    stored: Hashes = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)


class MemoryMover:
    """A `Mover` of lessons with their links, anchors, accesses and decided suggestions.

    Earlier states and deleted entries stay in the folder. Servers embed the entries later.
    """

    part = "lessons"
    required = False

    def __init__(self, settings: Settings, database: PostgresDatabase) -> None:
        self._settings = settings
        self._database = database

    def lacking(self, data: Path) -> Sequence[str]:
        """Name the entries that the database lacks."""
        return asyncio.run(self._lacking(data))

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        """Import what the database lacks; entries that it has are left as they are."""
        outcome = asyncio.run(self._move(data, progress))
        kept = tuple(
            name
            for name, digest in outcome.sent.items()
            if name in outcome.before and outcome.stored.get(name) != digest
        )
        new = {
            name: digest
            for name, digest in outcome.sent.items()
            if name not in kept and name in outcome.stored
        }
        return MovedPart(
            self.part,
            found=len(outcome.sent),
            added=outcome.added,
            present=len(outcome.sent) - outcome.added - len(kept) - len(outcome.refused),
            kept=kept,
            refused=tuple(outcome.refused),
            digest=require_same(self.part, outcome.stored, new),
        )

    async def _lacking(self, data: Path) -> list[str]:
        if not _has_memory(data):
            return []
        lacking: list[str] = []
        with closing(self._open_folder(data)) as source, closing(self._open_team()) as target:
            for tenant in await source.store.tenants():
                known = await _hashes(target, tenant)
                lacking += [name for name in await _hashes(source, tenant) if name not in known]
        return lacking

    async def _move(self, data: Path, progress: Callable[[int, int], None]) -> _Outcome:
        outcome = _Outcome()
        if not _has_memory(data):
            return outcome
        with (
            closing(self._open_folder(data)) as source,
            closing(self._open_team()) as target,
            tempfile.TemporaryDirectory(prefix="commonplace-") as folder,
        ):
            tenants = await source.store.tenants()
            for number, tenant in enumerate(tenants, 1):
                await _move_tenant(source, target, tenant, Path(folder), outcome)
                progress(number, len(tenants))
        return outcome

    def _open_folder(self, data: Path) -> MemoryService:
        from commonplace.memory.assembly import open_memory

        return open_memory(data, settings=self._settings.mcp.memory)

    def _open_team(self) -> MemoryService:
        from commonplace.memory.assembly import build_postgres_memory

        return build_postgres_memory(self._database, settings=self._settings.mcp.memory)


async def _move_tenant(
    source: MemoryService,
    target: MemoryService,
    tenant: Tenant,
    folder: Path,
    outcome: _Outcome,
) -> None:
    from commonplace.memory.use_cases.transfer import ExportFormat

    path = folder / "memory.jsonl"
    await source.export_file(tenant, path, ExportFormat.JSONL, force=True)
    outcome.before |= await _hashes(target, tenant)
    imported = await target.import_file(tenant, path)
    outcome.sent |= await _hashes(source, tenant)
    outcome.stored |= await _hashes(target, tenant)
    outcome.added += imported.entries
    outcome.refused += [f"{tenant}: {problem}" for problem in imported.problems]


async def _hashes(memory: MemoryService, tenant: Tenant) -> Hashes:
    """Return hashes of what entries say; who read them and what superseded them may change."""
    entries = await memory.store.everything(tenant)
    return {f"{tenant} {entry.id}": _hash(_facts(entry)) for entry in entries}


def _facts(entry: Entry) -> Mapping[str, object]:
    from commonplace.memory.formats.records import entry_record

    record = entry_record(entry, None)
    names = ("id", "title", "type", "content", "project", "tags", "context", "anchors")
    return {name: record[name] for name in names}


def _hash(facts: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _has_memory(data: Path) -> bool:
    from commonplace.memory.assembly import DATABASE

    return (data / DATABASE).is_file()
