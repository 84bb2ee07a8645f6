"""Looking at the catalogue itself: capabilities, health, deep inspection, usage answers."""

from __future__ import annotations

import os
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import orjson

from commonplace.instructions.engine.entry import ENTRY_SCHEMA
from commonplace.instructions.engine.hashing import governance_record, hash_body
from commonplace.instructions.engine.normalise import parse_time
from commonplace.instructions.engine.usage import Use
from commonplace.instructions.model import UNOWNED, WARN_BODY_CHARS, Rejection, is_valid_id
from commonplace.instructions.service import Service
from commonplace.instructions.usecases.unreadable import unknown_fields, unreadable_values
from commonplace.kernel.clock import iso
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.disk.access import require_writable

PROTOCOL_VERSION = "2025-11-25"
HOTSET_DEFAULT, HOTSET_MAX = 10, 100
GROUPED = ("status", "priorityTier", "requirement", "owner", "classification")
REVIEWED = (
    "id",
    "title",
    "owner",
    "status",
    "priorityTier",
    "lastReviewedAt",
    "nextReviewDue",
    "version",
    "sourceHash",
)
MAX_GROUPS = 50


def capabilities(service: Service, actions: Sequence[str]) -> dict[str, Any]:
    return {
        "version": service.version,
        "protocolVersion": PROTOCOL_VERSION,
        "supportedActions": list(actions),
        "mutationEnabled": service.mutation_enabled(),
        "features": {
            "advancedQuery": True,
            "bulkOperations": True,
            "governanceTracking": True,
            "usageAnalytics": service.settings.usage_enabled,
        },
        "limits": service.limits(),
    }


def health(service: Service) -> dict[str, Any]:
    """Degraded: files that cannot be served, drift, broken configuration, or writes refused.

    Unhealthy: the folder cannot be read.
    """
    directory = service.shelf.directory.path
    readable = os.access(directory, os.R_OK | os.X_OK) if directory.exists() else True
    with service.shelf.lock:
        catalogue = service.shelf.fresh()
        stats = {
            "totalInstructions": len(catalogue),
            "totalCategories": len(catalogue.facet("categories")),
            "lastModified": catalogue.last_modified(),
            "integrityHash": catalogue.hash,
        }
        broken = _broken(service)
    entries, _ = service.shelf.snapshot()
    drifted = [entry.id for entry in entries if entry.drifted]
    unreadable = unreadable_values(service, entries)
    folders = service.shelf.directory.folders()
    size = sum(stamp[1] for _, stamp in service.shelf.directory.stamps())
    problems = service.configuration.problems()
    refused = _refused_write(service)
    requests = service.request_stats()
    answer: dict[str, Any] = {
        "status": _status(readable, bool(broken or drifted or unreadable or problems or refused)),
        "version": service.version,
        "uptime": round(time.monotonic() - service.started, 3),
        "catalogStats": stats,
        "performance": {
            "avgResponseTime": round(float(requests.get("avgResponseTime", 0.0)), 3),
            "requestCount": int(requests.get("requestCount", 0)),
            "errorRate": round(float(requests.get("errorRate", 0.0)), 6),
        },
        "diskUsage": {"totalSize": size, "availableSpace": _available(service)},
    }
    if broken:
        answer["rejectedFiles"] = [_rejection(item) for item in broken[:50]]
        answer["rejectedCount"] = len(broken)
    if drifted:
        answer["drifted"] = drifted[:50]
    if unreadable:
        answer["unreadableValues"] = unreadable[:50]
        answer["unreadableCount"] = len(unreadable)
    if folders:
        answer["ignoredFolders"] = folders[:50]
    if problems:
        answer["configurationProblems"] = problems
    if refused:
        answer["writeProblem"] = refused
    return answer


def _status(readable: bool, problems: bool) -> str:
    if not readable:
        return "unhealthy"
    return "degraded" if problems else "healthy"


