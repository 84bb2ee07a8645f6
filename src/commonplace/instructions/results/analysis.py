"""Values that analysis, health checks and inspection return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from commonplace.instructions.engine.unreadable import StoredProblem
    from commonplace.instructions.model import (
        Instruction,
        Rejection,
        RequestStats,
        StorageStatus,
        StoredEntry,
    )
    from commonplace.instructions.results.writing import CatalogueState
    from commonplace.kernel.json.document import Document
    from commonplace.kernel.json_types import Json, JsonObject


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
