"""History of an instruction, and restoring what it was before a change."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.instructions.engine.difference import compare_documents
from commonplace.instructions.engine.entry.versions import bump
from commonplace.instructions.engine.normalise import repair_change_log
from commonplace.instructions.engine.review.policy import EFFECTIVE
from commonplace.instructions.errors import (
    CHANGE_NOT_FOUND,
    INSTRUCTION_NOT_FOUND,
    REVIEW_REQUIRED,
)
from commonplace.instructions.fields import stored_form
from commonplace.instructions.model import (
    Author,
    Instruction,
    InstructionChange,
    RecordedChange,
)
from commonplace.instructions.results.writing import (
    HistoryChange,
    InstructionHistory,
    RestoreResult,
)
from commonplace.instructions.use_cases.adding import prepare_entry, verify_write
from commonplace.instructions.use_cases.committing import check_expected_hash
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import AuthContext, Scope
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

MAX_CHANGES = 50


def read_history(
    parts: CatalogueParts, caller: AuthContext, id_: str, limit: int
) -> InstructionHistory:
    """Return the change log and the recorded changes that the caller may see, newest first."""
    with parts.store.lock:
        current = parts.store.current().stored(id_)
    recorded = parts.store.history(id_)
    changes: list[HistoryChange] = []
    following: Mapping[str, Json] | None = stored_form(current.document) if current else None
    for change in reversed(recorded):
        deleted_later = change is recorded[-1] and _is_deleted_since(change, following)
        if change.before == following and not deleted_later:
            continue  # recorded, but never made
        if _may_see(caller, change):
            after = change.after if change.has_after else following
            version = (after or change.before or {}).get("version")
            changes.append(
                HistoryChange(
                    change.number,
                    change.at,
                    change.action,
                    change.by,
                    change.agent,
                    version,
                    compare_documents(change.before, after),
                )
            )
        following = change.before
    log = current.document["changeLog"] if current else []
    return InstructionHistory(
        id_, current is not None, log, len(changes), changes[: min(limit, MAX_CHANGES)]
    )


def restore(
    parts: CatalogueParts,
    caller: AuthContext,
    id_: str,
    number: int | None,
    expected_hash: str | None,
) -> RestoreResult:
    """Undo the latest change of an instruction, or the one with this number.

    The old content becomes a new version.
    """
    store, author = parts.store, Author.of(caller)
    with store.exclusive() as catalogue:
        store.refresh(id_)
        existing = catalogue.stored(id_)
        check_expected_hash(expected_hash, existing, catalogue.hash)
        present = stored_form(existing.document) if existing else None
        change = _find_change(parts, caller, id_, number, present)
        before = change.before
        if number is None and change.after is not None and change.after != present:
            before = change.after  # changed or deleted by hand since: undo that
        if before is not None:
            _check_review(parts, author, existing, before)
            document = _as_new_version(before, existing, parts.now())
            restored = prepare_entry(document, "restore", parts.rules)
            store.commit([restored], author)
            written = verify_write(store, restored)
            return RestoreResult(id_, change.number, written.catalogue_hash, written)
        if existing is None:
            raise CommonplaceError(
                INSTRUCTION_NOT_FOUND,
                f"{id_} does not exist, and did not exist before that change either.",
            )
        _check_review(parts, author, existing, {})
        store.commit([InstructionChange(id_, None, None, "restore")], author)
        return RestoreResult(id_, change.number, catalogue.hash, None)


def _check_review(
    parts: CatalogueParts,
    author: Author,
    existing: Instruction | None,
    before: Mapping[str, Json],
) -> None:
    """Refuse agents that only propose to change what is in effect. Raises REVIEW_REQUIRED."""
    states = [before.get("status"), existing.document["status"] if existing else None]
    if parts.policy.forbids_decision(author) and not EFFECTIVE.isdisjoint(states):
        raise CommonplaceError(
            REVIEW_REQUIRED,
            "Agents only propose on this server; restoring would change what is in effect.",
            hint="Propose the text with instructions_review_submit, or ask a person to restore it.",
            details={"states": [state for state in states if state is not None]},
        )


def _find_change(
    parts: CatalogueParts,
    caller: AuthContext,
    id_: str,
    number: int | None,
    present: JsonObject | None,
) -> RecordedChange:
    """Return the change with this number, or the latest one that had an effect."""
    for change in reversed(parts.store.history(id_)):
        had_effect = change.before != present or _is_deleted_since(change, present)
        chosen = had_effect if number is None else change.number == number
        if chosen and _may_see(caller, change):
            return change
    raise CommonplaceError(
        CHANGE_NOT_FOUND,
        f"The history of {id_[:130]} has nothing to restore.",
        hint="instructions_history lists the changes with their numbers.",
        details={"id": id_[:200], "change": number},
    )


def _as_new_version(
    before: Mapping[str, Json], existing: Instruction | None, now: str
) -> JsonObject:
    document = dict(before)
    document["updatedAt"] = now
    if existing is not None:
        current = str(existing.document["version"])
        document["version"] = bump(current, "patch")
        document["changeLog"] = [
            *repair_change_log(existing.document["changeLog"], current, now),
            {
                "version": document["version"],
                "changedAt": now,
                "summary": f"restored {before.get('version')}",
            },
        ]
    return document


def _may_see(caller: AuthContext, change: RecordedChange) -> bool:
    return caller.has(Scope.ADMIN) or change.tenant == caller.tenant


def _is_deleted_since(change: RecordedChange, present: Mapping[str, Json] | None) -> bool:
    """Tell whether the instruction that a change wrote no longer exists."""
    return present is None and change.after is not None
