"""Validation of a document together with the files that it refers to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.references.bundle import BundleResult
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.pointers import MISSING, lookup_pointer
from commonplace.openapi.engine.validate.findings import make_finding
from commonplace.openapi.engine.validate.report import (
    ValidationReport,
    drop_suppressed,
    validate,
)
from commonplace.openapi.engine.validate.rules import ValidationFinding
from commonplace.openapi.model import ApiDocument


def validate_external_parts(
    own: ValidationReport,
    document: ApiDocument,
    bundled: ApiDocument,
    bundle: BundleResult,
    resolver: ReferenceResolver,
    *,
    strict: bool,
    ignore: Sequence[str],
) -> ValidationReport:
    """Add the findings on the parts that a document takes from other files to its `own` report.

    `resolver` is that of the bundled document. External parts are named by the component that
    they become in the bundle.
    """
    rest = validate(bundled, resolver, strict=strict, ignore=ignore)
    lost = list(_find_lost_references(bundled, resolver, bundle.unresolved))
    lost = list(drop_suppressed(bundled, lost, ignore))

    def merge(
        mine: Sequence[ValidationFinding], theirs: Sequence[ValidationFinding]
    ) -> list[ValidationFinding]:
        known = {(finding.rule.id, finding.pointer) for finding in mine}
        new = [finding for finding in theirs if (finding.rule.id, finding.pointer) not in known]
        return [*mine, *(_name_origin(finding, bundle.origins, document) for finding in new)]

    return ValidationReport(
        merge(own.errors, rest.errors),
        merge(own.warnings, [*rest.warnings, *lost]),
        max(own.suppressed, rest.suppressed),
    )


def _find_lost_references(
    bundled: ApiDocument, resolver: ReferenceResolver, unresolved: Sequence[str]
) -> Iterator[ValidationFinding]:
    """Yield references of other files that fail there but would resolve from the document."""
    for node in index_document(bundled).refs if unresolved else ():
        if node.ref in unresolved and resolver.try_follow({"$ref": node.ref}) != {"$ref": node.ref}:
            yield make_finding(
                "ref-external",
                f"{node.place.pointer}/$ref",
                f"{node.ref} is in another file and was not checked.",
            )


def _name_origin(
    finding: ValidationFinding, origins: Mapping[str, str], document: ApiDocument
) -> ValidationFinding:
    for pointer, origin in origins.items():
        if finding.pointer == pointer or finding.pointer.startswith(pointer + "/"):
            return replace(
                finding, message=f"{finding.message} It comes from {origin}.", elsewhere=True
            )
    # A path item of another file is bundled under its path, where this document has only the
    # reference.
    return replace(finding, elsewhere=lookup_pointer(document.data, finding.pointer) is MISSING)
