"""Synchronisation of a folder with a project: what must be done, from three views of each file.

A path has up to three contents: in the folder, in the project, and as the last sync of this folder
brought it. Only a file that is still as the sync brought it is replaced, moved or deleted; any
other difference is a conflict, and both sides stay as they are.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from commonplace.files.model import FilePath, name_of

EMPTY_HASH = hashlib.sha256(b"").hexdigest()


class SyncAction(StrEnum):
    PUT = "put"  # store the folder's content
    MOVE = "move"  # rename a file of the project
    DELETE = "delete"
    ADOPT = "adopt"  # both sides are equal: note that this folder has the file
    FORGET = "forget"  # both sides have lost the file


@dataclass(frozen=True, slots=True)
class SyncStep:
    """One change; `expected` is the content hash that the project must still have.

    None: there must be no file. `digest` is the content hash afterwards.
    """

    action: SyncAction
    path: FilePath
    expected: str | None = None
    digest: str = ""
    source: FilePath | None = None  # of a move
    replaces: bool = False  # a foreign version: keep it among the deleted files


@dataclass(frozen=True, slots=True)
class SyncWrite:
    """A step with what it stores."""

    step: SyncStep
    content: bytes = b""
    source_path: str | None = None


class SyncOutcome(StrEnum):
    DONE = "done"
    CHANGED = "changed"  # the project's file is no longer the expected one
    BLOCKED = "blocked"  # something is at the target of a move


@dataclass(frozen=True, slots=True)
class SyncConflict:
    """A file that was left alone, and why."""

    path: str
    reason: str


@dataclass(slots=True)
class SyncPlan:
    """Steps in the order they must be done: deletions make room, then moves, then writes."""

    deletes: list[SyncStep] = field(default_factory=list)
    moves: list[SyncStep] = field(default_factory=list)
    puts: list[SyncStep] = field(default_factory=list)
    notes: list[SyncStep] = field(default_factory=list)
    conflicts: list[SyncConflict] = field(default_factory=list)
    unchanged: int = 0

    @property
    def steps(self) -> list[SyncStep]:
        return [*self.deletes, *self.moves, *self.puts, *self.notes]


@dataclass(frozen=True, slots=True)
class SyncViews:
    """Content hashes by stored path.

    `unknown` could not be read: nobody knows whether they are missing.
    """

    folder: Mapping[FilePath, str]
    project: Mapping[FilePath, str]
    known: Mapping[FilePath, str]  # as the last sync brought them
    unknown: Collection[FilePath] = frozenset()


def plan_sync(views: SyncViews, *, force: bool = False) -> SyncPlan:
    """Compare the views. With `force` the folder wins conflicts; what it replaces is kept."""
    plan = SyncPlan()
    for path, local in views.folder.items():
        _plan_present(plan, path, local, views.project.get(path), views.known.get(path), force)
    for path, known in views.known.items():
        if path not in views.folder and path not in views.unknown:
            _plan_missing(plan, path, views.project.get(path), known, force)
    _find_moves(plan)
    return plan


def _plan_present(
    plan: SyncPlan, path: FilePath, local: str, remote: str | None, known: str | None, force: bool
) -> None:
    if remote == local:
        plan.unchanged += 1
        if known != local:
            plan.notes.append(SyncStep(SyncAction.ADOPT, path, local, local))
        return
    put = SyncStep(SyncAction.PUT, path, remote, local)
    if remote == known:  # nobody else changed it, or nobody has it
        plan.puts.append(put)
    elif force:
        plan.puts.append(replace(put, replaces=remote is not None))
    elif remote is None:
        also = "" if local == known else "; it changed in the folder"
        plan.conflicts.append(SyncConflict(path, f"deleted in the project{also}"))
    elif known is None:
        plan.conflicts.append(SyncConflict(path, "the project has another text at this path"))
    else:
        also = "" if local == known else " and in the folder"
        plan.conflicts.append(SyncConflict(path, f"changed in the project{also}"))


def _plan_missing(
    plan: SyncPlan, path: FilePath, remote: str | None, known: str, force: bool
) -> None:
    if remote is None:
        plan.notes.append(SyncStep(SyncAction.FORGET, path))
    elif remote == known or force:
        plan.deletes.append(SyncStep(SyncAction.DELETE, path, remote))
    else:
        reason = "deleted in the folder and changed in the project"
        plan.conflicts.append(SyncConflict(path, reason))


def _find_moves(plan: SyncPlan) -> None:
    """Turn a deletion and an addition of the same content into a move."""
    gone: dict[str, list[SyncStep]] = defaultdict(list)
    for step in plan.deletes:
        if step.expected not in (None, EMPTY_HASH):
            gone[str(step.expected)].append(step)
    moved: set[FilePath] = set()
    puts = []
    for put in plan.puts:
        source = _best_source(put.path, gone.get(put.digest, [])) if put.expected is None else None
        if source is None:
            puts.append(put)
            continue
        gone[put.digest].remove(source)
        moved.add(source.path)
        plan.moves.append(
            SyncStep(SyncAction.MOVE, put.path, source.expected, put.digest, source.path)
        )
    plan.puts = puts
    plan.deletes = [step for step in plan.deletes if step.path not in moved]


def _best_source(path: FilePath, candidates: list[SyncStep]) -> SyncStep | None:
    """Prefer a file of the same name; a file cannot move above or below itself."""
    possible = [
        step
        for step in candidates
        if not path.startswith(f"{step.path}/") and not step.path.startswith(f"{path}/")
    ]
    same_name = [step for step in possible if name_of(step.path) == name_of(path)]
    return next(iter([*same_name, *possible]), None)
