"""Values that the reads return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from commonplace.instructions.engine.highlight import Highlight
    from commonplace.kernel.json.document import Document
    from commonplace.kernel.json_types import JsonObject


class FoundInstruction(NamedTuple):
    """An instruction and the state of the catalogue it was read from.

    A tuple, because the most frequent call creates one.
    """

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
    """Results of a search, best first; `relaxed` means that nothing matches strictly."""

    catalogue_hash: str
    total: int
    items: list[Document]
    relaxed: bool
    highlights: list[Highlight] | None = None
    corrected: Mapping[str, str] = field(default_factory=dict)  # words as they were read
    note: str | None = None  # why meaning did not take part


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
