"""What the service returns: one frozen value per use case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.openapi.engine.convert.issues import ConversionIssue
    from commonplace.openapi.engine.diff.rules import ApiChange
    from commonplace.openapi.engine.document.summary import DocumentSummary, RenderedPart
    from commonplace.openapi.engine.fix import Fix
    from commonplace.openapi.engine.generate.model import Notice
    from commonplace.openapi.engine.overlay.apply import OverlayChange
    from commonplace.openapi.engine.validate.rules import ValidationFinding


@dataclass(frozen=True, slots=True)
class DeliveredDocument:
    """Where a resulting document went. It is omitted from answers that cannot hold it."""

    written_to: str | None = None
    text: str | None = None
    omitted_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class ValidateResult:
    """A page of findings with the counts of all of them."""

    valid: bool
    version: str
    error_count: int
    warning_count: int
    errors: Sequence[ValidationFinding]
    warnings: Sequence[ValidationFinding]
    suppressed_count: int
    unchecked: Sequence[ValidationFinding]  # references to other files that were not followed


@dataclass(frozen=True, slots=True)
class ParseResult:
    """A summary, with the text of the document if it was asked for."""

    summary: DocumentSummary
    full: RenderedPart | None = None


@dataclass(frozen=True, slots=True)
class DiffResult:
    """A page of changes with the counts of all of them."""

    total: int
    breaking_count: int
    warning_count: int
    info_count: int
    changes: Sequence[ApiChange]
    summary: str


@dataclass(frozen=True, slots=True)
class FixResult:
    """All repairs, and the errors that remain."""

    version: str
    fixes: Sequence[Fix]
    remaining: Sequence[ValidationFinding]
    delivered: DeliveredDocument


@dataclass(frozen=True, slots=True)
class ConvertResult:
    """All issues of a conversion, the most severe first."""

    source_version: str
    document_version: str
    issues: Sequence[ConversionIssue]
    delivered: DeliveredDocument

    def count(self, severity: str) -> int:
        """Return how many issues have a severity."""
        return sum(issue.severity == severity for issue in self.issues)


@dataclass(frozen=True, slots=True)
class JoinResult:
    """The size of a joined document and what was decided on the way."""

    spec_count: int
    version: str
    path_count: int
    operation_count: int
    schema_count: int
    collision_count: int
    warnings: Sequence[str]
    delivered: DeliveredDocument


@dataclass(frozen=True, slots=True)
class BundledFiles:
    """The files that were bundled into one document."""

    version: str
    files: Sequence[str]
    imported_count: int
    delivered: DeliveredDocument


@dataclass(frozen=True, slots=True)
class OverlayApplyResult:
    """What each action of an overlay did, or would do in a dry run."""

    applied_count: int
    skipped_count: int
    changes: Sequence[OverlayChange]
    warnings: Sequence[str]
    delivered: DeliveredDocument


@dataclass(frozen=True, slots=True)
class GenerateResult:
    """Generated files by name, and the folder they were written to."""

    files: Mapping[str, str]
    type_count: int
    operation_count: int
    warnings: Sequence[Notice]
    output_dir: str | None = None
    removed: Sequence[str] = ()