def doctor(service: Service) -> list[dict[str, str]]:
    """What an operator should know of the catalogue."""
    found = health(service)
    count = found["catalogStats"]["totalInstructions"]
    checks = [
        {
            "name": "instructions",
            "status": "ok",
            "finding": f"{count} instructions, {found['status']}",
            "fix": "",
        }
    ]
    for key, what, fix in (
        (
            "rejectedFiles",
            "files cannot be served",
            "commonplace instructions lint says why, file by file.",
        ),
        (
            "unreadableValues",
            "values in files cannot be read",
            "commonplace instructions lint names them; correct the files.",
        ),
        (
            "ignoredFolders",
            "subfolders are not read",
            "Move their files into the instruction folder itself.",
        ),
        (
            "drifted",
            "bodies differ from their stored hash",
            "commonplace instructions groom corrects the hashes.",
        ),
        (
            "configurationProblems",
            "problems in gates or prompt criteria",
            "commonplace instructions lint names them.",
        ),
    ):
        if found.get(key):
            checks.append(
                {
                    "name": "instructions",
                    "status": "warn",
                    "finding": f"{len(found[key])} {what}",
                    "fix": fix,
                }
            )
    return checks


def _refused_write(service: Service) -> str:
    """Why a change would be refused now; empty where the folder, or the one it will be made in,
    takes a file.
    """
    path = service.shelf.directory.path
    folder = path if path.exists() else path.parent
    try:
        if folder.exists():
            require_writable(folder)
    except CommonplaceError as refused:
        return refused.code.name
    return ""


def _broken(service: Service) -> list[Rejection]:
    """Files that should have been instructions; configuration and templates are not."""
    skipped = ("non-instruction-config", "template", "governance-denylist")
    return sorted(
        (item for item in service.shelf.rejections.values() if item.reason not in skipped),
        key=lambda item: item.file,
    )


def _rejection(item: Rejection) -> dict[str, str]:
    return {"file": item.file, "reason": item.reason, "detail": item.detail}


def _available(service: Service) -> int:
    path = service.shelf.directory.path
    try:
        return shutil.disk_usage(path if path.exists() else path.parent).free
    except OSError:
        return 0


def reviews(service: Service, before: str | None, limit: int, offset: int) -> dict[str, Any]:
    """What is due for review, longest overdue first, and how the catalogue divides."""
    until = before or service.now()
    documents = [entry.document for entry in service.shelf.snapshot()[0]]
    latest = parse_time(until) or 0.0
    moments = ((parse_time(one.get("nextReviewDue")), str(one["id"])) for one in documents)
    due = sorted((moment, id_) for moment, id_ in moments if moment is not None and moment < latest)
    by_id = {str(one["id"]): one for one in documents} if due else {}
    items = [
        {name: by_id[id_].get(name) for name in REVIEWED if by_id[id_].get(name) is not None}
        for _, id_ in due[offset : offset + limit]
    ]
    counts = {
        name: dict(
            Counter(str(one.get(name) or "(none)") for one in documents).most_common(MAX_GROUPS)
        )
        for name in GROUPED
    }
    return {
        "total": len(documents),
        "due": len(due),
        "before": until,
        "items": items,
        "counts": counts,
    }


def inspect(service: Service, scope: str, id_: str | None) -> dict[str, Any]:
    """Contract 000's deep look. With an id, every scope is about that instruction."""
    view = {
        "catalog": _catalog,
        "instruction": _instruction,
        "governance": _governance,
        "usage": _usage,
    }[scope]
    answer: dict[str, Any] = {
        "timestamp": service.now(),
        "scope": scope,
        "data": view(service, id_),
    }
    if id_ is not None:
        answer["id"] = id_[:200]
    return answer


def _sections(
    raw: Any, normalized: Any, validation: Any, metadata: Any, filesystem: Any
) -> dict[str, Any]:
    return {
        "raw": raw,
        "normalized": normalized,
        "validation": validation,
        "metadata": metadata,
        "filesystem": filesystem,
    }


