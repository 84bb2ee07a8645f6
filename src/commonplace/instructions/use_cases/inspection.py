"""Health, diagnostics and detailed inspection of the catalogue."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

from commonplace.instructions.engine.codec import decode_any
from commonplace.instructions.engine.hashing import hash_body
from commonplace.instructions.engine.times import parse_time
from commonplace.instructions.engine.unreadable import unknown_fields, unreadable_values
from commonplace.instructions.fields import UNOWNED, WARN_BODY_CHARS, is_valid_id
from commonplace.instructions.model import Instruction, Rejection, StoredEntry
from commonplace.instructions.results.analysis import (
    CatalogueHealth,
    CatalogueInspection,
    GovernanceInspection,
    InstructionInspection,
    UsageCounter,
    UsageInspection,
)
from commonplace.instructions.results.writing import CatalogueState
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.instructions.use_cases.governance import COUNTED_FIELDS
from commonplace.instructions.use_cases.maintenance import read_stored
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.json.document import Document

NOT_INSTRUCTIONS = ("non-instruction-config", "template", "governance-denylist")


def check_health(parts: CatalogueParts, started: float) -> CatalogueHealth:
    """Examine catalogue and storage; `started` is the monotonic time of the start."""
    store = parts.store
    with store.lock:
        catalogue = store.current()
        state = CatalogueState(catalogue.hash, len(catalogue))
        categories = len(catalogue.facet("categories"))
        modified = catalogue.last_modified()
        rejected = _broken_files(store)
    entries, _ = store.snapshot()
    return CatalogueHealth(
        count=state.count,
        categories=categories,
        last_modified=modified,
        catalogue_hash=state.catalogue_hash,
        uptime_seconds=round(time.monotonic() - started, 3),
        requests=parts.request_stats(),
        storage=store.status(),
        rejected=rejected,
        drifted=[entry.id for entry in entries if entry.drifted],
        unreadable=unreadable_values(entries, lambda id_: read_stored(parts, id_)),
        configuration_problems=parts.configuration.problems(),
    )


def _broken_files(store: CatalogueStore) -> list[Rejection]:
    """Return the rejected files that should have been instructions."""
    return [item for item in store.rejections() if item.reason not in NOT_INSTRUCTIONS]


def diagnose(health: CatalogueHealth) -> list[dict[str, str]]:
    """Return the findings that `commonplace doctor` prints."""
    finding = f"{health.count} instructions, {health.status}"
    checks = [{"name": "instructions", "status": "ok", "finding": finding, "fix": ""}]
    for count, what, fix in (
        (
            len(health.rejected[:50]),
            "files cannot be served",
            "commonplace instructions lint says why, file by file.",
        ),
        (
            len(health.unreadable[:50]),
            "values in files cannot be read",
            "commonplace instructions lint names them; correct the files.",
        ),
        (
            len(health.storage.ignored_folders[:50]),
            "subfolders are not read",
            "Move their files into the instruction folder itself.",
        ),
        (
            len(health.drifted[:50]),
            "bodies differ from their stored hash",
            "commonplace instructions groom corrects the hashes.",
        ),
        (
            len(health.configuration_problems),
            "problems in gates or prompt criteria",
            "commonplace instructions lint names them.",
        ),
    ):
        if count:
            finding = f"{count} {what}"
            checks.append(
                {"name": "instructions", "status": "warn", "finding": finding, "fix": fix}
            )
    return checks


def inspect_catalogue(
    parts: CatalogueParts, searchable: bool, counters: Mapping[str, int]
) -> CatalogueInspection:
    """Return details of the whole catalogue."""
    store = parts.store
    with store.lock:
        catalogue = store.current()
        state = CatalogueState(catalogue.hash, len(catalogue))
        categories = len(catalogue.facet("categories"))
        rejected = store.rejections()
        modified = catalogue.last_modified()
        entries = list(catalogue)
    return CatalogueInspection(
        state=state,
        categories=categories,
        last_modified=modified,
        rejected=rejected,
        salvaged=Counter(field for entry in entries for field in entry.salvaged),
        drifted=[entry.id for entry in entries if entry.drifted],
        unreadable=unreadable_values(entries, lambda id_: read_stored(parts, id_)),
        unknown_fields=unknown_fields(entries),
        configuration_problems=parts.configuration.problems(),
        searchable=searchable,
        counters=dict(counters),
        storage=store.status(),
    )


def inspect_instruction(
    parts: CatalogueParts, id_: str | None, shown: Document | None
) -> InstructionInspection:
    """Return details of one instruction; `shown` is its document in the catalogue."""
    if id_ is None or not is_valid_id(id_):
        reason = "an id is needed for this scope" if id_ is None else "not a valid id"
        return InstructionInspection(None, StoredEntry(None), None, None, [reason], [], None, 0)
    stored = parts.store.read(id_)
    issues = [f"{stored.rejection.reason}: {stored.rejection.detail}"] if stored.rejection else []
    if stored.stamp is None:
        issues.append(f"there is no file {id_}.json")
    warnings: list[str] = []
    entry = stored.instruction
    if entry is not None:
        if entry.drifted:
            issues.append("sourceHash does not match the body; run repair")
        warnings = _warnings(parts, entry)
    return InstructionInspection(
        id_,
        stored,
        decode_any(parts.store.read_bytes(id_)),
        shown,
        issues,
        warnings,
        hash_body(entry.document["body"]) if entry is not None else None,
        len(parts.store.history(id_)) if entry is not None else 0,
    )


def _warnings(parts: CatalogueParts, entry: Instruction) -> list[str]:
    warnings = []
    length = len(entry.document["body"])
    if length > WARN_BODY_CHARS:
        warnings.append(f"the body has {length} characters; agents read shorter rules better")
    problems = (
        *unreadable_values([entry], lambda id_: read_stored(parts, id_)),
        *unknown_fields([entry]),
    )
    return warnings + [f"{problem.field}: {problem.problem}" for problem in problems]


def inspect_governance(parts: CatalogueParts, id_: str | None, digest: str) -> GovernanceInspection:
    """Return governance details of all instructions, or of one."""
    everything, _ = parts.store.snapshot()
    entries = [entry for entry in everything if id_ is None or entry.id == id_]
    now = parse_time(parts.now()) or 0.0
    return GovernanceInspection(
        entries=entries,
        counts={
            field: dict(sorted(Counter(entry.document[field] for entry in entries).items()))
            for field in COUNTED_FIELDS
        },
        overdue=[
            entry.id
            for entry in entries
            if (parse_time(entry.document.get("nextReviewDue")) or now) < now
        ],
        unowned=[entry.id for entry in entries if entry.document["owner"] == UNOWNED],
        digest=digest,
        storage=parts.store.status(),
    )


def inspect_usage(parts: CatalogueParts, id_: str | None) -> UsageInspection:
    """Return the usage counters of all instructions, or of one."""
    counts = {known: count for known, count in parts.usage.all() if id_ is None or known == id_}
    with parts.store.lock:
        present = parts.store.current().entries
        orphans = sorted(known for known in counts if known not in present)
    enabled = parts.settings.usage_enabled
    details = parts.usage.details() if enabled else {}
    return UsageInspection(
        counters={
            known: UsageCounter(
                count.total, count.first_seen, count.last_used, details.get(known, {})
            )
            for known, count in sorted(counts.items())
        },
        total=sum(count.total for count in counts.values()),
        pending=sum(count.pending for count in counts.values()),
        orphans=orphans,
        enabled=enabled,
    )
