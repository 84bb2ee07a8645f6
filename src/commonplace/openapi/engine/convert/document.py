"""Conversion of a loaded document, with everything that its reader should know."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.convert.chain import Conversion, convert
from commonplace.openapi.engine.convert.consequences import name_breaking_changes
from commonplace.openapi.engine.convert.issues import SEVERITIES, ConversionIssue
from commonplace.openapi.engine.validate.structure import check_structure
from commonplace.openapi.model import ApiDocument, Family

MOST_FAULTS = 1000


def convert_document(document: ApiDocument, data: JsonObject, target: str) -> Conversion:
    """Convert to a family such as `3.1`, or to an exact version such as `3.1.2`.

    `data` is the document's own, or with the parts of other files included. The issues of the
    result are sorted by severity, the most severe first.
    """
    family = Family(target[:3])
    exact = target if len(target) > 3 else None
    result = convert(data, document.family, family, exact)
    result = name_breaking_changes(document, data, result, family)
    issues = result.issues
    if family is document.family:
        issues = (*issues, *_list_faults(document))
    return replace(
        result, issues=tuple(sorted(issues, key=lambda issue: SEVERITIES.index(issue.severity)))
    )


def _list_faults(document: ApiDocument) -> list[ConversionIssue]:
    """List what is wrong with a document that keeps its version and so is not rewritten."""
    return [
        ConversionIssue(
            "critical",
            finding.pointer,
            f"The document breaks its version and was not repaired: {finding.message}",
        )
        for finding in islice(check_structure(document), MOST_FAULTS)
    ]
