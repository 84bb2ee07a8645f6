"""What grooming would change: hashes, categories, duplicates, deprecated entries, legacy scopes. Plans only; the service writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from commonplace.instructions.engine.normalise import parse_time
from commonplace.instructions.model import UNCATEGORIZED, Instruction, stored_form


@dataclass(frozen=True, slots=True)
class GroomMode:
    dry_run: bool = False
    merge_duplicates: bool = False
    remove_deprecated: bool = False
    normalize_categories: bool = True
    purge_legacy_scopes: bool = False
    update_hashes: bool = True


@dataclass(slots=True)
class GroomPlan:
    """Documents to write and ids to remove, with the counts contract 000 reports."""

    rewrites: dict[str, dict[str, Any]] = field(default_factory=dict)
    removals: list[str] = field(default_factory=list)
    scanned: int = 0
    repaired_hashes: int = 0
    normalized_categories: int = 0
    deprecated_removed: int = 0
    duplicates_merged: int = 0
    purged_scopes: int = 0

    def document(self, entry: Instruction) -> dict[str, Any]:
        if entry.id not in self.rewrites:
            self.rewrites[entry.id] = stored_form(entry.document)
        return self.rewrites[entry.id]


def plan(entries: Iterable[Instruction], stored: Mapping[str, Mapping[str, Any]], mode: GroomMode) -> GroomPlan:
    """`stored` are the documents as they stand in the files: normalisation on load hides what needs mending there."""
    groomed = GroomPlan()
    catalogue = {entry.id: entry for entry in entries}
    groomed.scanned = len(catalogue)
    for entry in catalogue.values():
        _mend(entry, stored.get(entry.id, {}), mode, groomed)
    if mode.merge_duplicates:
        _merge(catalogue, mode, groomed)
    if mode.remove_deprecated:
        _remove_deprecated(catalogue, groomed)
    for id_ in groomed.removals:
        groomed.rewrites.pop(id_, None)
    return groomed


def _mend(entry: Instruction, raw: Mapping[str, Any], mode: GroomMode, groomed: GroomPlan) -> None:
    if mode.update_hashes and (entry.stored_hash is None or entry.drifted):
        groomed.repaired_hashes += 1
        groomed.document(entry)
    given = raw.get("categories")
    written = [item for item in given if isinstance(item, str)] if isinstance(given, list) else []
    scopes = [item for item in written if item.strip().lower().startswith("scope:")]
    if scopes and mode.purge_legacy_scopes:
        groomed.purged_scopes += len(scopes)
        groomed.document(entry)
    others = [item for item in written if item not in scopes]
    wanted = [item for item in entry.document["categories"] if item != UNCATEGORIZED or UNCATEGORIZED in others]
    if mode.normalize_categories and others != wanted:
        groomed.normalized_categories += 1
        groomed.document(entry)


def _age(entry: Instruction) -> tuple[float, str]:
    return parse_time(entry.document["createdAt"]) or 0.0, entry.id


def _merge(catalogue: Mapping[str, Instruction], mode: GroomMode, groomed: GroomPlan) -> None:
    """One primary per body: the earliest, then the smallest id. It takes the strictest priority, the highest risk, all categories."""
    groups: dict[str, list[Instruction]] = {}
    for entry in catalogue.values():
        groups.setdefault(entry.source_hash, []).append(entry)
    for group in groups.values():
        if len(group) < 2:
            continue
        primary, *others = sorted(group, key=_age)
        others = [entry for entry in others if entry.document.get("deprecatedBy") != primary.id or mode.remove_deprecated]
        if not others:
            continue
        merged = {
            "categories": sorted({category for entry in group for category in entry.document["categories"]} - {UNCATEGORIZED})
            or [UNCATEGORIZED],
            "priority": min(entry.document["priority"] for entry in group),
            "riskScore": max(entry.document["riskScore"] for entry in group),
        }
        if any(primary.document[name] != value for name, value in merged.items()):
            groomed.document(primary).update(merged)
        for entry in others:
            groomed.duplicates_merged += 1
            if mode.remove_deprecated:
                groomed.removals.append(entry.id)
                groomed.deprecated_removed += 1
            else:
                groomed.document(entry).update({"requirement": "deprecated", "status": "deprecated", "deprecatedBy": primary.id})


def _remove_deprecated(catalogue: Mapping[str, Instruction], groomed: GroomPlan) -> None:
    for entry in catalogue.values():
        target = entry.document.get("deprecatedBy")
        if entry.document["requirement"] != "deprecated" or entry.id in groomed.removals:
            continue
        if target in catalogue and target != entry.id and target not in groomed.removals:
            groomed.removals.append(entry.id)
            groomed.deprecated_removed += 1
