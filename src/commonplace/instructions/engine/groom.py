"""Plan of grooming: hashes, categories, duplicates, deprecated entries, legacy scopes.

A plan starts from the documents as they are stored and changes only the fields it was asked to
change. Values that the loader could not read stay as they are, with a note.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from commonplace.instructions.engine.normalise import split_categories
from commonplace.instructions.engine.times import parse_time
from commonplace.instructions.fields import UNCATEGORIZED, stored_form
from commonplace.instructions.model import Instruction
from commonplace.kernel.json_types import Json, JsonObject

MAX_NOTES = 50  # of one kind
MERGED_FIELDS = frozenset(
    {"priority", "requirement", "status", "categories", "createdAt", "deprecatedBy"}
)
SCOPE_FIELDS = ("workspaceId", "userId", "teamIds")


@dataclass(frozen=True, slots=True)
class GroomMode:
    """What grooming may change."""

    dry_run: bool = False
    merge_duplicates: bool = False
    remove_deprecated: bool = False
    normalize_categories: bool = True
    purge_legacy_scopes: bool = False
    update_hashes: bool = True


@dataclass(slots=True)
class GroomPlan:
    """Documents to write, ids to remove, and counts (docs/reference/contracts/instructions.md)."""

    stored: Mapping[str, Mapping[str, Json]]
    rewrites: dict[str, JsonObject] = field(default_factory=dict)
    removals: list[str] = field(default_factory=list)
    scanned: int = 0
    repaired_hashes: int = 0
    normalized_categories: int = 0
    deprecated_removed: int = 0
    duplicates_merged: int = 0
    purged_scopes: int = 0
    unreadable: list[str] = field(default_factory=list)  # notes: values left as written
    dependents: list[str] = field(default_factory=list)  # notes: entries that name a removed one

    def document(self, entry: Instruction) -> JsonObject:
        """Return the document to write, which starts as a copy of the stored one."""
        if entry.id not in self.rewrites:
            self.rewrites[entry.id] = dict(self.stored.get(entry.id) or stored_form(entry.document))
        return self.rewrites[entry.id]

    def notes(self) -> list[str]:
        """Return the first notes of each kind."""
        return [*_first(self.unreadable), *_first(self.dependents)]


def _first(notes: list[str]) -> list[str]:
    more = len(notes) - MAX_NOTES
    return (
        notes
        if more <= 0
        else [*notes[:MAX_NOTES], f"{notes[0].split(':', 1)[0]}: and {more} more"]
    )


def plan(
    entries: Iterable[Instruction], stored: Mapping[str, Mapping[str, Json]], mode: GroomMode
) -> GroomPlan:
    """Plan the changes; `stored` has the documents as they are in the files, not normalised."""
    groomed = GroomPlan(stored)
    catalogue = {entry.id: entry for entry in entries}
    groomed.scanned = len(catalogue)
    for entry in catalogue.values():
        _repair(entry, stored.get(entry.id, {}), mode, groomed)
    into = _merge(catalogue, mode, groomed) if mode.merge_duplicates else {}
    if mode.remove_deprecated:
        _remove_deprecated(catalogue, into, groomed)
    for id_ in groomed.removals:
        groomed.rewrites.pop(id_, None)
    _note_dependents(catalogue, groomed)
    return groomed


def _repair(
    entry: Instruction, raw: Mapping[str, Json], mode: GroomMode, groomed: GroomPlan
) -> None:
    if entry.salvaged:
        groomed.unreadable.append(f"left-as-written:{entry.id}:{','.join(entry.salvaged)}")
    if mode.update_hashes and entry.stored_hash != entry.source_hash:
        groomed.repaired_hashes += 1
        groomed.document(entry)["sourceHash"] = entry.source_hash
    given = raw.get("categories")
    if "categories" in entry.salvaged or not isinstance(given, list):
        return
    scopes = [item for item in given if item.strip().lower().startswith("scope:")]
    others = [item for item in given if item not in scopes]
    wanted = others
    if mode.normalize_categories and others != (normal := split_categories(others)[0]):
        groomed.normalized_categories += 1
        wanted = normal
    purged = bool(scopes) and mode.purge_legacy_scopes
    if purged:
        groomed.purged_scopes += len(scopes)
        groomed.document(entry).update(
            {name: entry.document[name] for name in SCOPE_FIELDS if name in entry.document}
        )
    if wanted is not others or purged:
        groomed.document(entry)["categories"] = wanted if purged else [*wanted, *scopes]


def _age(entry: Instruction) -> tuple[float, str]:
    return parse_time(entry.document["createdAt"]) or 0.0, entry.id


def _scope(entry: Instruction) -> tuple[Json, ...]:
    """Return whom an instruction is for: equal rules of two workspaces are not duplicates."""
    document = entry.document
    teams = tuple(sorted(document.get("teamIds") or ()))
    where = (
        tuple(sorted(document.get("appliesTo") or ())),
        tuple(sorted(document.get("languages") or ())),
        document.get("activation"),
    )
    people = document.get("workspaceId"), document.get("userId"), teams, document["audience"]
    return (*people, *where)


def _merge(
    catalogue: Mapping[str, Instruction], mode: GroomMode, groomed: GroomPlan
) -> dict[str, str]:
    """Merge entries with the same body and scope, and return the primary id by merged id.

    The primary entry is the earliest, then the one with the smallest id, unless another of the
    group replaces it. It takes the strictest priority, the highest risk and all categories.
    """
    groups: dict[tuple[Json, ...], list[Instruction]] = {}
    for entry in catalogue.values():
        if not MERGED_FIELDS.intersection(entry.salvaged):
            groups.setdefault((entry.source_hash, *_scope(entry)), []).append(entry)
    into: dict[str, str] = {}
    for group in groups.values():
        primary, others = _choose_primary(group, mode)
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
                groomed.document(entry).update(
                    requirement="deprecated", status="deprecated", deprecatedBy=primary.id
                )
    return into


def _choose_primary(
    group: Sequence[Instruction], mode: GroomMode
) -> tuple[Instruction, list[Instruction]]:
    """Return the entry that stays, and the entries to merge into it."""
    members = {entry.id for entry in group}
    replaced = {
        entry.id for entry in group if entry.document.get("deprecatedBy") in members - {entry.id}
    }
    if len(replaced) == len(group):
        replaced = set()
    primary, *others = sorted(group, key=lambda entry: (entry.id in replaced, *_age(entry)))
    return primary, [
        entry
        for entry in others
        if entry.document.get("deprecatedBy") != primary.id or mode.remove_deprecated
    ]


def _take_over(primary: Instruction, group: Iterable[Instruction], groomed: GroomPlan) -> None:
    merged = {
        "categories": sorted(
            {category for entry in group for category in entry.document["categories"]}
            - {UNCATEGORIZED}
        )
        or [UNCATEGORIZED],
        "priority": min(entry.document["priority"] for entry in group),
        "riskScore": max(entry.document["riskScore"] for entry in group),
    }
    if all(primary.document[name] == value for name, value in merged.items()):
        return
    document = groomed.document(primary)
    if merged["priority"] != primary.document["priority"]:
        for derived in ("priorityTier", "reviewIntervalDays", "nextReviewDue"):
            document.pop(derived, None)
    scopes = [
        item
        for item in document.get("categories") or ()
        if isinstance(item, str) and item.strip().lower().startswith("scope:")
    ]
    document.update({**merged, "categories": [*merged["categories"], *scopes]})


def _remove_deprecated(
    catalogue: Mapping[str, Instruction], into: Mapping[str, str], groomed: GroomPlan
) -> None:
    """Remove deprecated entries whose chain of replacements ends in an entry that stays."""
    merged_ids = set(groomed.removals)

    def successor(id_: str) -> str | None:
        if id_ in merged_ids:
            return into.get(id_)
        document = catalogue[id_].document
        following = (
            document.get("deprecatedBy") if document["requirement"] == "deprecated" else None
        )
        return following if following in catalogue else None

    for id_ in catalogue:
        chain = [id_]
        while (following := successor(chain[-1])) is not None and following not in chain:
            chain.append(following)
        if id_ not in merged_ids and len(chain) > 1 and following is None:
            groomed.removals.append(id_)
            groomed.deprecated_removed += 1


def _note_dependents(catalogue: Mapping[str, Instruction], groomed: GroomPlan) -> None:
    """Note the remaining entries that refer to a removed one."""
    removals = set(groomed.removals)
    if not removals:
        return
    naming: dict[str, list[str]] = {}
    for entry in catalogue.values():
        if entry.id in removals:
            continue
        document = entry.document
        named = [
            *document.get("dependencies", ()),
            document.get("deprecatedBy"),
            document.get("supersedes"),
        ]
        for removed in removals.intersection(named):
            naming.setdefault(removed, []).append(entry.id)
    for removed, dependents in sorted(naming.items()):
        replaced = catalogue[removed].document.get("deprecatedBy")
        by = f" (replaced by {replaced})" if replaced else ""
        shown = ", ".join(dependents[:20]) + (
            f" and {len(dependents) - 20} more" if len(dependents) > 20 else ""
        )
        groomed.dependents.append(f"dependents-of-removed:{removed}{by}: {shown}")
