"""Synchronisation of a folder with a project: reads the folder, plans, and applies in batches.

What a sync brought is recorded in the transaction that stores it, so a sync that is interrupted at
any point is continued by the next one.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from commonplace.files.engine.change import SizeLimits
from commonplace.files.engine.checkout import find_checkout
from commonplace.files.engine.folder import FolderFile, Scan, Skipped, read_bytes, scan, text_of
from commonplace.files.engine.naming import SpelledName, stored_paths
from commonplace.files.engine.sync import (
    SyncAction,
    SyncConflict,
    SyncOutcome,
    SyncPlan,
    SyncStep,
    SyncViews,
    SyncWrite,
    plan_sync,
)
from commonplace.files.errors import RESOURCE_BUSY
from commonplace.files.model import MAX_PATH_CHARACTERS, FilePath, StoredFile, project_name
from commonplace.files.service import FilesService
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.hidden_characters import has_hidden

INVENTORY_PAGE = 5_000
BATCH_FILES = 64  # written in one change; a caller of the same project waits that long
BATCH_BYTES = 2_000_000
BUSY_TRIES = 5
RACY_SECONDS = 2.0  # a file written so recently may change again without a new time
MEANWHILE = "changed in the project during the sync"


@dataclass(frozen=True, slots=True)
class SyncedFile:
    """A change that was made, or that a dry run would make."""

    action: str  # added, changed, moved, deleted
    path: str
    source: str | None = None  # the path before a move


@dataclass(slots=True)
class SyncReport:
    """The result of a sync."""

    changes: list[SyncedFile] = field(default_factory=list)
    unchanged: int = 0
    conflicts: list[SyncConflict] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    ignored: int = 0
    spelled: list[SpelledName] = field(default_factory=list)
    hidden: list[str] = field(default_factory=list)  # stored with hidden characters

    def count(self, action: str) -> int:
        return sum(change.action == action for change in self.changes)


@dataclass(frozen=True, slots=True)
class SyncOptions:
    """How a folder is synchronised.

    `force`: the folder wins conflicts. `take_over`: files that another folder brought count as this
    one's. `allow_empty`: delete everything if the folder is empty or missing.
    """

    force: bool = False
    take_over: bool = False
    allow_empty: bool = False
    dry_run: bool = False


def folder_origin(folder: Path, name: str | None = None) -> str:
    """Return the identity of a folder on its machine, or of a named source on any machine."""
    if name is not None:
        return hashlib.sha256(f"name\0{name}".encode()).hexdigest()
    try:
        machine = Path("/etc/machine-id").read_text("ascii").strip()
    except (OSError, ValueError):
        machine = ""
    machine = machine or f"{platform.node()}:{uuid.getnode():x}"
    return hashlib.sha256(machine.encode() + b"\0" + os.fsencode(folder.resolve())).hexdigest()


class FolderSync:
    """Keeps a project in step with a folder. `run` it as often as the folder changes."""

    def __init__(
        self,
        service: FilesService,
        caller: AuthContext,
        project: str,
        folder: Path,
        name: str | None = None,
    ) -> None:
        self._store = service.store
        self._service = service
        self._caller = caller
        self._project = project_name(project)
        self._folder = folder.resolve()
        self._origin = folder_origin(folder, name)
        settings = service.settings
        self._limits = SizeLimits(
            settings.max_file_bytes, settings.max_project_bytes, settings.max_tenant_bytes or None
        )
        self._reader = _FolderReader(settings.max_file_bytes)

    async def run(
        self,
        options: SyncOptions | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> SyncReport:
        """Compare and apply.

        OSError if the folder cannot be read; INVALID_ARGUMENT if it is empty or missing.
        """
        options = options or SyncOptions()
        report = SyncReport()
        found = await asyncio.to_thread(self._scan)
        inventory = await self._inventory()
        own, others = await self._store.sync_entries(
            self._caller.apikey_hash, self._project, self._origin
        )
        known = own
        if options.take_over:
            brought = {p: h for p, h in others.items() if _hash_in(inventory, p) == h}
            known = {**brought, **own}
        if not options.allow_empty and (not self._folder.is_dir() or (known and not found.files)):
            raise _refuse_empty(self._folder, len(known))
        files = self._name(found.files, inventory, report)
        await asyncio.to_thread(self._reader.read, files, report)
        views = self._views(files, inventory, known, found)
        plan = plan_sync(views, force=options.force)
        report.unchanged, report.ignored = plan.unchanged, len(found.ignored)
        report.skipped += found.skipped
        report.conflicts += [
            _explain(conflict, inventory, others, options) for conflict in plan.conflicts
        ]
        if options.dry_run:
            report.changes = [
                change for step in plan.steps if (change := _describe(step)) is not None
            ]
        else:
            await self._apply(plan, files, report, options, progress)
        _sort(report)
        return report

    def _scan(self) -> Scan:
        if not self._folder.is_dir():
            return Scan()
        return scan(self._folder, checkout=find_checkout(self._folder))

    async def _inventory(self) -> dict[str, StoredFile]:
        found: dict[str, StoredFile] = {}
        after = ""
        while page := await self._service.inventory(
            self._caller, self._project, "", after, INVENTORY_PAGE
        ):
            found |= {file.path: file for file in page}
            after = page[-1].path
        return found

    def _name(
        self,
        candidates: Sequence[FolderFile],
        inventory: dict[str, StoredFile],
        report: SyncReport,
    ) -> dict[FilePath, FolderFile]:
        """Choose the stored path of each file."""
        sources = {path: file.provenance.source_path for path, file in inventory.items()}
        paths = stored_paths([candidate.path for candidate in candidates], sources)
        files = {}
        for candidate in candidates:
            path = paths[candidate.path]
            if len(path) > MAX_PATH_CHARACTERS:
                reason = (
                    f"its path would have {len(path)} characters; {MAX_PATH_CHARACTERS} is the "
                    f"limit"
                )
                report.skipped.append(Skipped(candidate.path, reason))
                continue
            files[path] = candidate
            if path != candidate.path:
                report.spelled.append(SpelledName(candidate.path, path))
        return files

    def _views(
        self,
        files: dict[FilePath, FolderFile],
        inventory: dict[str, StoredFile],
        known: dict[FilePath, str],
        found: Scan,
    ) -> SyncViews:
        unreadable = self._reader.unreadable
        closed = tuple(f"{path}/" for path in found.unreadable)

        def is_unknown(path: FilePath) -> bool:
            file = inventory.get(path)
            source = file.provenance.source_path if file is not None else None
            return path in unreadable or bool(closed and (source or path).startswith(closed))

        return SyncViews(
            {path: self._reader.digests[path] for path in files if path in self._reader.digests},
            {FilePath(path): file.content_hash for path, file in inventory.items()},
            known,
            frozenset(path for path in known if is_unknown(path)),
        )

    async def _apply(
        self,
        plan: SyncPlan,
        files: dict[FilePath, FolderFile],
        report: SyncReport,
        options: SyncOptions,
        progress: Callable[[int, int], None],
    ) -> None:
        done, total = 0, len(plan.steps)
        blocked: list[SyncStep] = []
        for steps in (plan.deletes, plan.moves, plan.puts, plan.notes):
            for batch in self._batches(steps, files, report):
                blocked += await self._apply_batch(batch, report, options)
                done += len(batch)
                progress(done, total)
        # a move whose target is taken for a moment is an addition and a deletion
        for move in blocked:
            assert move.source is not None
            put = SyncStep(SyncAction.PUT, move.path, None, move.digest)
            gone = SyncStep(SyncAction.DELETE, move.source, move.expected)
            for batch in self._batches([put, gone], files, report):
                await self._apply_batch(batch, report, options)

    def _batches(
        self,
        steps: Sequence[SyncStep],
        files: dict[FilePath, FolderFile],
        report: SyncReport,
    ) -> Iterator[list[SyncWrite]]:
        """Yield steps that are applied together, with the content they store."""
        batch: list[SyncWrite] = []
        room = BATCH_BYTES
        for step in steps:
            write = self._reader.write_of(step, files.get(step.path), report)
            if write is None:
                continue
            batch.append(write)
            room -= len(write.content)
            if len(batch) == BATCH_FILES or room <= 0:
                yield batch
                batch, room = [], BATCH_BYTES
        if batch:
            yield batch

    async def _apply_batch(
        self, batch: Sequence[SyncWrite], report: SyncReport, options: SyncOptions
    ) -> list[SyncStep]:
        """Apply steps in one change; return moves that were blocked."""
        blocked = []
        outcomes = await self._store_batch(batch, options.take_over)
        for write, outcome in zip(batch, outcomes, strict=True):
            step = write.step
            if outcome is SyncOutcome.DONE:
                change = _describe(step)
                if change is not None:
                    report.changes.append(change)
                if _holds_hidden(write):
                    report.hidden.append(step.path)
            elif outcome is SyncOutcome.BLOCKED:
                blocked.append(step)
            elif outcome is SyncOutcome.CHANGED:
                report.conflicts.append(SyncConflict(step.path, MEANWHILE))
            elif isinstance(outcome, CommonplaceError):
                reason = f"{outcome.code.name}: {outcome.message}"
                report.skipped.append(Skipped(step.path, reason))
        return blocked

    async def _store_batch(
        self, batch: Sequence[SyncWrite], takes_over: bool
    ) -> list[SyncOutcome | CommonplaceError]:
        for left in reversed(range(BUSY_TRIES)):
            try:
                return await self._store.apply_sync(
                    self._caller.apikey_hash,
                    self._project,
                    self._origin,
                    batch,
                    self._limits,
                    takes_over=takes_over,
                )
            except CommonplaceError as busy:
                if busy.code is not RESOURCE_BUSY or not left:
                    raise
        raise AssertionError


class _FolderReader:
    """Contents of a folder's files by stored path; unchanged files are not read again."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._stamps: dict[FilePath, tuple[tuple[int, int, int], str]] = {}
        self.digests: dict[FilePath, str] = {}
        self.unreadable: set[FilePath] = set()

    def read(self, files: dict[FilePath, FolderFile], report: SyncReport) -> None:
        """Hash the files; report those that cannot be stored."""
        self.digests, self.unreadable = {}, set()
        stamps = {}
        for path, file in files.items():
            try:
                stamp, is_settled = _stamp(file.source)
                known = self._stamps.get(path)
                if known is None or known[0] != stamp:
                    known = (stamp, hashlib.sha256(self._text(file)).hexdigest())
            except _NotStorableError as problem:
                report.skipped.append(Skipped(file.path, str(problem)))
            except OSError as error:
                self._note_unreadable(path, file, error, report)
            else:
                self.digests[path] = known[1]
                if is_settled:
                    stamps[path] = known
        self._stamps = stamps

    def write_of(
        self, step: SyncStep, file: FolderFile | None, report: SyncReport
    ) -> SyncWrite | None:
        """Return a step with its content as it is now; None if it cannot be read any more."""
        if file is None:
            return SyncWrite(step)
        source_path = None if file.path == step.path else file.path
        if step.action is not SyncAction.PUT:
            return SyncWrite(step, source_path=source_path)
        try:
            content = self._text(file)
        except _NotStorableError as problem:
            report.skipped.append(Skipped(file.path, str(problem)))
            return None
        except OSError as error:
            self._note_unreadable(step.path, file, error, report)
            return None
        digest = hashlib.sha256(content).hexdigest()
        if digest != step.digest:  # written since it was hashed
            self._stamps.pop(step.path, None)
        return SyncWrite(replace(step, digest=digest), content, source_path)

    def _text(self, file: FolderFile) -> bytes:
        data = read_bytes(file.source, self._most)
        if len(data) > self._most:
            raise _NotStorableError(f"more than {self._most} bytes, the most one file may hold")
        if text_of(data) is None:
            raise _NotStorableError("binary, or text that is not UTF-8")
        return data

    def _note_unreadable(
        self, path: FilePath, file: FolderFile, error: OSError, report: SyncReport
    ) -> None:
        self.unreadable.add(path)
        reason = f"it cannot be read: {error.strerror or type(error).__name__}"
        report.skipped.append(Skipped(file.path, reason))


