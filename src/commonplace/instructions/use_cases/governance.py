"""Change of governance fields, and what is due for review."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from commonplace.instructions.engine.entry.checks import EntryRefused, check_governance
from commonplace.instructions.engine.entry.versions import bump, version_key
from commonplace.instructions.engine.normalise import repair_change_log, tier_of
from commonplace.instructions.engine.review.policy import EFFECTIVE
from commonplace.instructions.engine.times import REVIEW_DAYS, in_utc, next_review, parse_time
from commonplace.instructions.errors import INVALID_INSTRUCTION, REVIEW_REQUIRED
from commonplace.instructions.fields import (
    APPROVAL,
    CLASSIFICATIONS,
    STATUSES,
    STRICT_SEMVER,
    TIERS,
    stored_form,
)
from commonplace.instructions.model import Author, Instruction
from commonplace.instructions.results.analysis import ReviewsDue
from commonplace.instructions.results.writing import GovernanceUpdate
from commonplace.instructions.use_cases.adding import prepare_entry
from commonplace.instructions.use_cases.committing import check_expected_hash
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

PATCHABLE = frozenset(
    {
        "owner",
        "status",
        "classification",
        "priorityTier",
        "lastReviewedAt",
        "nextReviewDue",
        "reviewIntervalDays",
        "version",
    }
)
TIME_FIELDS = ("lastReviewedAt", "nextReviewDue")
REVIEWED = ("status", "classification")
CLOSED_SETS = {"status": STATUSES, "classification": CLASSIFICATIONS, "priorityTier": TIERS}
COUNTED_FIELDS = ("status", "priorityTier", "requirement", "owner", "classification")
MAX_GROUPS = 50


def update_governance(
    parts: CatalogueParts,
    caller: AuthContext,
    id_: str,
    patch: Mapping[str, Json],
    bump_part: str,
    expected_hash: str | None,
) -> GovernanceUpdate | None:
    """Patch governance fields; return None if there is no such instruction.

    Raises INVALID_INSTRUCTION.
    """
    for name, value in patch.items():
        _check_field(name, value)
    store = parts.store
    with store.exclusive() as catalogue:
        store.refresh(id_)
        entry = catalogue.get(id_)
        if entry is None:
            return None
        check_expected_hash(expected_hash, entry, catalogue.hash)
        previous = str(entry.document["version"])
        document = _apply_patch(entry, patch, parts.now())
        _check_review(parts, Author.of(caller), entry, document)
        _record_approval(entry, document, caller, parts.now())
        document["version"] = _new_version(id_, document, previous, bump_part)
        changed = document["version"] != previous or any(
            entry.document.get(name) != document.get(name) for name in patch
        )
        if changed:
            _log_change(document, previous, _summary(patch, bump_part), parts.now())
            try:
                change = prepare_entry(document, "governanceUpdate", parts.rules)
            except EntryRefused as refused:
                raise _invalid(id_, "patch", refused.problem.hint) from None
            store.commit([change], Author.of(caller))
            assert change.after is not None
            entry = change.after
        return GovernanceUpdate(entry, previous, changed, catalogue.hash)


def _apply_patch(entry: Instruction, patch: Mapping[str, Json], now: str) -> JsonObject:
    document = stored_form(entry.document)
    for name, value in patch.items():
        if value is None:
            document.pop(name, None)
        else:
            document[name] = in_utc(value) if name in TIME_FIELDS else value
    if "nextReviewDue" not in patch:
        _move_review(document, entry.document, now)
    if patch.keys() & {"owner", "priorityTier"}:
        try:
            check_governance(document)
        except EntryRefused as refused:
            problem = refused.problem
            raise _invalid(
                entry.id, "owner", f"{problem.error}: {problem.hint.rstrip('.')}"
            ) from None
    return document


def _check_review(
    parts: CatalogueParts, author: Author, entry: Instruction, document: JsonObject
) -> None:
    """Refuse to change what only a review may change. Raises REVIEW_REQUIRED."""
    changed = [name for name in REVIEWED if entry.document.get(name) != document.get(name)]
    effective = {entry.document["status"], document["status"]} & EFFECTIVE
    if changed and effective and parts.policy.must_wait(author, entry.document, document):
        raise CommonplaceError(
            REVIEW_REQUIRED,
            f"The {' and '.join(changed)} of {entry.id} can only be changed by a review.",
            hint="Propose the change with instructions_review_submit; somebody decides with "
            "instructions_review_decide.",
            details={"id": entry.id, "fields": changed},
        )


def _record_approval(
    entry: Instruction, document: JsonObject, caller: AuthContext, now: str
) -> None:
    """Name the approver of an instruction that becomes approved; forget that of others."""
    if document["status"] == entry.document["status"]:
        return
    if document["status"] == "approved":
        document |= {"approvedBy": caller.label, "approvedAt": now}
        return
    for name in APPROVAL:
        document.pop(name, None)


def _new_version(id_: str, document: JsonObject, previous: str, bump_part: str) -> str:
    if bump_part != "none":
        return bump(previous, bump_part)
    version = str(document.get("version") or previous)
    if version_key(version) < version_key(previous):
        raise _invalid(id_, "version", f"must not fall below {previous}")
    return version


def _log_change(document: JsonObject, previous: str, summary: str, now: str) -> None:
    document["updatedAt"] = now
    log = repair_change_log(document.get("changeLog"), previous, now)
    if document["version"] != previous:
        log.append({"version": document["version"], "changedAt": now, "summary": summary})
    document["changeLog"] = log


def _check_field(name: str, value: Json) -> None:
    """Raise INVALID_INSTRUCTION for a field that cannot be patched with this value."""
    problem = None
    if name not in PATCHABLE:
        problem = (
            f"is not a governance field; governanceUpdate changes {', '.join(sorted(PATCHABLE))}"
        )
    elif value is None:
        problem = "cannot be cleared" if name in ("owner", "status", "version") else None
    elif name in CLOSED_SETS:
        if not isinstance(value, str) or value not in CLOSED_SETS[name]:
            problem = f"must be one of {', '.join(sorted(CLOSED_SETS[name]))}"
    elif name == "owner":
        if not isinstance(value, str) or not value.strip() or len(value) > 200:
            problem = "must be a name of 1 to 200 characters"
    elif name in TIME_FIELDS:
        problem = "is not an ISO 8601 time" if parse_time(value) is None else None
    elif name == "reviewIntervalDays":
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 365:
            problem = "must be a whole number from 1 to 365"
    elif not isinstance(value, str) or not STRICT_SEMVER.fullmatch(value):
        problem = "is not MAJOR.MINOR.PATCH"
    if problem is not None:
        raise _invalid(None, name, problem)


def _move_review(document: JsonObject, before: Mapping[str, Json], now: str) -> None:
    """Move the next review after a new interval or a review.

    An interval that follows from the tier changes with the tier.
    """
    if document.get("priorityTier") is None:
        document["priorityTier"] = tier_of(document["priority"], document["requirement"])
    derived = before["reviewIntervalDays"] == REVIEW_DAYS[before["priorityTier"]]
    if document.get("reviewIntervalDays") is None or (
        derived and document["reviewIntervalDays"] == before["reviewIntervalDays"]
    ):
        document["reviewIntervalDays"] = REVIEW_DAYS[document["priorityTier"]]
    reviewed = document.get("lastReviewedAt")
    new_interval = document["reviewIntervalDays"] != before["reviewIntervalDays"]
    if new_interval or reviewed not in (None, before.get("lastReviewedAt")):
        document["nextReviewDue"] = next_review(document, now)


def _invalid(id_: str | None, field: str, problem: str) -> CommonplaceError:
    return CommonplaceError(
        INVALID_INSTRUCTION,
        f"{field}: {problem}.",
        hint="Nothing was changed.",
        details={
            "field": field,
            "validation": [{"field": field, "problem": problem}],
            **({"id": id_} if id_ else {}),
        },
    )


def _summary(patch: Mapping[str, Json], part: str) -> str:
    fields = ", ".join(sorted(patch)) or "no fields"
    return f"governance update{f' ({part})' if part != 'none' else ''}: {fields}"


def find_reviews_due(
    parts: CatalogueParts, before: str | None, limit: int, offset: int
) -> ReviewsDue:
    """Return what is due for review, longest overdue first, and counts of the whole catalogue."""
    until = before or parts.now()
    store = parts.store
    with store.lock:
        catalogue = store.current()
        reviews = catalogue.reviews()
        due = bisect_left(reviews, (parse_time(until) or 0.0, ""))
        items = [catalogue.entries[id_].document for _, id_ in reviews[:due][offset:][:limit]]
        counts = {
            name: dict(catalogue.counts(name).most_common(MAX_GROUPS)) for name in COUNTED_FIELDS
        }
        return ReviewsDue(len(catalogue), due, until, items, counts)
