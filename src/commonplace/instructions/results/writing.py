"""Values that the writes return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.instructions.engine.difference import DocumentDifference
    from commonplace.instructions.engine.entry.checks import EntryProblem
    from commonplace.instructions.model import Instruction
    from commonplace.kernel.json_types import JsonObject


@dataclass(frozen=True, slots=True)
class CatalogueState:
    """Hash and size of the catalogue."""

    catalogue_hash: str
    count: int


@dataclass(frozen=True, slots=True)
class WriteResult:
    """Outcome of adding or restoring an instruction, verified by reading it back."""

    entry: Instruction
    catalogue_hash: str
    created: bool = False
    overwritten: bool = False
    skipped: bool = False
    verify_issues: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    proposed: bool = False  # kept for a review; the approved text stays in effect


@dataclass(frozen=True, slots=True)
class EntryRefusal:
    """An entry that was not stored, and why."""

    problem: EntryProblem
    catalogue_hash: str


@dataclass(frozen=True, slots=True)
class ImportFailure:
    """An entry that was not imported: its place in the list, and why."""

    index: int
    id: str | None
    error: str
    hint: str


@dataclass(frozen=True, slots=True)
class EntryWarning:
    """How a stored entry differs from the one that was sent."""

    index: int
    id: str
    warning: str


@dataclass(frozen=True, slots=True)
class ImportResult:
    """Outcome of an import."""

    catalogue_hash: str
    total: int
    imported: int
    skipped: int
    overwritten: int
    failures: list[ImportFailure]
    warnings: list[EntryWarning]
    elapsed_ms: float
    held: Mapping[int, str] = field(default_factory=dict)
    """Entries that take effect only when somebody approves them, with a note."""
    proposed: frozenset[int] = frozenset()
    """Those of them that change an instruction which stays as it is until then."""


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """Outcome of a removal; `cascaded` is None unless dependents were to be removed too."""

    catalogue_hash: str
    removed: list[str]
    cascaded: list[str] | None
    missing: list[str]
    failures: dict[str, Exception]
    dry_run: bool = False  # nothing was removed
    backup: str | None = None  # saved before many were removed


@dataclass(frozen=True, slots=True)
class GovernanceUpdate:
    """Outcome of a change of governance fields."""

    entry: Instruction
    previous_version: str
    changed: bool
    catalogue_hash: str


@dataclass(frozen=True, slots=True)
class GroomResult:
    """Outcome of grooming, or of a dry run."""

    previous_hash: str
    catalogue_hash: str
    scanned: int
    repaired_hashes: int
    normalized_categories: int
    deprecated_removed: int
    duplicates_merged: int
    purged_scopes: int
    usage_pruned: int
    files_rewritten: int
    dry_run: bool
    notes: list[str]
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class RewriteResult:
    """Outcome of rewriting stored entries (repair and enrich)."""

    catalogue_hash: str
    updated: list[str]
    skipped: list[str]
    notes: list[str]


@dataclass(frozen=True, slots=True)
class HistoryChange:
    """A recorded change with the fields that differ and a diff of the body."""

    number: int
    at: str
    action: str
    by: str
    agent: str | None
    version: str | None
    difference: DocumentDifference


@dataclass(frozen=True, slots=True)
class InstructionHistory:
    """Changes of an instruction, newest first; `total` counts all that the caller may see."""

    id: str
    exists: bool
    change_log: list[JsonObject]
    total: int
    changes: list[HistoryChange]


@dataclass(frozen=True, slots=True)
class RestoreResult:
    """Outcome of undoing a change; `written` is None if the instruction was removed."""

    id: str
    change: int
    catalogue_hash: str
    written: WriteResult | None
