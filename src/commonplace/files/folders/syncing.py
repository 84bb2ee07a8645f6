"""Synchronisation of a folder with a project: reads the folder, plans, and applies in batches.

What a sync brought is recorded in the transaction that stores it, so a sync that is interrupted at
any point is continued by the next one.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import platform
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from commonplace.files.engine.checkout import find_checkout
from commonplace.files.engine.folder import FolderFile, Scan, Skipped, scan
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
from commonplace.files.folders.folder_reader import FolderReader
from commonplace.files.model import MAX_PATH_CHARACTERS, FilePath, StoredFile, project_name
from commonplace.files.project_sync import MAX_STEPS, ProjectView
from commonplace.files.service import FilesService
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.hidden_characters import has_hidden
from commonplace.kernel.paging import in_batches

BATCH_BYTES = 2_000_000
BUSY_TRIES = 5
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


class SyncTarget(Protocol):
    """The project that a folder is synchronised with, in this process or on a server."""

    async def view(self, origin: str, after: str) -> ProjectView:
        """Return the page of paths behind `after`."""
        ...

    async def apply(
        self, origin: str, batch: Sequence[SyncWrite], *, takes_over: bool
    ) -> list[SyncOutcome | CommonplaceError]:
        """Do steps in one change."""
        ...


class LocalProject:
    """A project of this installation. Implements `SyncTarget`."""

    def __init__(self, service: FilesService, caller: AuthContext, project: str) -> None:
        self._sync = service.sync
        self._caller = caller
        self._project = project_name(project)

    async def view(self, origin: str, after: str) -> ProjectView:
        return await self._sync.view(self._caller, self._project, origin, after)

    async def apply(
        self, origin: str, batch: Sequence[SyncWrite], *, takes_over: bool
    ) -> list[SyncOutcome | CommonplaceError]:
        for left in reversed(range(BUSY_TRIES)):
            try:
                return await self._sync.apply(
                    self._caller, self._project, origin, batch, takes_over=takes_over
                )
            except CommonplaceError as busy:
                if busy.code is not RESOURCE_BUSY or not left:
                    raise
        raise AssertionError


class FolderSync:
    """Keeps a project in step with a folder. `run` it as often as the folder changes."""

    def __init__(self, target: SyncTarget, folder: Path, name: str | None = None) -> None:
        self._target = target
        self._folder = folder.resolve()
        self._origin = folder_origin(folder, name)
        self._reader = FolderReader()

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
        project = await self._view()
        inventory, others, known = project.files, project.others, project.own
        if options.take_over:
            brought = {p: h for p, h in others.items() if _hash_in(inventory, p) == h}
            known = {**brought, **project.own}
        if not options.allow_empty and (not self._folder.is_dir() or (known and not found.files)):
            raise _refuse_empty(self._folder, len(known))
        files = self._name(found.files, inventory, report)
        await asyncio.to_thread(self._reader.read, files, report.skipped, project.max_file_bytes)
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

    async def _view(self) -> ProjectView:
        """Read the project, page by page."""
        view = await self._target.view(self._origin, "")
        while view.next is not None:
            page = await self._target.view(self._origin, view.next)
            view = ProjectView(
                {**view.files, **page.files},
                {**view.own, **page.own},
                {**view.others, **page.others},
                page.max_file_bytes,
                page.next,
            )
        return view

    def _name(
        self,
        candidates: Sequence[FolderFile],
        inventory: Mapping[FilePath, StoredFile],
        report: SyncReport,
    ) -> dict[FilePath, FolderFile]:
        """Choose the stored path of each file."""
        sources: dict[str, str | None] = {
            path: file.provenance.source_path for path, file in inventory.items()
        }
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
        inventory: Mapping[FilePath, StoredFile],
        known: Mapping[FilePath, str],
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
        writes = (
            self._reader.write_of(step, files.get(step.path), report.skipped) for step in steps
        )
        present = (write for write in writes if write is not None)
        return in_batches(present, lambda write: len(write.content), BATCH_BYTES, MAX_STEPS)

    async def _apply_batch(
        self, batch: Sequence[SyncWrite], report: SyncReport, options: SyncOptions
    ) -> list[SyncStep]:
        """Apply steps in one change; return moves that were blocked."""
        blocked = []
        outcomes = await self._target.apply(self._origin, batch, takes_over=options.take_over)
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


def _hash_in(inventory: Mapping[FilePath, StoredFile], path: FilePath) -> str | None:
    file = inventory.get(path)
    return file.content_hash if file is not None else None


def _explain(
    conflict: SyncConflict,
    inventory: Mapping[FilePath, StoredFile],
    others: Mapping[FilePath, str],
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
