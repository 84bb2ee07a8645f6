"""Values that the use cases return. Tools turn them into the answers of the contracts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.instructions.engine.difference import DocumentDifference
from commonplace.instructions.engine.entry.checks import EntryProblem
from commonplace.instructions.engine.highlight import Highlight
from commonplace.instructions.engine.unreadable import StoredProblem
from commonplace.instructions.model import Instruction, Rejection, StorageStatus, StoredEntry
from commonplace.kernel.json.document import Document
from commonplace.kernel.json_types import Json, JsonObject


@dataclass(frozen=True, slots=True)
class FoundInstruction:
    """An instruction and the state of the catalogue it was read from."""

    catalogue_hash: str
    item: Document


@dataclass(frozen=True, slots=True)
class VisibilityRepair:
    """Steps taken to make a stored entry visible (docs/reference/contracts/instructions.md)."""

    expected_on_disk: bool = False
    expected_in_catalogue: bool = False
    attempted_reload: bool = False
    attempted_single_read: bool = False
    repaired: bool = False
    read_singly: bool = False
    rejected: bool = False
    reason: str | None = None

    def trace_fields(self) -> JsonObject:
        """Return the fields of answers and traces (docs/reference/contracts/instructions.md)."""
        fields: JsonObject = {
            "expectOnDisk": self.expected_on_disk,
            "expectInCatalog": self.expected_in_catalogue,
            "attemptedReload": self.attempted_reload,
            "attemptedLate": self.attempted_single_read,
            "repairedVisibility": self.repaired,
            "lateMaterialized": self.read_singly,
            "lateMaterializeRejected": self.rejected,
        }
        return fields if self.reason is None else {**fields, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class RepairedLookup:
    """An instruction, if it was found, and the repair if one was attempted."""

    found: FoundInstruction | None
    repair: VisibilityRepair | None


@dataclass(frozen=True, slots=True)
class CatalogueListing:
    """A slice of the catalogue in order of id; `total` counts all that match."""

    catalogue_hash: str
    total: int
    items: list[Document]
    repair: VisibilityRepair | None = None
    scope: str | None = None  # the narrowest scope that has instructions


@dataclass(frozen=True, slots=True)
class QueryResult:
    """One page of a query."""

    catalogue_hash: str
    total: int
    items: list[Document]
    next_cursor: str | None
    elapsed_ms: float


@dataclass(frozen=True, slots=True)
class CatalogueMatches:
    """Results of a search, best first; `relaxed` means that not all words had to match."""

    catalogue_hash: str
    total: int
    items: list[Document]
    relaxed: bool
    highlights: list[Highlight] | None = None


@dataclass(frozen=True, slots=True)
class CategoryCount:
    """A category, its number of instructions, and its newest change."""

    name: str
    count: int
    last_updated: str


@dataclass(frozen=True, slots=True)
class Categories:
    """All categories in order of name."""

    catalogue_hash: str
    categories: list[CategoryCount]


@dataclass(frozen=True, slots=True)
class ClientDifference:
    """Difference between the catalogue and a client's copy.

    `changed` has the whole catalogue if the client did not say which entries it knows.
    """

    catalogue_hash: str
    up_to_date: bool = False
    added: list[Document] | None = None
    updated: list[Document] | None = None
    removed: list[str] | None = None
    changed: list[Document] | None = None
    metadata_may_differ: bool = False


@dataclass(frozen=True, slots=True)
class GovernanceDigest:
    """Governance hash of the catalogue, with the instructions it covers if requested."""

    count: int
    digest: str
    entries: list[Instruction] | None = None


@dataclass(frozen=True, slots=True)
class HashIssue:
    """A body that does not match the hash that its file claims."""

    id: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class IntegrityReport:
    """Bodies that do not match their claimed hashes."""

    catalogue_hash: str
    count: int
    issues: list[HashIssue]


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


@dataclass(frozen=True, slots=True)
class RemovalResult:
    """Outcome of a removal; `cascaded` is None unless dependents were to be removed too."""

    catalogue_hash: str
    removed: list[str]
    cascaded: list[str] | None
    missing: list[str]
    failures: dict[str, Exception]


@dataclass(frozen=True, slots=True)
class GovernanceUpdate:
    """Outcome of a change of governance fields."""

    entry: Instruction
    previous_version: str
    changed: bool
    catalogue_hash: str


@dataclass(frozen=True, slots=True)
class CatalogueState:
    """Hash and size of the catalogue."""

    catalogue_hash: str
    count: int


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


@dataclass(frozen=True, slots=True)
class ReviewsDue:
    """Documents due for review, longest overdue first, and counts of the whole catalogue."""

    total: int
    due: int
    before: str
    items: list[Document]
    counts: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class UseRecord:
    """Outcome of counting a use."""

    id: str
    count: int
    last_used: str
    rate_limited: bool


@dataclass(frozen=True, slots=True)
class HotSet:
    """Most used instructions."""

    catalogue_hash: str
    limit: int
    items: list[UseRecord]


@dataclass(frozen=True, slots=True)
class RequestStats:
    """Calls of this process: their number, mean response time and share of errors."""

    count: int = 0
    average_ms: float = 0.0
    error_rate: float = 0.0


@dataclass(frozen=True, slots=True)
class CatalogueHealth:
    """State of the catalogue and its storage."""

    count: int
    categories: int
    last_modified: str
    catalogue_hash: str
    uptime_seconds: float
    requests: RequestStats
    storage: StorageStatus
    rejected: list[Rejection]
    drifted: list[str]
    unreadable: list[StoredProblem]
    configuration_problems: dict[str, str]

    @property
    def status(self) -> str:
        """Return `unhealthy` if the storage cannot be read, `degraded` if anything is wrong."""
        if not self.storage.readable:
            return "unhealthy"
        wrong = (
            self.rejected
            or self.drifted
            or self.unreadable
            or self.configuration_problems
            or self.storage.write_problem
        )
        return "degraded" if wrong else "healthy"


@dataclass(frozen=True, slots=True)
class CatalogueInspection:
    """Details of the whole catalogue."""

    state: CatalogueState
    categories: int
    last_modified: str
    rejected: list[Rejection]
    salvaged: Mapping[str, int]
    drifted: list[str]
    unreadable: list[StoredProblem]
    unknown_fields: list[StoredProblem]
    configuration_problems: dict[str, str]
    searchable: bool
    counters: Mapping[str, int]
    storage: StorageStatus


@dataclass(frozen=True, slots=True)
class InstructionInspection:
    """Details of one instruction; `stored` is read from the storage, `shown` from the catalogue."""

    id: str | None
    stored: StoredEntry
    raw: Json
    shown: Document | None
    issues: list[str]
    warnings: list[str]
    computed_hash: str | None
    history_length: int


@dataclass(frozen=True, slots=True)
class GovernanceInspection:
    """Governance fields of instructions."""

    entries: list[Instruction]
    counts: Mapping[str, Mapping[str, int]]
    overdue: list[str]
    unowned: list[str]
    digest: str
    storage: StorageStatus


@dataclass(frozen=True, slots=True)
class UsageCounter:
    """Uses of one instruction, with sums of reported context and metrics."""

    total: int
    first_seen: str
    last_used: str
    details: JsonObject


@dataclass(frozen=True, slots=True)
class UsageInspection:
    """Usage counters."""

    counters: Mapping[str, UsageCounter]
    total: int
    pending: int
    orphans: list[str]
    enabled: bool


Inspection = CatalogueInspection | InstructionInspection | GovernanceInspection | UsageInspection
