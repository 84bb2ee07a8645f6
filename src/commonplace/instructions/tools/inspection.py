"""Tools that describe the catalogue itself: capabilities, health and inspection."""

from __future__ import annotations

from typing import Literal, NotRequired

from pydantic import Field
from typing_extensions import TypedDict

from commonplace import __version__
from commonplace.dispatch.tool import Context, Nothing, Tier, Tool
from commonplace.instructions.engine.entry.schema import ENTRY_PROPERTIES
from commonplace.instructions.engine.hashing import governance_record
from commonplace.instructions.engine.times import from_timestamp
from commonplace.instructions.fields import MAX_BATCH, MAX_FILE_BYTES, MAX_RESULTS
from commonplace.instructions.model import StorageStatus
from commonplace.instructions.names import ACTIONS
from commonplace.instructions.results.analysis import (
    CatalogueHealth,
    CatalogueInspection,
    GovernanceInspection,
    Inspection,
    InstructionInspection,
    UsageInspection,
)
from commonplace.instructions.service import InspectionScope, InstructionsService
from commonplace.instructions.tools.compact import MAX_LINES, cut_body, cut_lists
from commonplace.instructions.tools.shapes import (
    Answer,
    FullInput,
    inline,
    show_problem,
    show_rejection,
    threaded,
)
from commonplace.kernel.json_types import Json, JsonObject

PROTOCOL_VERSION = "2025-11-25"
SHOWN_PROBLEMS = 50
SHOWN_IDS = 500
SHOWN_RECORDS = 1000
LONG_LISTS = {
    "raw": (10, ("records",)),
    "validation": (
        50,
        (
            "rejected",
            "drifted",
            "overdueReviews",
            "unowned",
            "orphans",
            "unreadable",
            "unknownFields",
        ),
    ),
}


def tools(service: InstructionsService) -> tuple[Tool, ...]:
    """Return the tools of this module."""
    return capabilities_tool(service), health_tool(service), inspect_tool(service)


class InstructionCapabilitiesOutput(TypedDict):
    version: str
    protocolVersion: str
    supportedActions: list[str]
    mutationEnabled: bool
    features: dict[str, bool]
    limits: dict[str, int]


