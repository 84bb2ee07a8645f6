"""Breaking changes of a conversion to an older version, found by comparing both documents."""

from __future__ import annotations

from dataclasses import replace

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.openapi.engine.convert.chain import LADDER, Conversion
from commonplace.openapi.engine.convert.issues import ConversionIssue
from commonplace.openapi.engine.diff.compare import diff
from commonplace.openapi.engine.diff.rules import BREAKING
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.model import V2_COMPONENTS, ApiDocument, Family

_SOURCE_OF = tuple(
    (f"/{section}/", f"/components/{kind}/") for kind, section in V2_COMPONENTS.items()
)
_NOT_COMPARED = (
    "The result was not compared with the source, so breaking changes may be missing here: {}"
)


def name_breaking_changes(
    source: ApiDocument, data: JsonObject, conversion: Conversion, target: Family
) -> Conversion:
    """Add an issue for each breaking change that no issue reports at its place.

    `data` is the converted value: the document's own, or with other files included. Conversions to
    a newer version are returned as they are.
    """
    if LADDER.index(target) >= LADDER.index(source.family):
        return conversion
    before = replace(source, data=data, derived={})
    version = str(
        conversion.document.get("openapi") or conversion.document.get("swagger") or target.value
    )
    after = replace(source, data=conversion.document, family=target, version=version, derived={})
    try:
        changes = diff(before, after, ReferenceResolver(before), ReferenceResolver(after))
    except (CommonplaceError, RecursionError) as error:
        why = error.message if isinstance(error, CommonplaceError) else "it nests too deeply."
        return replace(
            conversion,
            issues=(*conversion.issues, ConversionIssue("warning", "", _NOT_COMPARED.format(why))),
        )
    named = _ReportedPlaces(conversion.issues)
    found = []
    for change in changes:
        path = source_path(change.path)
        if change.level in BREAKING and not named.is_reported(path):
            found.append(
                ConversionIssue(
                    "warning",
                    path,
                    f"{change.message} Clients of the source may break ({change.rule.id}).",
                )
            )
    return replace(conversion, issues=(*conversion.issues, *dict.fromkeys(found)))


def source_path(path: str) -> str:
    """Translate a pointer into a 2.0 document to the 3.x document that it came from."""
    for section, components in _SOURCE_OF:
        if path.startswith(section):
            return components + path[len(section) :]
    return path


class _ReportedPlaces:
    """The places that warnings and critical issues report."""

    def __init__(self, issues: tuple[ConversionIssue, ...]) -> None:
        self._exact: set[str] = set()
        self._above: set[str] = set()
        for issue in issues:
            path = source_path(issue.path)
            if issue.severity == "info" or path.count("/") < 2:
                continue
            self._exact.add(path)
            while path := path.rpartition("/")[0]:
                self._above.add(path)

    def is_reported(self, path: str) -> bool:
        """Tell whether an issue reports this place, one around it or one inside it."""
        if path in self._above:
            return True
        while path:
            if path in self._exact:
                return True
            path = path.rpartition("/")[0]
        return False