class _NotStorableError(Exception):
    """A file has no text that a project could hold."""


def _stamp(source: Path) -> tuple[tuple[int, int, int], bool]:
    """Return what changes with a file, and whether it will change with the next write."""
    found = source.lstat()
    is_settled = time.time() - found.st_mtime > RACY_SECONDS
    return (found.st_mtime_ns, found.st_size, found.st_ino), is_settled


def _hash_in(inventory: dict[str, StoredFile], path: str) -> str | None:
    file = inventory.get(path)
    return file.content_hash if file is not None else None


def _explain(
    conflict: SyncConflict,
    inventory: dict[str, StoredFile],
    others: dict[FilePath, str],
    options: SyncOptions,
) -> SyncConflict:
    """Say so if the other side of a conflict is the sync of another folder."""
    path = FilePath(conflict.path)
    if options.take_over or path not in others or others[path] != _hash_in(inventory, path):
        return conflict
    return replace(conflict, reason=f"{conflict.reason}, by a sync of another folder")


def _describe(step: SyncStep) -> SyncedFile | None:
    if step.action is SyncAction.PUT:
        return SyncedFile("added" if step.expected is None else "changed", step.path)
    if step.action is SyncAction.MOVE:
        return SyncedFile("moved", step.path, step.source)
    if step.action is SyncAction.DELETE:
        return SyncedFile("deleted", step.path)
    return None


def _holds_hidden(write: SyncWrite) -> bool:
    return write.step.action is SyncAction.PUT and (
        has_hidden(write.content.decode()) or has_hidden(write.source_path or "")
    )


def _sort(report: SyncReport) -> None:
    report.changes.sort(key=lambda change: change.path)
    report.conflicts.sort(key=lambda conflict: conflict.path)
    report.skipped.sort(key=lambda skipped: skipped.path)
    report.spelled.sort(key=lambda name: name.source_path)
    report.hidden.sort()


def _refuse_empty(folder: Path, known: int) -> CommonplaceError:
    what = "has no files" if folder.is_dir() else "does not exist"
    return CommonplaceError(
        INVALID_ARGUMENT,
        f"{folder} {what}; the project keeps the {known} files that syncs of it brought.",
        hint="Check the path. To delete those files from the project: --allow-empty.",
        details={"files": known},
    )
