"""Validation of a document: the official schema, then the rules it cannot express.

Findings are computed once per document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from commonplace.kernel.gc_control import gc_paused
from commonplace.openapi.engine.document.index import index_document
from commonplace.openapi.engine.document.lines import find_lines
from commonplace.openapi.engine.document.load import find_duplicate_keys
from commonplace.openapi.engine.document.patterns import match_glob
from commonplace.openapi.engine.document.references.resolver import ReferenceResolver
from commonplace.openapi.engine.pointers import MISSING, lookup_pointer
from commonplace.openapi.engine.validate.context import RuleContext
from commonplace.openapi.engine.validate.examples import check_examples
from commonplace.openapi.engine.validate.findings import make_finding
from commonplace.openapi.engine.validate.metadata import check_metadata
from commonplace.openapi.engine.validate.operations import check_operations
from commonplace.openapi.engine.validate.parameters import check_parts
from commonplace.openapi.engine.validate.paths import check_paths
from commonplace.openapi.engine.validate.rules import RULES, Severity, ValidationFinding
from commonplace.openapi.engine.validate.schemas import SchemaRules
from commonplace.openapi.engine.validate.security import check_security
from commonplace.openapi.engine.validate.structure import check_structure, find_unknown_dialect
from commonplace.openapi.model import ApiDocument

MAX_FINDINGS = 20_000
IGNORE_FIELD = "x-commonplace-ignore"
_IGNORE_BYTES = IGNORE_FIELD.encode()


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """The findings of a validation, by severity, and how many were suppressed."""

    errors: Sequence[ValidationFinding]
    warnings: Sequence[ValidationFinding]
    suppressed: int = 0

    @property
    def valid(self) -> bool:
        return not self.errors


def validate(
    document: ApiDocument,
    resolver: ReferenceResolver,
    *,
    strict: bool = False,
    ignore: Sequence[str] = (),
) -> ValidationReport:
    """Return everything that is wrong with a document.

    `strict` adds rules beyond the specification and turns every warning into an error.
    """
    findings = _all_findings(document, resolver, strict)
    chosen = [finding for finding in findings if strict or not finding.rule.strict]
    kept = list(drop_suppressed(document, chosen, ignore))
    suppressed = len(chosen) - len(kept)
    if strict:
        kept = [
            replace(finding, severity=Severity.ERROR)
            if finding.rule.id in STRICT_ERRORS
            else finding
            for finding in kept
        ]
    errors = [finding for finding in kept if finding.severity is Severity.ERROR]
    warnings = [finding for finding in kept if finding.severity is Severity.WARNING]
    return ValidationReport(errors, warnings, suppressed)


STRICT_ERRORS = frozenset(
    {
        "default-mismatch",
        "example-mismatch",
        "enum-type",
        "bounds",
        "pattern",
        "discriminator-mapping",
        "required-undefined",
    }
)
"""Warnings that strict mode counts as errors, because the document contradicts itself."""


def add_lines(
    document: ApiDocument, findings: Sequence[ValidationFinding]
) -> list[ValidationFinding]:
    """Return the findings with their lines in the source; those of other files have none."""
    wanted = {
        finding.pointer for finding in findings if finding.line is None and not finding.elsewhere
    }
    lines = find_lines(document, wanted)
    return [
        finding
        if finding.line is not None or finding.elsewhere
        else replace(finding, line=lines[finding.pointer])
        for finding in findings
    ]


def _all_findings(
    document: ApiDocument, resolver: ReferenceResolver, strict: bool
) -> Sequence[ValidationFinding]:
    """Return all findings; cached with the document unless they depend on other files."""
    key = "strict findings" if strict else "findings"
    known: Sequence[ValidationFinding] | None = document.derived.get(key)
    if known is None:
        with gc_paused(freeze=document.kept):
            known = _deduplicate(list(islice(_run_rules(document, resolver, strict), MAX_FINDINGS)))
        if document.derived.get("resolver") is resolver:
            document.derived[key] = known
    return known


def _run_rules(
    document: ApiDocument, resolver: ReferenceResolver, strict: bool
) -> Iterator[ValidationFinding]:
    for duplicate in find_duplicate_keys(document):
        severity = Severity.WARNING if document.format == "json" else None
        finding = make_finding(
            "duplicate-key",
            duplicate.pointer or "",
            f"The key {duplicate.key!r} occurs twice in one mapping.",
            severity,
        )
        yield replace(finding, line=duplicate.line)
    dialect = find_unknown_dialect(document)
    if dialect is not None:
        yield make_finding(
            "unknown-dialect",
            "/jsonSchemaDialect",
            f"Schemas in {dialect[:100]!r} are not checked.",
        )
    yield from check_structure(document)
    index = index_document(document)
    context = RuleContext(document, index, resolver)
    for check in (check_paths, check_operations, check_parts, check_security, check_metadata):
        yield from check(context)
    yield from SchemaRules(context).findings(strict)
    yield from check_examples(document, index, resolver)


def _deduplicate(findings: list[ValidationFinding]) -> list[ValidationFinding]:
    """Drop repeated findings, and general ones where a specific rule reports the same place."""
    precise = [
        finding.pointer
        for finding in findings
        if finding.rule.id not in _GENERAL and finding.severity is Severity.ERROR
    ]
    covered = set(precise)
    for pointer in precise:
        while pointer:
            pointer = pointer.rpartition("/")[0]
            covered.add(pointer)
    reported = {(finding.rule.id, finding.pointer) for finding in findings}
    parents = {
        rule: {pointer.rpartition("/")[0] for other, pointer in reported if other == rule}
        for rule in ("component-name", "tag-duplicate")
    }

    def is_explained(finding: ValidationFinding) -> bool:
        name, pointer, message = finding.rule.id, finding.pointer, finding.message
        if name == "wrong-value":
            return (
                ("wrong-type", pointer) in reported
                or (pointer in parents["component-name"] and "key of the wrong form" in message)
                or (pointer in parents["tag-duplicate"] and pointer == "/tags")
            )
        if name == "missing-field":
            return ("path-parameter-optional", pointer) in reported and "'required'" in message
        return name in _GENERAL and pointer in covered

    unique: dict[tuple[str, str, str], ValidationFinding] = {}
    for finding in findings:
        if not is_explained(finding):
            unique.setdefault((finding.rule.id, finding.pointer, finding.message), finding)
    return list(unique.values())


_GENERAL = frozenset({"wrong-structure"})


def drop_suppressed(
    document: ApiDocument, findings: Sequence[ValidationFinding], ignore: Sequence[str]
) -> Iterator[ValidationFinding]:
    """Yield the findings that neither the caller nor the document asks to ignore.

    An entry of `ignore` is `rule` or `rule:/pointer/pattern*`.
    """
    wanted = [entry.partition(":") for entry in ignore]
    marked = (
        _IGNORE_BYTES in document.raw
        if isinstance(document.raw, bytes)
        else IGNORE_FIELD in document.raw
    )
    cache: dict[str, frozenset[str]] = {}
    for finding in findings:
        if any(
            match_glob(rule, finding.rule.id)
            and (not pointer or match_glob(pointer, finding.pointer, case=True))
            for rule, _, pointer in wanted
        ):
            continue
        if marked and finding.rule.id in _list_ignored_rules(document, finding.pointer, cache):
            continue
        yield finding


def _list_ignored_rules(
    document: ApiDocument, pointer: str, cache: dict[str, frozenset[str]]
) -> frozenset[str]:
    """Return the rules that an object, or one above it, asks to ignore."""
    known = cache.get(pointer)
    if known is None:
        value = lookup_pointer(document.data, pointer)
        own = value.get(IGNORE_FIELD) if value is not MISSING and isinstance(value, dict) else None
        rules = (
            frozenset(rule for rule in own if isinstance(rule, str))
            if isinstance(own, list)
            else frozenset()
        )
        above = (
            _list_ignored_rules(document, pointer.rpartition("/")[0], cache)
            if pointer
            else frozenset[str]()
        )
        known = cache[pointer] = rules | above
    return known


def rule_table() -> str:
    """Return the table of the rules for the reference page, in Markdown."""
    rows = [
        f"| `{rule.id}` | {rule.severity.value}{' (strict)' if rule.strict else ''} | "
        f"{rule.meaning} | {rule.fix} |"
        for rule in RULES.values()
    ]
    return "\n".join(["| rule | severity | meaning | fix |", "|---|---|---|---|", *rows]) + "\n"