def capabilities_tool(service: InstructionsService) -> Tool:
    """`instructions_capabilities`"""

    def handle(ctx: Context, args: Nothing) -> Answer:
        return {
            "version": __version__,
            "protocolVersion": PROTOCOL_VERSION,
            "supportedActions": list(ACTIONS),
            "mutationEnabled": ctx.mutation_enabled(),
            "features": {
                "advancedQuery": True,
                "bulkOperations": True,
                "governanceTracking": True,
                "usageAnalytics": service.usage_enabled,
            },
            "limits": {
                "maxBatchSize": MAX_BATCH,
                "maxQueryResults": MAX_RESULTS,
                "maxFileSize": MAX_FILE_BYTES,
            },
        }

    return Tool(
        name="instructions_capabilities",
        toolset="instructions",
        title="What the catalogue can do",
        description="Actions, features, limits and whether writing is enabled.",
        input=Nothing,
        output=InstructionCapabilitiesOutput,
        handler=inline(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/capabilities",),
    )


class InstructionHealthOutput(TypedDict):
    status: str
    version: str
    uptime: float
    catalogStats: JsonObject
    performance: JsonObject
    diskUsage: dict[str, int]
    rejectedFiles: NotRequired[list[dict[str, str]]]
    rejectedCount: NotRequired[int]
    drifted: NotRequired[list[str]]
    unreadableValues: NotRequired[list[dict[str, str]]]
    unreadableCount: NotRequired[int]
    ignoredFolders: NotRequired[list[str]]
    configurationProblems: NotRequired[dict[str, str]]
    writeProblem: NotRequired[str]


def health_tool(service: InstructionsService) -> Tool:
    """`instructions_health`"""

    def handle(ctx: Context, args: Nothing) -> Answer:
        return _show_health(service.health(ctx.auth))

    return Tool(
        name="instructions_health",
        toolset="instructions",
        title="Health of the catalogue",
        description="Status, figures, files that could not be loaded and why, disk space.",
        input=Nothing,
        output=InstructionHealthOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/health",),
    )


def _show_health(health: CatalogueHealth) -> JsonObject:
    answer: JsonObject = {
        "status": health.status,
        "version": __version__,
        "uptime": health.uptime_seconds,
        "catalogStats": {
            "totalInstructions": health.count,
            "totalCategories": health.categories,
            "lastModified": health.last_modified,
            "integrityHash": health.catalogue_hash,
        },
        "performance": {
            "avgResponseTime": round(health.requests.average_ms, 3),
            "requestCount": health.requests.count,
            "errorRate": round(health.requests.error_rate, 6),
        },
        "diskUsage": {
            "totalSize": health.storage.total_size,
            "availableSpace": health.storage.available_space,
        },
    }
    if health.rejected:
        answer["rejectedFiles"] = list(map(show_rejection, health.rejected[:SHOWN_PROBLEMS]))
        answer["rejectedCount"] = len(health.rejected)
    if health.drifted:
        answer["drifted"] = health.drifted[:SHOWN_PROBLEMS]
    if health.unreadable:
        answer["unreadableValues"] = list(map(show_problem, health.unreadable[:SHOWN_PROBLEMS]))
        answer["unreadableCount"] = len(health.unreadable)
    if health.storage.ignored_folders:
        answer["ignoredFolders"] = list(health.storage.ignored_folders[:SHOWN_PROBLEMS])
    if health.configuration_problems:
        answer["configurationProblems"] = health.configuration_problems
    if health.storage.write_problem:
        answer["writeProblem"] = health.storage.write_problem
    return answer


class InstructionInspectInput(FullInput):
    id: str | None = Field(default=None, max_length=400, description="One instruction.")
    scope: Literal["catalog", "instruction", "governance", "usage"] | None = Field(
        default=None, description="What to look at; instruction when an id is given, else catalog."
    )


class InstructionInspectOutput(TypedDict):
    timestamp: str
    scope: str
    data: JsonObject
    id: NotRequired[str]
    note: NotRequired[str]


def inspect_tool(service: InstructionsService) -> Tool:
    """`instructions_inspect`"""

    def handle(ctx: Context, args: InstructionInspectInput) -> Answer:
        default: InspectionScope = "instruction" if args.id is not None else "catalog"
        scope = args.scope or default
        found = service.inspect(ctx.auth, scope, args.id)
        answer: JsonObject = {
            "timestamp": service.now(),
            "scope": scope,
            "data": _show_inspection(found),
        }
        if args.id is not None:
            answer["id"] = args.id[:200]
        return answer if not ctx.compact or args.full else _cut_inspection(answer)

    return Tool(
        name="instructions_inspect",
        toolset="instructions",
        title="Inspect in depth",
        description="Raw and normalised form, validation, metadata and file of an "
        "instruction, or of the whole catalogue.",
        input=InstructionInspectInput,
        output=InstructionInspectOutput,
        handler=threaded(service, handle),
        tier=Tier.EXTENDED,
        bare=("instructions/inspect",),
    )


def _show_inspection(found: Inspection) -> JsonObject:
    match found:
        case CatalogueInspection():
            return _show_catalogue(found)
        case InstructionInspection():
            return _show_instruction(found)
        case GovernanceInspection():
            return _show_governance(found)
        case UsageInspection():
            return _show_usage(found)


def _sections(
    raw: Json, normalized: Json, validation: Json, metadata: Json, filesystem: Json
) -> JsonObject:
    return {
        "raw": raw,
        "normalized": normalized,
        "validation": validation,
        "metadata": metadata,
        "filesystem": filesystem,
    }


def _show_catalogue(found: CatalogueInspection) -> JsonObject:
    return _sections(
        {"files": found.storage.file_count},
        {
            "count": found.state.count,
            "hash": found.state.catalogue_hash,
            "categories": found.categories,
        },
        {
            "accepted": found.state.count,
            "rejected": list(map(show_rejection, found.rejected[:SHOWN_IDS])),
            "rejectedCount": len(found.rejected),
            "salvaged": dict(found.salvaged),
            "salvagedCount": sum(found.salvaged.values()),
            "drifted": found.drifted[:SHOWN_IDS],
            "unreadable": list(map(show_problem, found.unreadable)),
            "unknownFields": list(map(show_problem, found.unknown_fields)),
            "configuration": found.configuration_problems,
        },
        {
            "lastModified": found.last_modified,
            "searchIndex": found.searchable,
            "counters": dict(found.counters),
        },
        _show_storage(found.storage),
    )


def _show_storage(storage: StorageStatus) -> JsonObject:
    return {
        "directory": storage.name,
        "exists": storage.exists,
        "writable": storage.writable,
        "totalSize": storage.total_size,
        "availableSpace": storage.available_space,
        "ignoredFolders": list(storage.ignored_folders[:SHOWN_PROBLEMS]),
    }


def _show_instruction(found: InstructionInspection) -> JsonObject:
    if found.id is None:
        validation: JsonObject = {"valid": False, "issues": found.issues}
        return _sections(None, None, validation, {}, {"exists": False})
    entry, stamp = found.stored.instruction, found.stored.stamp
    metadata: JsonObject = {
        "inCatalog": found.shown is not None,
        "schema": {"fields": sorted(ENTRY_PROPERTIES)},
    }
    if entry is not None:
        metadata |= {
            "computedSourceHash": found.computed_hash,
            "storedSourceHash": entry.stored_hash,
            "governanceHash": entry.governance_hash,
            "history": found.history_length,
        }
    validation = {
        "valid": entry is not None and not found.issues,
        "issues": found.issues,
        "warnings": found.warnings,
        "salvaged": list(entry.salvaged) if entry else [],
    }
    filesystem: JsonObject = {"file": f"{found.id}.json", "exists": stamp is not None}
    if stamp is not None:
        filesystem |= {"size": stamp[1], "modifiedAt": from_timestamp(stamp[0] / 1e9)}
    return _sections(found.raw, found.shown, validation, metadata, filesystem)


def _show_governance(found: GovernanceInspection) -> JsonObject:
    records = [governance_record(entry.document) for entry in found.entries[:SHOWN_RECORDS]]
    return _sections(
        {"records": records},
        found.counts,
        {
            "overdueReviews": found.overdue[:SHOWN_IDS],
            "unowned": found.unowned[:SHOWN_IDS],
            "valid": not found.overdue,
        },
        {"governanceHash": found.digest, "count": len(found.entries)},
        _show_storage(found.storage),
    )


def _show_usage(found: UsageInspection) -> JsonObject:
    counters = {
        id_: {
            "usageCount": counter.total,
            "firstSeenTs": counter.first_seen,
            "lastUsedAt": counter.last_used,
            **counter.details,
        }
        for id_, counter in list(found.counters.items())[:SHOWN_RECORDS]
    }
    return _sections(
        counters,
        {"totalUses": found.total, "tracked": len(found.counters)},
        {"orphans": found.orphans[:SHOWN_IDS], "valid": not found.orphans},
        {"enabled": found.enabled, "pending": found.pending},
        {"file": "usage-snapshot.json"},
    )


def _cut_inspection(answer: JsonObject) -> JsonObject:
    """Shorten the lists of an inspection, and replace long bodies by snippets."""
    data = dict(answer["data"])
    notes: list[str] = []
    for section, (limit, names) in LONG_LISTS.items():
        if isinstance(data[section], dict):
            lists = [name for name in names if isinstance(data[section].get(name), list)]
            shorter = dict(cut_lists(data[section], lists, "", limit))
            notes += [shorter.pop("note")] if "note" in shorter else []
            data[section] = shorter
    for section in ("raw", "normalized"):
        shown = cut_body(data[section])
        if shown is not data[section]:
            notes.append(f"A snippet stands for the body in {section}.")
        data[section] = shown
    if answer["scope"] == "usage" and len(data["raw"]) > MAX_LINES:
        notes.append(f"{MAX_LINES} of {len(data['raw'])} counters are shown.")
        data["raw"] = dict(list(data["raw"].items())[:MAX_LINES])
    if not notes:
        return answer
    return {**answer, "data": data, "note": " ".join([*notes, "Set full for everything."])}
