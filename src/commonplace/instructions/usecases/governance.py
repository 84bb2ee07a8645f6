"""Controlled edits of governance metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from commonplace.instructions.engine.entry import Refused, bump, check_rules, version_key
from commonplace.instructions.engine.normalise import (
    REVIEW_DAYS,
    in_utc,
    mend_change_log,
    next_review,
    parse_time,
    tier_of,
)
from commonplace.instructions.errors import INVALID_INSTRUCTION
from commonplace.instructions.model import (
    CLASSIFICATIONS,
    STATUSES,
    STRICT_SEMVER,
    TIERS,
    Actor,
    stored_form,
)
from commonplace.instructions.service import Service
from commonplace.instructions.usecases.writing import Writing, expect
from commonplace.kernel.errors import CommonplaceError

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


class Governance:
    """governanceUpdate."""

    def __init__(self, service: Service, writing: Writing) -> None:
        self._service = service
        self._writing = writing
        self._shelf = service.shelf

    def update(
        self,
        id_: str,
        patch: Mapping[str, Any],
        *,
        bump_part: str,
        expected_hash: str | None,
        actor: Actor,
    ) -> dict[str, Any]:
        _check_patch(patch)
        with self._shelf.writing() as catalogue:
            self._shelf.look_at(id_)
            existing = catalogue.get(id_)
            if existing is None:
                return {"id": id_[:200], "notFound": True, "changed": False}
            expect(expected_hash, existing, catalogue.hash)
            previous = str(existing.document["version"])
            document = stored_form(existing.document)
            for name, value in patch.items():
                if value is None:
                    document.pop(name, None)
                else:
                    document[name] = (
                        in_utc(value) if name in ("lastReviewedAt", "nextReviewDue") else value
                    )
            if "nextReviewDue" not in patch:
                _move_review(document, existing.document, self._service.now())
            if patch.keys() & {"owner", "priorityTier"}:
                try:
                    check_rules(document)
                except Refused as refused:
                    raise _invalid(
                        id_, "owner", f"{refused.problem.error}: {refused.problem.hint.rstrip('.')}"
                    ) from None
            version = str(document.get("version") or previous)
            if bump_part != "none":
                version = bump(previous, bump_part)
            elif version_key(version) < version_key(previous):
                raise _invalid(id_, "version", f"must not fall below {previous}")
            document["version"] = version
            changed = version != previous or any(
                existing.document.get(name) != document.get(name) for name in patch
            )
            if changed:
                now = self._service.now()
                document["updatedAt"] = now
                log = mend_change_log(document.get("changeLog"), previous, now)
                if version != previous:
                    log.append(
                        {
                            "version": version,
                            "changedAt": now,
                            "summary": _summary(patch, bump_part),
                        }
                    )
                document["changeLog"] = log
                try:
                    change = self._writing.change(document, "governanceUpdate")
                except Refused as refused:
                    raise _invalid(id_, "patch", refused.problem.hint) from None
                self._shelf.commit([change], actor)
                assert change.after is not None
                existing = change.after
            shown = existing.document
            fields = (
                "owner",
                "status",
                "classification",
                "priorityTier",
                "lastReviewedAt",
                "nextReviewDue",
            )
            return {
                "id": id_,
                "previousVersion": previous,
                "newVersion": shown["version"],
                "version": shown["version"],
                "changed": changed,
                **{name: shown[name] for name in fields if name in shown},
                "hash": catalogue.hash,
                "governanceHash": existing.governance_hash,
            }


def _check_patch(patch: Mapping[str, Any]) -> None:
    for name, value in patch.items():
        if name not in PATCHABLE:
            raise _invalid(
                None,
                name,
                f"is not governance; governanceUpdate changes {', '.join(sorted(PATCHABLE))}",
            )
        if value is None:
            if name in ("owner", "status", "version"):
                raise _invalid(None, name, "cannot be cleared")
            continue
        allowed = {
            "status": STATUSES,
            "classification": CLASSIFICATIONS,
            "priorityTier": TIERS,
        }.get(name)
        if allowed is not None and not (isinstance(value, str) and value in allowed):
            raise _invalid(None, name, f"must be one of {', '.join(sorted(allowed))}")
        if name == "owner" and (
            not isinstance(value, str) or not value.strip() or len(value) > 200
        ):
            raise _invalid(None, name, "must be a name of 1 to 200 characters")
        if name in ("lastReviewedAt", "nextReviewDue") and parse_time(value) is None:
            raise _invalid(None, name, "is not an ISO 8601 time")
        if name == "reviewIntervalDays" and (
            not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= 365
        ):
            raise _invalid(None, name, "must be a whole number from 1 to 365")
        if name == "version" and (not isinstance(value, str) or not STRICT_SEMVER.fullmatch(value)):
            raise _invalid(None, name, "is not MAJOR.MINOR.PATCH")


def _move_review(document: dict[str, Any], before: Mapping[str, Any], now: str) -> None:
    """An interval that follows from the tier changes with it; a new interval or a review moves
    the next one.
    """
    if document.get("priorityTier") is None:
        document["priorityTier"] = tier_of(document["priority"], document["requirement"])
    derived = before["reviewIntervalDays"] == REVIEW_DAYS[before["priorityTier"]]
    if document.get("reviewIntervalDays") is None or (
        derived and document["reviewIntervalDays"] == before["reviewIntervalDays"]
    ):
        document["reviewIntervalDays"] = REVIEW_DAYS[document["priorityTier"]]
    reviewed = document.get("lastReviewedAt")
    if document["reviewIntervalDays"] != before["reviewIntervalDays"] or reviewed not in (
        None,
        before.get("lastReviewedAt"),
    ):
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


def _summary(patch: Mapping[str, Any], part: str) -> str:
    fields = ", ".join(sorted(patch)) or "no fields"
    return (
        f"governance update ({part}): {fields}"
        if part != "none"
        else f"governance update: {fields}"
    )
