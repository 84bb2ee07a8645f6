"""Compose the document to store from an entry, the stored instruction, and defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.instructions.engine.entry.checks import (
    TIME_FIELDS,
    check_activation,
    check_body,
    check_depth,
    check_governance,
    check_id,
    check_required,
    check_schema,
    check_version,
)
from commonplace.instructions.engine.entry.problems import did_you_mean
from commonplace.instructions.engine.entry.versions import assign_version
from commonplace.instructions.engine.hashing import normalise_body
from commonplace.instructions.engine.normalise import (
    ReadingRules,
    risk_of,
    split_categories,
    summary_of,
    tier_of,
)
from commonplace.instructions.engine.times import REVIEW_DAYS, in_utc, next_review, parse_time
from commonplace.instructions.fields import (
    APPROVAL,
    COMPUTED,
    KNOWN_FIELDS,
    REQUIREMENTS,
    SCHEMA_VERSION,
    UNCATEGORIZED,
    UNOWNED,
    stored_form,
)
from commonplace.instructions.model import Instruction
from commonplace.kernel.json_types import Json, JsonObject

LAX_DEFAULTS: Mapping[str, Json] = {
    "priority": 50,
    "audience": "all",
    "requirement": "optional",
    "categories": [],
}
# Set by the server; values that a caller sends are ignored.
SYSTEM_FIELDS = COMPUTED | APPROVAL | {"sourceHash", "schemaVersion", "updatedAt"}


@dataclass(frozen=True, slots=True)
class Origin:
    """When an entry is written, and by which agent in which workspace."""

    now: str
    agent: str | None = None
    workspace: str | None = None


def compose(
    entry: Mapping[str, Json],
    existing: Instruction | None,
    *,
    lax: bool,
    origin: Origin,
    rules: ReadingRules,
    keep_omitted: bool,
    checked: bool = True,
) -> JsonObject:
    """Return the document to store for an entry. Raises EntryRefused.

    `checked=False` trusts the entry's values, never its id.
    """
    id_ = check_id(entry)
    check_depth(entry)
    given = {
        key: value
        for key, value in entry.items()
        if value is not None and key not in SYSTEM_FIELDS and key != "lax"
    }
    if lax:
        given = _move_unknown_to_extensions(given)
    document = _merge(entry, given, existing, keep_omitted=keep_omitted)
    if rules.canonical and isinstance(given.get("body"), str):
        document["body"] = normalise_body(given["body"])
    if lax:
        document = {**LAX_DEFAULTS, **document}
    if not isinstance(document.get("title"), str) or not document["title"].strip():
        document["title"] = id_
    if checked:
        check_required(document)
        check_schema({**given, "id": id_})
    else:
        check_body(document)
    check_version(given.get("version"), existing)
    _assign_owner(document, id_, rules)
    if checked:
        check_activation(document)
        check_governance(document)
    assign_version(document, given, existing, origin.now)
    _fill_in(document, given, existing, origin)
    return document


def warnings_of(
    entry: Mapping[str, Json], existing: Instruction | None, *, lax: bool, rules: ReadingRules
) -> list[str]:
    """Describe how the stored document differs from the entry that was sent."""
    warnings = []
    body = entry.get("body")
    if rules.canonical and isinstance(body, str) and normalise_body(body) != body:
        warnings.append(
            "The body was normalised: line breaks are LF, and blank lines at its start and end "
            "were removed."
        )
    for name in sorted(entry.keys() - KNOWN_FIELDS - {"lax"}) if lax else ():
        warnings.append(
            f"{name[:80]} is not a field of an instruction and was kept under "
            f"extensions.{did_you_mean(name, KNOWN_FIELDS)}"
        )
    if existing is not None:
        replaced = [name for name in existing.salvaged if name not in entry]
        if replaced:
            warnings.append(
                f"The file had unreadable values for {', '.join(replaced)}; the values that were "
                f"shown instead are now stored."
            )
    return warnings


def _move_unknown_to_extensions(given: JsonObject) -> JsonObject:
    unknown = {key: value for key, value in given.items() if key not in KNOWN_FIELDS}
    if not unknown:
        return given
    kept = {key: value for key, value in given.items() if key in KNOWN_FIELDS}
    extensions = kept.get("extensions")
    kept["extensions"] = {**(extensions if isinstance(extensions, dict) else {}), **unknown}
    return kept


def _merge(
    entry: Mapping[str, Json],
    given: Mapping[str, Json],
    existing: Instruction | None,
    *,
    keep_omitted: bool,
) -> JsonObject:
    """Put the given fields over the stored ones; a field given as null is removed."""
    document: JsonObject = {}
    if existing is not None:
        if keep_omitted:
            document = stored_form(existing.document)
        else:
            kept = ("createdAt", "changeLog", "version")
            document = {name: existing.document[name] for name in kept}
        _drop_derived(document, given)
    before = dict(document)
    for key, value in entry.items():
        if value is None and key not in ("id", "body"):
            document.pop(key, None)
    document.update(given)
    if document != before:  # what was approved is another text
        for name in APPROVAL:
            document.pop(name, None)
    return document


def _drop_derived(document: JsonObject, given: Mapping[str, Json]) -> None:
    """Drop values derived from a field that changes; values that were set explicitly stay."""
    if "body" in given and given["body"] != document.get("body"):
        document.pop("semanticSummary", None)
    changed = {
        name
        for name in ("priority", "requirement", "priorityTier")
        if name in given and given[name] != document.get(name)
    }
    if not changed or not {"priority", "requirement"} <= document.keys():
        return
    if document.get("reviewIntervalDays") == REVIEW_DAYS.get(document.get("priorityTier", "")):
        document.pop("reviewIntervalDays", None)
    if document.get("priorityTier") == tier_of(document["priority"], document["requirement"]):
        del document["priorityTier"]
    if document.get("riskScore") == risk_of(document["priority"], document["requirement"]):
        del document["riskScore"]


def _assign_owner(document: JsonObject, id_: str, rules: ReadingRules) -> None:
    owner = document.get("owner")
    if not isinstance(owner, str) or not owner.strip() or owner == UNOWNED:
        document["owner"] = rules.owner_of(id_) or UNOWNED


def _fill_in(
    document: JsonObject,
    given: Mapping[str, Json],
    existing: Instruction | None,
    origin: Origin,
) -> None:
    """Set defaults and derived fields in place."""
    for name in TIME_FIELDS:
        if name in document and parse_time(document[name]) is not None:
            document[name] = in_utc(document[name])
    categories, scopes, _ = split_categories(document.get("categories"))
    document["categories"] = categories or [UNCATEGORIZED]
    for name, value in scopes.items():
        document.setdefault(name, value)
    priority = document.setdefault("priority", 50)
    requirement = document.setdefault("requirement", "optional")
    document.setdefault("audience", "all")
    if isinstance(priority, int) and isinstance(requirement, str):
        document.setdefault("priorityTier", tier_of(priority, requirement))
        if requirement in REQUIREMENTS:
            document.setdefault("riskScore", risk_of(priority, requirement))
    document.setdefault("status", "deprecated" if requirement == "deprecated" else "approved")
    document.setdefault("classification", "internal")
    document.setdefault("semanticSummary", summary_of(document["body"]))
    _set_review(document, given, existing, origin.now)
    document.setdefault("createdAt", origin.now)
    document["updatedAt"] = origin.now
    document["schemaVersion"] = SCHEMA_VERSION
    if existing is None:
        if origin.workspace:
            document.setdefault("sourceWorkspace", origin.workspace)
        if origin.agent:
            document.setdefault("createdByAgent", origin.agent)


def _set_review(
    document: JsonObject, given: Mapping[str, Json], existing: Instruction | None, now: str
) -> None:
    """Set the review interval, and move the next review if its basis changed."""
    days = REVIEW_DAYS.get(str(document.get("priorityTier")), 120)
    interval = document.setdefault("reviewIntervalDays", days)
    if isinstance(interval, float) and interval.is_integer():
        interval = document["reviewIntervalDays"] = int(interval)
    if not isinstance(interval, int):
        return
    moved = existing is not None and any(
        document.get(name) != existing.document.get(name)
        for name in ("reviewIntervalDays", "lastReviewedAt")
    )
    if "nextReviewDue" not in document or (moved and "nextReviewDue" not in given):
        document["nextReviewDue"] = next_review(document, now)