def _catalog(service: Service, id_: str | None) -> dict[str, Any]:
    if id_ is not None:
        return _instruction(service, id_)
    files = list(service.shelf.directory.stamps())
    with service.shelf.lock:
        catalogue = service.shelf.fresh()
        normalized = {
            "count": len(catalogue),
            "hash": catalogue.hash,
            "categories": len(catalogue.facet("categories")),
        }
        rejected = sorted(service.shelf.rejections.values(), key=lambda item: item.file)
        modified = catalogue.last_modified()
        entries = list(catalogue)
    salvaged = Counter(field for entry in entries for field in entry.salvaged)
    validation = {
        "accepted": len(entries),
        "rejected": [_rejection(item) for item in rejected[:500]],
        "rejectedCount": len(rejected),
        "salvaged": dict(salvaged),
        "salvagedCount": salvaged.total(),
        "drifted": [entry.id for entry in entries if entry.drifted][:500],
        "unreadable": unreadable_values(service, entries),
        "unknownFields": unknown_fields(entries),
        "configuration": service.configuration.problems(),
    }
    metadata = {
        "lastModified": modified,
        "searchIndex": service.searchable,
        "counters": dict(service.counters),
    }
    return _sections(
        {"files": len(files)},
        normalized,
        validation,
        metadata,
        _folder(service, sum(stamp[1] for _, stamp in files)),
    )


def _folder(service: Service, size: int) -> dict[str, Any]:
    path = service.shelf.directory.path
    return {
        "directory": path.name,
        "exists": path.exists(),
        "writable": os.access(path if path.exists() else path.parent, os.W_OK),
        "totalSize": size,
        "availableSpace": _available(service),
        "ignoredFolders": service.shelf.directory.folders()[:50],
    }


def _instruction(service: Service, id_: str | None) -> dict[str, Any]:
    if id_ is None or not is_valid_id(id_):
        reason = "an id is needed for this scope" if id_ is None else "not a valid id"
        return _sections(None, None, {"valid": False, "issues": [reason]}, {}, {"exists": False})
    directory = service.shelf.directory
    reading = directory.read(f"{id_}.json")
    content = directory.read_bytes(id_)
    raw: Any = None
    if content is not None:
        try:
            raw = orjson.loads(content.removeprefix(b"\xef\xbb\xbf"))
            orjson.dumps(raw)
        except (
            orjson.JSONDecodeError,
            TypeError,
        ):  # no JSON, or so deep that it can be read and not shown
            raw = {"text": content[:2000].decode(errors="replace")}
    with service.shelf.lock:
        entry = service.shelf.fresh().get(id_)
        shown = service.show(entry) if entry else None
    issues = (
        [f"{reading.rejection.reason}: {reading.rejection.detail}"] if reading.rejection else []
    )
    if reading.stamp is None:
        issues.append(f"there is no file {id_}.json")
    warnings: list[str] = []
    found = reading.instruction
    if found is not None:
        if found.drifted:
            issues.append("sourceHash does not match the body; run repair")
        if len(found.document["body"]) > WARN_BODY_CHARS:
            warnings.append(
                f"the body has {len(found.document['body'])} characters; agents read shorter "
                f"rules better"
            )
        warnings += [
            f"{line['field']}: {line['problem']}"
            for line in (*unreadable_values(service, [found]), *unknown_fields([found]))
        ]
    metadata: dict[str, Any] = {
        "inCatalog": entry is not None,
        "schema": {"fields": sorted(ENTRY_SCHEMA["properties"])},
    }
    if found is not None:
        metadata |= {
            "computedSourceHash": hash_body(found.document["body"]),
            "storedSourceHash": found.stored_hash,
            "governanceHash": found.governance_hash,
            "history": len(service.shelf.history.changes(id_)),
        }
    validation = {
        "valid": found is not None and not issues,
        "issues": issues,
        "warnings": warnings,
        "salvaged": list(found.salvaged) if found else [],
    }
    filesystem: dict[str, Any] = {"file": f"{id_}.json", "exists": reading.stamp is not None}
    if reading.stamp is not None:
        filesystem |= {
            "size": reading.stamp[1],
            "modifiedAt": iso(datetime.fromtimestamp(reading.stamp[0] / 1e9, UTC)),
        }
    return _sections(raw, shown, validation, metadata, filesystem)


