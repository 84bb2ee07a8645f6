"""Decide a review: approve, send back, withdraw; and comment on it."""

from __future__ import annotations

from typing import Literal

from commonplace.instructions.engine.review.events import ReviewAction
from commonplace.instructions.engine.times import next_review
from commonplace.instructions.errors import (
    HASH_MISMATCH,
    OWN_CHANGE,
    REVIEW_NOT_FOUND,
    REVIEW_REQUIRED,
)
from commonplace.instructions.model import Author
from commonplace.instructions.results.review import ReviewOutcome
from commonplace.instructions.use_cases.adding import prepare_entry
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.review.reading import (
    PendingReview,
    find_authors,
    find_review,
    proposed_document,
    refusal_of,
)
from commonplace.instructions.use_cases.review.submitting import outcome, record_event
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError

Decision = Literal["approve", "return", "withdraw"]


def decide(
    parts: CatalogueParts,
    caller: AuthContext,
    id_: str,
    decision: Decision,
    review_hash: str | None,
    note: str,
) -> ReviewOutcome:
    """Approve what waits, send it back to its author, or drop it.

    Raises REVIEW_NOT_FOUND, HASH_MISMATCH if the text is not the one that the reviewer saw,
    OWN_CHANGE and REVIEW_REQUIRED if the caller may not decide.
    """
    store = parts.store
    with store.exclusive() as catalogue:
        store.refresh(id_)
        review = find_review(parts, caller, catalogue, id_)
        _check_hash(review, review_hash)
        if decision == "approve":
            _approve(parts, caller, review, note)
        elif decision == "return":
            _require_decider(parts, caller, review)
            _check_submitted(review)
            _set_draft(parts, caller, review)
            record_event(parts, caller, id_, ReviewAction.RETURN, note=note)
        else:
            _withdraw(parts, caller, review, note)
        return outcome(parts, caller, id_, ReviewAction(decision))


def comment(parts: CatalogueParts, caller: AuthContext, id_: str, text: str) -> ReviewOutcome:
    """Add a comment to a review. Raises REVIEW_NOT_FOUND."""
    with parts.store.exclusive() as catalogue:
        find_review(parts, caller, catalogue, id_)
        record_event(parts, caller, id_, ReviewAction.COMMENT, note=text)
        return outcome(parts, caller, id_, ReviewAction.COMMENT)


def _check_hash(review: PendingReview, seen: str | None) -> None:
    if seen is not None and seen != review.hash:
        raise CommonplaceError(
            HASH_MISMATCH,
            f"{review.entry.id} is not as you saw it: the proposed or the approved text changed.",
            hint="Look at it again with instructions_review_show, and send its reviewHash.",
            details={
                "id": review.entry.id,
                "expectedHash": seen[:100],
                "reviewHash": review.hash,
                "governanceHash": review.entry.governance_hash,
            },
        )


def _check_submitted(review: PendingReview) -> None:
    if review.state != "review":
        raise CommonplaceError(
            REVIEW_NOT_FOUND,
            f"{review.entry.id} is a draft; it was not submitted for review.",
            hint="Submit it with instructions_review_submit.",
            details={"id": review.entry.id},
        )


def _require_decider(parts: CatalogueParts, caller: AuthContext, review: PendingReview) -> None:
    if parts.policy.forbids_decision(Author.of(caller)):
        raise CommonplaceError(
            REVIEW_REQUIRED,
            refusal_of(parts, caller, review),
            hint="Ask a person to decide in the console, or with `commonplace instructions review "
            "decide`.",
            details={"id": review.entry.id},
        )


def _approve(parts: CatalogueParts, caller: AuthContext, review: PendingReview, note: str) -> None:
    _check_submitted(review)
    _require_decider(parts, caller, review)
    refusal = refusal_of(parts, caller, review)
    if refusal:
        raise CommonplaceError(
            OWN_CHANGE,
            refusal,
            hint="governance.four_eyes_categories and four_eyes_classifications say where this "
            "applies.",
            details={
                "id": review.entry.id,
                "authors": sorted({author.label for author in find_authors(parts, review)}),
            },
        )
    now = parts.now()
    document = proposed_document(parts, review)
    retires = (review.proposal or {}).get("status") == "deprecated"
    document |= {
        "status": "deprecated" if retires else "approved",
        "approvedBy": caller.label,
        "approvedAt": now,
        "lastReviewedAt": now,
        "updatedAt": now,
    }
    document["nextReviewDue"] = next_review(document, now)
    change = prepare_entry(document, "approve", parts.rules)
    assert change.after is not None
    # Recorded before and after: a process that dies in between leaves no change undecided.
    approved = change.after.governance_hash
    record_event(parts, caller, change.id, ReviewAction.APPROVING, hash_=approved)
    parts.store.commit([change], Author.of(caller))
    record_event(parts, caller, change.id, ReviewAction.APPROVE, note=note, hash_=approved)


def _withdraw(parts: CatalogueParts, caller: AuthContext, review: PendingReview, note: str) -> None:
    authors = find_authors(parts, review)
    if not any(author.is_same_person(Author.of(caller)) for author in authors):
        _require_decider(parts, caller, review)
    _set_draft(parts, caller, review)
    record_event(parts, caller, review.entry.id, ReviewAction.WITHDRAW, note=note)


def _set_draft(parts: CatalogueParts, caller: AuthContext, review: PendingReview) -> None:
    """Make an entry under review a draft again; a proposal has no state in the catalogue."""
    if review.kind == "entry" and review.state == "review":
        document = {**proposed_document(parts, review), "status": "draft"}
        document["updatedAt"] = parts.now()
        parts.store.commit([prepare_entry(document, "return", parts.rules)], Author.of(caller))
