"""Validation: the official schema, then the rules it cannot express.

Findings are computed once per document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from commonplace.kernel.collector import collector_off
from commonplace.openapi.engine.document.index import index_of
from commonplace.openapi.engine.document.lines import lines_of
from commonplace.openapi.engine.document.load import duplicates_of
from commonplace.openapi.engine.document.patterns import glob
from commonplace.openapi.engine.document.references import MISSING, Resolver, at_pointer
from commonplace.openapi.engine.validate.examples import example_findings
from commonplace.openapi.engine.validate.paths import PathRules, found
from commonplace.openapi.engine.validate.rules import RULES, Finding, Severity
from commonplace.openapi.engine.validate.schemas import SchemaRules
from commonplace.openapi.engine.validate.structure import structural_findings, unknown_dialect
from commonplace.openapi.model import Document

MAX_FINDINGS = 20_000
IGNORE_FIELD = "x-commonplace-ignore"
_IGNORE_BYTES = IGNORE_FIELD.encode()


@dataclass(frozen=True, slots=True)
class Report:
    errors: Sequence[Finding]
    warnings: Sequence[Finding]
    suppressed: int = 0

    @property
    def valid(self) -> bool:
        return not self.errors


def validate(
    document: Document, resolver: Resolver, *, strict: bool = False, ignore: Sequence[str] = ()
) -> Report:
    """Everything that is wrong with a document.

    `strict` adds rules beyond the specification and turns every warning into an error.
    """
    findings = _all_findings(document, resolver, strict)
    chosen = [finding for finding in findings if strict or not finding.rule.strict]
    kept = list(unsuppressed(document, chosen, ignore))
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
    return Report(errors, warnings, suppressed)


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
"""Warnings that strict mode counts as errors: the document contradicts itself, even if the
specification lets it.
"""


def with_lines(document: Document, findings: Sequence[Finding]) -> list[Finding]:
    """The same findings with the line of each in the source, where it is there."""
    wanted = {
        finding.pointer for finding in findings if finding.line is None and not finding.elsewhere
    }
    lines = lines_of(document, wanted)
    return [
        finding
        if finding.line is not None or finding.elsewhere
        else replace(finding, line=lines[finding.pointer])
        for finding in findings
    ]


def _all_findings(document: Document, resolver: Resolver, strict: bool) -> Sequence[Finding]:
    """Remembered with the document, unless other files had a say in them."""
    key = "strict findings" if strict else "findings"
    known: Sequence[Finding] | None = document.derived.get(key)
    if known is None:
        with collector_off(keep=document.kept):
            known = _deduplicated(list(islice(_compute(document, resolver, strict), MAX_FINDINGS)))
        if document.derived.get("resolver") is resolver:
            document.derived[key] = known
    return known


def _compute(document: Document, resolver: Resolver, strict: bool) -> Iterator[Finding]:
    for duplicate in duplicates_of(document):
        severity = Severity.WARNING if document.format == "json" else None
        finding = found(
            "duplicate-key",
            duplicate.pointer or "",
            f"The key {duplicate.key!r} occurs twice in one mapping.",
            severity,
        )
        yield replace(finding, line=duplicate.line)
    dialect = unknown_dialect(document)
    if dialect is not None:
        yield found(
            "unknown-dialect",
            "/jsonSchemaDialect",
            f"Schemas in {dialect[:100]!r} are not checked.",
        )
    yield from structural_findings(document)
    index = index_of(document)
    yield from PathRules(document, index, resolver).findings()
    yield from SchemaRules(document, index, resolver).findings(strict)
    yield from example_findings(document, index, resolver)


def _deduplicated(findings: list[Finding]) -> list[Finding]:
    """A rule that names the trouble replaces the official schema's general verdict on the same
    place.
    """
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
    said = {(finding.rule.id, finding.pointer) for finding in findings}
    named = {
        rule: {pointer.rpartition("/")[0] for other, pointer in said if other == rule}
        for rule in ("component-name", "tag-duplicate")
    }
    seen: set[tuple[str, str, str]] = set()
    kept = []
    for finding in findings:
        name, pointer = finding.rule.id, finding.pointer
        key = (name, pointer, finding.message)
        if key in seen or (name in _GENERAL and pointer in covered):
            continue
        if name == "wrong-value" and (
            ("wrong-type", pointer) in said
            or (pointer in named["component-name"] and "key of the wrong form" in finding.message)
            or (pointer in named["tag-duplicate"] and pointer == "/tags")
        ):
            continue
        if (
            name == "missing-field"
            and ("path-parameter-optional", pointer) in said
            and "'required'" in finding.message
        ):
            continue
        seen.add(key)
        kept.append(finding)
    return kept


_GENERAL = frozenset({"wrong-structure"})


def unsuppressed(
    document: Document, findings: Sequence[Finding], ignore: Sequence[str]
) -> Iterator[Finding]:
    """Drop what the caller or the document itself asked to ignore: `rule`, or
    `rule:/pointer/pattern*`.
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
            glob(rule, finding.rule.id)
            and (not pointer or glob(pointer, finding.pointer, case=True))
            for rule, _, pointer in wanted
        ):
            continue
        if marked and finding.rule.id in _ignored_at(document, finding.pointer, cache):
            continue
        yield finding


def _ignored_at(
    document: Document, pointer: str, cache: dict[str, frozenset[str]]
) -> frozenset[str]:
    """The rules that this object, or one above it, asks to ignore."""
    known = cache.get(pointer)
    if known is None:
        value = at_pointer(document.data, pointer)
        own = value.get(IGNORE_FIELD) if value is not MISSING and isinstance(value, dict) else None
        rules = (
            frozenset(rule for rule in own if isinstance(rule, str))
            if isinstance(own, list)
            else frozenset()
        )
        above = (
            _ignored_at(document, pointer.rpartition("/")[0], cache)
            if pointer
            else frozenset[str]()
        )
        known = cache[pointer] = rules | above
    return known


def rule_table() -> str:
    """The reference page of the rules, in Markdown."""
    rows = [
        f"| `{rule.id}` | {rule.severity.value}{' (strict)' if rule.strict else ''} | "
        f"{rule.meaning} | {rule.fix} |"
        for rule in RULES.values()
    ]
    return (
        "\n".join(
            ["| rule | severity | what it says | how to mend it |", "|---|---|---|---|", *rows]
        )
        + "\n"
    )
