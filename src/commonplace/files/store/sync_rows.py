"""Steps of a synchronisation, each inside the transaction that also records what it brought."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.files.engine.change import FileChange, SizeLimits
from commonplace.files.engine.sync import SyncAction, SyncOutcome, SyncWrite
from commonplace.files.model import FilePath, Provenance
from commonplace.files.store.mutations import delete_file, rename_path, store_file
from commonplace.files.store.project_rows import ProjectRows
from commonplace.kernel.errors import CommonplaceError


@dataclass(frozen=True, slots=True)
class SyncRows:
    """The files of a project and what one folder (`origin`) brought to it.

    With `takes_over`, other folders no longer own the files that this one has.
    """

    rows: ProjectRows
    origin: str
    limits: SizeLimits
    now: int
    takes_over: bool = False

    def apply(self, write: SyncWrite) -> SyncOutcome | CommonplaceError:
        """Do one step; return the error that forbids it. Nothing is written then."""
        step = write.step
        try:
            if step.action is SyncAction.MOVE:
                return self._move(write)
            current = self._digest(step.path)
            if step.action is SyncAction.PUT:
                return self._put(write, current)
            if step.action is SyncAction.DELETE:
                return self._delete(step.path, step.expected, current)
            if step.action is SyncAction.ADOPT and current == step.digest:
                self._note(step.path, step.digest)
            elif step.action is SyncAction.FORGET and current is None:
                self._forget(step.path)
            else:
                return SyncOutcome.CHANGED
            return SyncOutcome.DONE
        except CommonplaceError as refused:
            return refused

    def _put(self, write: SyncWrite, current: str | None) -> SyncOutcome:
        path = write.step.path
        if current not in (write.step.expected, write.step.digest):
            return SyncOutcome.CHANGED
        if current != write.step.digest:
            change = FileChange(path, lambda old: write.content, self.limits)
            if write.step.replaces and current is not None:
                _, situation = self.rows.situation(path)
                change.decide(situation)  # before the first change: nothing is undone
                delete_file(self.rows, path, self.now)
            store_file(self.rows, path, change.decide, Provenance(write.source_path), self.now)
        self._note(path, write.step.digest)
        return SyncOutcome.DONE

    def _delete(self, path: FilePath, expected: str | None, current: str | None) -> SyncOutcome:
        if current not in (expected, None):
            return SyncOutcome.CHANGED
        if current is not None:
            delete_file(self.rows, path, self.now)
        self._forget(path)
        return SyncOutcome.DONE

    def _move(self, write: SyncWrite) -> SyncOutcome:
        step, source = write.step, write.step.source
        assert source is not None
        found = self.rows.first("file", path=source)
        if found is None and self._digest(step.path) == step.digest:
            self._forget(source)
            self._note(step.path, step.digest)
            return SyncOutcome.DONE  # it was done before, and the answer got lost
        if found is None or found[4] != step.expected:
            return SyncOutcome.CHANGED
        if self.rows.entry(step.path) is not None or self.rows.file_above(step.path) is not None:
            return SyncOutcome.BLOCKED
        rename_path(self.rows, source, step.path, False, None, self.now)
        self.rows.note_source(int(found[0]), Provenance(write.source_path))
        self._forget(source)
        self._note(step.path, step.digest)
        return SyncOutcome.DONE

    def _digest(self, path: FilePath) -> str | None:
        row = self.rows.first("file", path=path)
        return str(row[4]) if row is not None else None

    def _note(self, path: FilePath, digest: str) -> None:
        """Record what this folder brought."""
        self._end_others(path)
        self.rows.ask("sync_entry_put", origin=self.origin, path=path, hash=digest)

    def _forget(self, path: FilePath) -> None:
        self._end_others(path)
        self.rows.ask("sync_entry_remove", origin=self.origin, path=path)

    def _end_others(self, path: FilePath) -> None:
        if self.takes_over:
            self.rows.ask("sync_entry_take", origin=self.origin, path=path)
