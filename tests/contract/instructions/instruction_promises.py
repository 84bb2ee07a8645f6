"""Promises of docs/reference/contracts/instructions.md; each id has a test that names it.

`python tests/contract/instructions/instruction_promises.py` writes the table in the docs.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
TABLE = Path(__file__).parents[3] / "docs" / "reference" / "instructions-contract.md"

PROMISES: dict[str, str] = {
    "000-dispatch-action": (
        "instructions/dispatch selects a tool by `action`; its arguments stand beside it"
    ),
    "000-dispatch-unknown": "an unknown action is -32601 with data.action",
    "000-dispatch-missing": "a call without an action is -32602",
    "000-dispatch-params": (
        "invalid arguments of an action are -32602 with the details of the validation"
    ),
    "000-dispatch-names": "every action is a dispatch action, a bare method and an MCP tool",
    "000-list-shape": "list returns hash, count and items",
    "000-list-category": "list filters by category",
    "000-list-page": "list honours limit and offset; count includes all that match",
    "000-list-expect": "list with expectId makes a hidden file visible and reports how",
    "000-get-found": "get returns hash and item",
    "000-get-missing": "get of an unknown id returns notFound and the id",
    "000-search-shape": "search returns hash, count, items and query",
    "000-search-limit": "search honours limit and counts all matches",
    "000-search-highlight": "search with highlight adds highlighted snippets",
    "000-search-title-body": "search looks at titles and bodies",
    "000-query-shape": "query returns items, total, returned, appliedFilters and performanceMs",
    "000-query-filters": "query applies each of the eleven filters",
    "000-query-sort": "query sorts by createdAt, updatedAt, priority and title, both ways",
    "000-query-cursor": (
        "query pages with nextCursor without repeats or gaps, even while the catalogue changes"
    ),
    "000-query-flat": "query accepts the flat keys of the reference server",
    "000-query-bad-cursor": "a cursor of another query is -32602",
    "000-categories-shape": (
        "categories returns name, count and lastUpdated, totalDistinct and catalogHash"
    ),
    "000-diff-current": "diff with the current hash is upToDate",
    "000-diff-known": "diff with known returns added, updated and removed",
    "000-graph-v1": (
        "graph/export without options is schema 1: bare nodes, primary and category edges"
    ),
    "000-graph-v2": (
        "graph/export with enrich is schema 2: metadata, category nodes, belongs edges, weights"
    ),
    "000-graph-order": "nodes and edges are in lexicographic order, the same at every call",
    "000-graph-edge-types": (
        "includeEdgeTypes filters before maxEdges truncates, and truncation is reported"
    ),
    "000-graph-dot": "format dot adds the DOT drawing",
    "000-graph-mermaid": "format mermaid adds front matter and flowchart TB with undirected edges",
    "000-graph-usage": "includeUsage adds current usage counts, 0 for unused entries",
    "000-graph-env": (
        "GRAPH_INCLUDE_PRIMARY_EDGES=0 and GRAPH_LARGE_CATEGORY_CAP take effect, the cap with"
        " a note"
    ),
    "000-graph-strict": "graph/export rejects unknown parameters, edge types and formats",
    "000-graph-cache": "the plain graph is cached until the catalogue changes",
    "000-capabilities-shape": "capabilities returns version, actions, switch, features and limits",
    "000-health-shape": "health returns status, uptime, catalogue, performance and disk figures",
    "000-health-degraded": "a broken file degrades health, which names it with a reason",
    "000-add-created": (
        "add returns id, hash, created, overwritten, skipped, verified, sourceHash, governanceHash"
    ),
    "000-add-exists": "add of an existing id without overwrite is skipped",
    "000-add-overwrite": "add with overwrite replaces an entry and reports it",
    "000-add-lax": "lax fills missing fields; without it they are an error",
    "000-add-missing-entry": (
        "an instruction without the entry wrapper is refused with `missing entry` and the schema"
    ),
    "000-add-missing-id": "an entry without id is refused with `missing id` and the schema",
    "000-add-semver": "a version that is not MAJOR.MINOR.PATCH is refused with invalid_semver",
    "000-add-bump": "a changed body under the same or no version gets a silent patch bump",
    "000-add-hydrate": "overwrite without body or title keeps the stored ones",
    "000-add-hydration-mismatch": (
        "overwriting an unreadable file without a body is refused with hydration_mismatch"
    ),
    "000-add-changelog": "a malformed change log is repaired",
    "000-add-owner": (
        "mandatory and critical entries need an owner; the refusal has feedbackHint and reproEntry"
    ),
    "000-import-counts": (
        "import returns hash, imported, skipped, overwritten, total, errors and processingTimeMs"
    ),
    "000-import-modes": "import skips, overwrites or merges existing ids",
    "000-import-errors": (
        "import errors have index, id, error and code, and do not stop the other entries"
    ),
    "000-import-validate": "validate=false trusts values but never ids",
    "000-import-time": "import sets the timestamps to now and computes sourceHash",
    "000-remove-shape": "remove returns removed, removedIds, missing, errorCount and errors",
    "000-remove-confirm": "removing more than 10 needs confirm; without it nothing is removed",
    "000-remove-cascade": "cascade removes dependents and lists them",
    "000-reload-shape": "reload returns reloaded, hash and count",
    "000-groom-shape": "groom returns all its counts",
    "000-groom-dry": "dryRun changes nothing and reports what would change",
    "000-groom-merge": (
        "mergeDuplicates keeps the earliest entry, with all categories, the lowest priority "
        "number and the highest risk"
    ),
    "000-groom-deprecated": (
        "removeDeprecated removes only entries whose replacement exists, and prunes their usage"
    ),
    "000-groom-scopes": "purgeLegacyScopes removes scope tokens from the files",
    "000-groom-hashes": "groom corrects stored hashes and normalises categories",
    "000-repair-hashes": "repair corrects stored hashes that do not match",
    "000-repair-diff": "repair with clientHash or known returns a diff, even while mutation is off",
    "000-enrich-shape": "enrich stores missing governance fields",
    "000-governance-update": (
        "governanceUpdate changes governance fields, bumps versions, and returns "
        "previousVersion and newVersion"
    ),
    "000-governance-flat": "governanceUpdate accepts the flat fields of the reference server",
    "000-governance-hash": (
        "governanceHash returns count, hash, algorithm, and items when asked; stable across "
        "restarts"
    ),
    "000-governance-newline": "GOV_HASH_TRAILING_NEWLINE changes the governance hash",
    "000-usage-context": (
        "usage/track with instructionId, context and metrics returns tracked, sessionId, "
        "aggregatedCount"
    ),
    "000-inspect-scopes": (
        "inspect returns raw, normalized, validation, metadata and filesystem for every scope"
    ),
    "000-batch-isolated": "batch runs every operation; a failure stays in its place",
    "000-batch-limit": "more than 100 operations are -32001",
    "000-batch-nested": "a batch inside a batch is refused",
    "000-enhanced-repair": "getEnhanced shows a hidden file, or reports why it cannot",
    "000-marker": "removing .catalog-version forces a reload",
    "000-mutation-off": "every write is -32000 while mutation is off, also inside batch",
    "000-mutation-not-gated": (
        "groom dry run, comparing repair, usage/track and feedback/submit work while mutation"
        " is off"
    ),
    "000-limit-results": "more than 1000 results are -32001",
    "000-limit-file": "a file above 2 MiB is -32001",
    "000-integrity-code": "a write whose expectedHash does not match is -32003 and changes nothing",
    "000-invalid-config": "a broken gates.json or PROMPT-CRITERIA.json is -32002",
    "000-permission": "writing without the write scope is -32004",
    "000-strict-create": "MCP_INSTRUCTIONS_STRICT_CREATE refuses overwrite of a missing id",
    "000-strict-remove": "MCP_INSTRUCTIONS_STRICT_REMOVE removes nothing when an id is missing",
    "000-canonical-disable": "MCP_CANONICAL_DISABLE hashes the body unchanged",
    "000-agent-workspace": "MCP_AGENT_ID and WORKSPACE_ID are written into new entries",
    "000-usage-env": (
        "INDEX_FEATURES, MCP_DISABLE_USAGE_RATE_LIMIT and MCP_DISABLE_USAGE_CLAMP take effect"
    ),
    "000-entry-fields": "an entry has the fields of InstructionEntry, including computed ones",
    "000-feedback": "six feedback methods: submit, list, get, update, stats, health",
    "001-list": "instructions/list returns hash, count and items; category is case-insensitive",
    "001-get": "instructions/get returns hash and item, or notFound",
    "001-search": "instructions/search finds every title and body that contains q, ignoring case",
    "001-diff-legacy": "diff with only a stale hash returns hash and changed",
    "001-source-hash": "sourceHash is sha256 of the body",
    "001-review-shape": (
        "prompt/review returns issues with ruleId, severity, description, match, and a summary"
    ),
    "001-review-extras": "each issue has a category and a remediation",
    "001-review-limit": (
        "prompts above 10,000 characters return truncated, message and max; null bytes are removed"
    ),
    "001-review-safe": (
        "a pattern that RE2 cannot run is reported with its rule, and the others run"
    ),
    "001-verify": (
        "integrity/verify returns hash, count, issues with expected and actual, issueCount"
    ),
    "001-track": "usage/track returns id, usageCount, lastUsedAt, or notFound",
    "001-hotset": "usage/hotset ranks by count, then last use; default 10, at most 100",
    "001-gates": (
        "gates/evaluate returns generatedAt, results and summary; notConfigured without a file"
    ),
    "001-entry": "entries have the fields of contract 001, categories normalised",
}

HELD: dict[str, list[str]] = {}


def promise(*ids: str) -> Callable[[F], F]:
    """Name the promises that a test checks."""

    def mark(test: F) -> F:
        for id_ in ids:
            HELD.setdefault(id_, []).append(test.__name__)
        return test

    return mark


def table() -> str:
    """Return the page with all promises."""
    lines = [
        "# Promises of the instruction contracts",
        "",
        (
            "Generated from `tests/contract/instructions/instruction_promises.py`. Each id has "
            "at least one test in that folder."
        ),
        "",
        "| id | promise |",
        "|---|---|",
    ]
    return "\n".join([*lines, *(f"| {id_} | {text} |" for id_, text in PROMISES.items())]) + "\n"


if __name__ == "__main__":
    TABLE.parent.mkdir(parents=True, exist_ok=True)
    TABLE.write_text(table(), encoding="utf-8")