def _governance(service: Service, id_: str | None) -> dict[str, Any]:
    everything, _ = service.shelf.snapshot()
    entries = [entry for entry in everything if id_ is None or entry.id == id_]
    now = parse_time(service.now()) or 0.0
    overdue = [
        entry.id
        for entry in entries
        if (parse_time(entry.document.get("nextReviewDue")) or now) < now
    ]
    unowned = [entry.id for entry in entries if entry.document["owner"] == UNOWNED]
    tally = {
        field: dict(sorted(Counter(entry.document[field] for entry in entries).items()))
        for field in GROUPED
    }
    return _sections(
        {"records": [governance_record(entry.document) for entry in entries[:1000]]},
        tally,
        {"overdueReviews": overdue[:500], "unowned": unowned[:500], "valid": not overdue},
        {"governanceHash": service.governance_of(everything), "count": len(entries)},
        _folder(service, 0),
    )


def _usage(service: Service, id_: str | None) -> dict[str, Any]:
    counts = {known: count for known, count in service.usage.all() if id_ is None or known == id_}
    with service.shelf.lock:
        present = service.shelf.fresh().entries
        orphans = sorted(known for known in counts if known not in present)
    details = service.usage.details() if service.settings.usage_enabled else {}
    listed = {
        known: {
            "usageCount": count.total,
            "firstSeenTs": count.first_seen,
            "lastUsedAt": count.last_used,
            **details.get(known, {}),
        }
        for known, count in sorted(counts.items())[:1000]
    }
    return _sections(
        listed,
        {"totalUses": sum(count.total for count in counts.values()), "tracked": len(counts)},
        {"orphans": orphans[:500], "valid": not orphans},
        {
            "enabled": service.settings.usage_enabled,
            "pending": sum(count.pending for count in counts.values()),
        },
        {"file": "usage-snapshot.json"},
    )


def track(service: Service, id_: str, use: Use | None = None) -> dict[str, Any]:
    """Contract 001's shape."""
    if not service.settings.usage_enabled:
        return {"featureDisabled": True}
    with service.shelf.lock:
        known = service.shelf.fresh().get(id_) is not None
    if not known:
        return {"notFound": True, "id": id_[:200]}
    count, counted = service.usage.track(id_, use)
    answer: dict[str, Any] = {"id": id_, "usageCount": count.total, "lastUsedAt": count.last_used}
    if not counted:
        answer["rateLimited"] = True
    return answer


def track_with_context(
    service: Service, id_: str, context: Mapping[str, Any], metrics: Mapping[str, Any]
) -> dict[str, Any]:
    """Contract 000's shape."""
    session = str(context.get("sessionId") or "")
    if not service.settings.usage_enabled:
        return {
            "tracked": False,
            "sessionId": session,
            "aggregatedCount": 0,
            "featureDisabled": True,
        }
    answer = track(service, id_, Use(context, metrics))
    if answer.get("notFound"):
        return {"tracked": False, "sessionId": session, "aggregatedCount": 0, "notFound": True}
    service.trace("usage", {"id": id_, "context": dict(context), "metrics": dict(metrics)})
    shaped: dict[str, Any] = {
        "tracked": not answer.get("rateLimited", False),
        "sessionId": session,
        "aggregatedCount": answer["usageCount"],
    }
    if answer.get("rateLimited"):
        shaped["rateLimited"] = True
    return shaped


def hotset(service: Service, limit: int) -> dict[str, Any]:
    bounded = max(1, min(limit, HOTSET_MAX))
    counts = service.usage.all()
    with service.shelf.lock:
        catalogue = service.shelf.fresh()
        ranked = sorted(
            (
                (count.total, count.last_used, id_)
                for id_, count in counts
                if id_ in catalogue.entries
            ),
            key=lambda item: (-item[0], _descending(item[1]), item[2]),
        )
        items = [
            {"id": id_, "usageCount": total, "lastUsedAt": last}
            for total, last, id_ in ranked[:bounded]
        ]
        return {"hash": catalogue.hash, "count": len(items), "limit": bounded, "items": items}


def _descending(text: str) -> tuple[int, ...]:
    return tuple(-ord(character) for character in text)
