"""What waits for a review: the queue, and one change with its difference and its discussion."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import orjson

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.difference import compare_documents
from commonplace.instructions.engine.entry.checks import EntryRefused
from commonplace.instructions.engine.entry.compose import compose
from commonplace.instructions.engine.review.events import ReviewAction, ReviewThread
from commonplace.instructions.engine.review.policy import EFFECTIVE
from commonplace.instructions.errors import REVIEW_NOT_FOUND
from commonplace.instructions.fields import is_restricted, stored_form
from commonplace.instructions.model import Author, Instruction
from commonplace.instructions.results.review import (
    ReviewDetails,
    ReviewItem,
    ReviewKind,
    ReviewQueue,
    ReviewState,
)
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import RESTRICTED, AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

TRANSITIONS = frozenset({"submit", "return", "approve", "archive", "unarchive"})
"""Actions in the history that leave the text as it was written."""


@dataclass(frozen=True, slots=True)
class PendingReview:
    """A change that waits: the entry itself, or a proposal beside an approved entry."""

    entry: Instruction
    thread: ReviewThread
    kind: ReviewKind
    state: ReviewState

    @property
    def hash(self) -> str:
        """The hash that a reviewer names: it changes with the effective text and the proposal."""
        basis = [self.kind, self.entry.governance_hash, self.proposal]
        return hashlib.sha256(orjson.dumps(basis, option=orjson.OPT_SORT_KEYS)).hexdigest()

    @property
    def proposal(self) -> JsonObject | None:
        """The proposed fields; None if the entry itself is under review."""
        return self.thread.proposal if self.kind == "proposal" else None


def pending_review(
    parts: CatalogueParts, caller: AuthContext, entry: Instruction, thread: ReviewThread
) -> PendingReview | None:
    """Return what waits of an instruction, or None."""
    status = entry.document["status"]
    interrupted = thread.approving is not None and thread.approving == entry.governance_hash
    if thread.proposal is not None and not interrupted and _sees(parts, caller, thread.proposal):
        return PendingReview(entry, thread, "proposal", "review" if thread.is_open else "draft")
    if status in EFFECTIVE:
        return None
    return PendingReview(entry, thread, "entry", "review" if status == "review" else "draft")


def _sees(parts: CatalogueParts, caller: AuthContext, proposal: Mapping[str, Json]) -> bool:
    """Tell whether a caller may read a proposal, which can be restricted before its entry is."""
    hides = parts.governance.restrict_reads and RESTRICTED not in caller.may_read
    return not (hides and is_restricted(proposal))


def find_review(
    parts: CatalogueParts, caller: AuthContext, catalogue: Catalogue, id_: str
) -> PendingReview:
    """Return what waits of an instruction. Raises REVIEW_NOT_FOUND."""
    entry = catalogue.get(id_)
    review = None
    if entry is not None:
        review = pending_review(parts, caller, entry, parts.reviews.thread(id_))
    if review is None:
        raise CommonplaceError(
            REVIEW_NOT_FOUND,
            f"Nothing of {id_[:130]} waits for a review.",
            hint="instructions_review_list shows what waits; instructions_review_submit submits a "
            "draft or a change.",
            details={"id": id_[:200]},
        )
    return review


def list_reviews(
    parts: CatalogueParts, caller: AuthContext, state: ReviewState | None, limit: int, offset: int
) -> ReviewQueue:
    """Return a page of what waits, longest waiting first; `state` None for everything."""
    threads = parts.reviews.threads()
    waiting = [id_ for id_, thread in threads.items() if thread.proposal is not None]
    with parts.store.lock:
        catalogue = parts.store.current()
        by_status = catalogue.facet("status")
        ids = {*by_status.get("review", ()), *by_status.get("draft", ()), *waiting}
        entries = [catalogue.entries[id_] for id_ in ids if id_ in catalogue.entries]
    pending = []
    for entry in entries:
        thread = threads.get(entry.id) or ReviewThread(entry.id)
        review = pending_review(parts, caller, entry, thread)
        if review is not None and state in (None, review.state):
            pending.append(review)
    pending.sort(key=lambda review: (_waits_since(review), review.entry.id))
    page = pending[offset : offset + limit]  # described after paging: it decodes whole documents
    return ReviewQueue(len(pending), [_describe(parts, review) for review in page])


def _waits_since(review: PendingReview) -> str:
    submitted = review.thread.last(ReviewAction.SUBMIT)
    return submitted.at if submitted else str(review.entry.document["updatedAt"])


def _describe(parts: CatalogueParts, review: PendingReview) -> ReviewItem:
    document: Mapping[str, Json] = review.entry.document
    proposed = {**stored_form(document), **(review.proposal or {})}
    submitted = review.thread.last(ReviewAction.SUBMIT)
    return ReviewItem(
        review.entry.id,
        str(proposed["title"]),
        review.kind,
        review.state,
        review.hash,
        str(proposed["owner"]),
        str(proposed["classification"]),
        tuple(proposed["categories"]),
        parts.policy.needs_four_eyes(document, proposed),
        submitted.by if submitted else None,
        _waits_since(review),
        sum(event.action is ReviewAction.COMMENT for event in review.thread.round),
    )


def show_review(parts: CatalogueParts, caller: AuthContext, id_: str) -> ReviewDetails:
    """Return a review with both texts and their difference. Raises REVIEW_NOT_FOUND."""
    with parts.store.lock:
        catalogue = parts.store.current()
    review = find_review(parts, caller, catalogue, id_)
    approved = last_approved(parts, review)
    proposed = proposed_document(parts, review)
    authors = find_authors(parts, review)
    lessons = review.thread.lessons
    return ReviewDetails(
        _describe(parts, review),
        approved,
        proposed,
        compare_documents(approved, proposed),
        review.thread.round,
        tuple(dict.fromkeys(author.label for author in authors)),
        refusal_of(parts, caller, review),
        sum(map(len, lessons.values())),
        tuple(lessons.get(caller.tenant, ())),
    )


def last_approved(parts: CatalogueParts, review: PendingReview) -> JsonObject | None:
    """Return the text that was approved last, or None if none ever was."""
    present = stored_form(review.entry.document)
    if review.kind == "proposal":
        return present
    for change in reversed(parts.store.history(review.entry.id)):
        if change.before is not None and change.before.get("status") == "approved":
            return change.before
    return None


def proposed_document(parts: CatalogueParts, review: PendingReview) -> JsonObject:
    """Return the document that an approval would store, but for the approval itself."""
    if review.proposal is None:
        return stored_form(review.entry.document)
    author = (review.thread.last(ReviewAction.SUBMIT) or review.thread.events[-1]).author
    try:
        document = compose(
            {**review.proposal, "id": review.entry.id},
            review.entry,
            lax=True,
            origin=parts.origin(author),
            rules=parts.rules,
            keep_omitted=True,
        )
    except EntryRefused as refused:  # the approved text changed so that the proposal no longer fits
        raise CommonplaceError(
            REVIEW_NOT_FOUND,
            f"The proposed change no longer fits {review.entry.id}: {refused.problem.hint}",
            hint="Withdraw it with instructions_review_decide, and submit it again.",
            details={"id": review.entry.id},
        ) from None
    return stored_form(document)


def find_authors(parts: CatalogueParts, review: PendingReview) -> list[Author]:
    """Return everybody who wrote what waits: since the last approval, or in this round."""
    submitted = [
        event.author for event in review.thread.round if event.action is ReviewAction.SUBMIT
    ]
    if review.kind == "proposal":
        return submitted
    authors = []
    for change in reversed(parts.store.history(review.entry.id)):
        if change.action not in TRANSITIONS:
            authors.append(Author(change.tenant or "", change.by))
        if change.before is not None and change.before.get("status") == "approved":
            break
    return [*submitted, *reversed(authors)]


def refusal_of(parts: CatalogueParts, caller: AuthContext, review: PendingReview) -> str:
    """Return why a caller may not approve a change; empty if they may."""
    policy, author = parts.policy, Author.of(caller)
    if policy.forbids_decision(author):
        return "Agents only propose on this server; a person decides."
    document = review.entry.document
    proposed = {**stored_form(document), **(review.proposal or {})}
    if policy.is_own_change(author, find_authors(parts, review), document, proposed):
        return "You wrote this change, so somebody else must approve it."
    return ""
