"""Conversion from any version to any other, one neighbouring version at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.convert.dangling import report_dangling_references
from commonplace.openapi.engine.convert.down_3_1 import down_to_3_0
from commonplace.openapi.engine.convert.down_3_2 import down_to_3_1
from commonplace.openapi.engine.convert.issues import ConversionIssue, IssueLog
from commonplace.openapi.engine.convert.swagger.down import down_to_2_0
from commonplace.openapi.engine.convert.swagger.up import SwaggerUp
from commonplace.openapi.engine.convert.up_3_0 import up_to_3_1, up_to_3_2
from commonplace.openapi.model import Family

LADDER = (Family.V20, Family.V30, Family.V31, Family.V32)
PATCH = {Family.V20: "2.0", Family.V30: "3.0.4", Family.V31: "3.1.1", Family.V32: "3.2.0"}


@dataclass(frozen=True, slots=True)
class Conversion:
    """The converted document and what happened to it."""

    document: JsonObject
    issues: tuple[ConversionIssue, ...]

    @property
    def critical(self) -> int:
        """Return how many issues are critical."""
        return sum(issue.severity == "critical" for issue in self.issues)

    @property
    def version(self) -> str | None:
        """Return the version that the result declares."""
        declared = self.document.get("openapi", self.document.get("swagger"))
        return None if declared is None else str(declared)


def convert(
    document: JsonObject, source: Family, target: Family, version: str | None = None
) -> Conversion:
    """Convert a document to the target version.

    `version` is the exact version to declare, such as 3.1.2; it belongs to the target's family.
    """
    issues = IssueLog()
    declared = version or PATCH[target]
    here, there = LADDER.index(source), LADDER.index(target)
    if here == there:
        key = "swagger" if target is Family.V20 else "openapi"
        kept = version if version is not None and document.get(key) != version else None
        return Conversion({**document, key: kept} if kept else document, ())
    while here != there:
        up = there > here
        here += 1 if up else -1
        reached = LADDER[here]
        patch = declared if reached is target else PATCH[reached]
        document = (
            _convert_up(document, reached, issues, patch)
            if up
            else _convert_down(document, reached, issues, patch)
        )
    report_dangling_references(document, issues)
    return Conversion(document, tuple(_drop_superseded(issues.found)))


def _drop_superseded(issues: list[ConversionIssue]) -> Iterator[ConversionIssue]:
    """Drop issues about extensions that a later step removed.

    Only the removal is reported, at the place in the source.
    """
    dropped = next((issue for issue in issues if issue.path == "/x-webhooks"), None)
    for issue in issues:
        if dropped is None or issue.path not in ("/webhooks", "/x-webhooks"):
            yield issue
        elif issue is dropped:
            kept = any(other.path == "/webhooks" for other in issues)
            yield replace(issue, path="/webhooks") if kept else issue


def _convert_up(
    document: JsonObject, reached: Family, issues: IssueLog, version: str
) -> JsonObject:
    if reached is Family.V30:
        return SwaggerUp(document, issues).convert(version)
    return (
        up_to_3_1(document, issues, version)
        if reached is Family.V31
        else up_to_3_2(document, issues, version)
    )


def _convert_down(
    document: JsonObject, reached: Family, issues: IssueLog, version: str
) -> JsonObject:
    if reached is Family.V20:
        return down_to_2_0(document, issues)
    return (
        down_to_3_0(document, issues, version)
        if reached is Family.V30
        else down_to_3_1(document, issues, version)
    )
