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
    into = _merge(catalogue, mode, groomed) if mode.merge_duplicates else {}
    if mode.remove_deprecated:
        _remove_deprecated(catalogue, into, groomed)
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


def _merge(catalogue: Mapping[str, Instruction], mode: GroomMode, groomed: GroomPlan) -> dict[str, str]:
    """One primary per body: the earliest, then the smallest id. It takes the strictest priority, the highest risk, all categories.

    One that names another of the group as its replacement is no primary. Returns what was merged into what."""
    groups: dict[str, list[Instruction]] = {}
    for entry in catalogue.values():
        groups.setdefault(entry.source_hash, []).append(entry)
    into: dict[str, str] = {}
    for group in groups.values():
        if len(group) < 2:
            continue
        members = {entry.id for entry in group}
        replaced = {entry.id for entry in group if entry.document.get("deprecatedBy") in members - {entry.id}}
        if len(replaced) == len(group):
            replaced = set()
        primary, *others = sorted(group, key=lambda entry: (entry.id in replaced, *_age(entry)))
        others = [entry for entry in others if entry.document.get("deprecatedBy") != primary.id or mode.remove_deprecated]
        if not others:
            continue
        _take_over(primary, group, groomed)
        for entry in others:
            into[entry.id] = primary.id
            groomed.duplicates_merged += 1
            if mode.remove_deprecated:
                groomed.removals.append(entry.id)
                groomed.deprecated_removed += 1
            else:
                groomed.document(entry).update({"requirement": "deprecated", "status": "deprecated", "deprecatedBy": primary.id})
    return into


def _take_over(primary: Instruction, group: Iterable[Instruction], groomed: GroomPlan) -> None:
    merged = {
        "categories": sorted({category for entry in group for category in entry.document["categories"]} - {UNCATEGORIZED})
        or [UNCATEGORIZED],
        "priority": min(entry.document["priority"] for entry in group),
        "riskScore": max(entry.document["riskScore"] for entry in group),
    }
    if all(primary.document[name] == value for name, value in merged.items()):
        return
    document = groomed.document(primary)
    if merged["priority"] != document["priority"]:
        for derived in ("priorityTier", "reviewIntervalDays", "nextReviewDue"):
            document.pop(derived, None)
    document.update(merged)


def _remove_deprecated(catalogue: Mapping[str, Instruction], into: Mapping[str, str], groomed: GroomPlan) -> None:
    """Deprecated entries whose replacement exists: at the end of the chain of replacements stands one that stays."""
    gone = set(groomed.removals)

    def successor(id_: str) -> str | None:
        if id_ in gone:
            return into.get(id_)
        document = catalogue[id_].document
        following = document.get("deprecatedBy") if document["requirement"] == "deprecated" else None
        return following if following in catalogue else None

    for id_ in catalogue:
        seen = [id_]
        while (following := successor(seen[-1])) is not None and following not in seen:
            seen.append(following)
        if id_ not in gone and len(seen) > 1 and following is None:
            groomed.removals.append(id_)
            groomed.deprecated_removed += 1
