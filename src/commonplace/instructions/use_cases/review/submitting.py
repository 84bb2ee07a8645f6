"""Submit a draft, or a change of an approved instruction, for review."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.instructions.engine.entry.checks import EntryRefused, check_id
from commonplace.instructions.engine.entry.compose import compose
from commonplace.instructions.engine.review.events import ReviewAction, ReviewEvent
from commonplace.instructions.engine.review.policy import EFFECTIVE
from commonplace.instructions.errors import (
    CATALOGUE_LIMIT,
    INSTRUCTION_NOT_FOUND,
    INVALID_INSTRUCTION,
)
from commonplace.instructions.fields import APPROVAL, stored_form
from commonplace.instructions.model import Author, Instruction
from commonplace.instructions.results.review import ReviewOutcome
from commonplace.instructions.use_cases.adding import (
    prepare_entry,
    refuse_archived,
    refuse_unreadable_file,
)
from commonplace.instructions.use_cases.committing import check_expected_hash
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.review.reading import find_review
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

MAX_EVENTS = 500  # of one round


def submit(
    parts: CatalogueParts,
    caller: AuthContext,
    id_: str,
    entry: Mapping[str, Json] | None,
    note: str,
    expected_hash: str | None,
) -> ReviewOutcome:
    """Ask for a review of a draft, or propose a change of an approved instruction.

    `entry` holds the fields to change. An approved text stays in effect until the decision.
    Raises INSTRUCTION_NOT_FOUND, INVALID_INSTRUCTION and HASH_MISMATCH.
    """
    store = parts.store
    with store.exclusive() as catalogue:
        store.refresh(id_)
        existing = catalogue.get(id_)
        check_expected_hash(expected_hash, existing, catalogue.hash)
        try:
            if existing is not None and existing.document["status"] in EFFECTIVE:
                _propose_again(parts, caller, existing, entry, note)
            else:
                put_under_review(parts, caller, id_, existing, entry, note)
        except EntryRefused as refused:
            raise _invalid(id_, refused) from None
        return outcome(parts, caller, id_, ReviewAction.SUBMIT)


def outcome(
    parts: CatalogueParts, caller: AuthContext, id_: str, action: ReviewAction
) -> ReviewOutcome:
    """Describe an instruction after a step of its review."""
    catalogue = parts.store.catalogue
    entry = catalogue.get(id_)
    try:
        review = find_review(parts, caller, catalogue, id_)
    except CommonplaceError:
        review = None
    return ReviewOutcome(
        id_,
        action.value,
        str(entry.document["status"]) if entry is not None else "removed",
        review is not None and review.kind == "proposal",
        review.hash if review is not None else None,
        catalogue.hash,
        entry.governance_hash if entry is not None else None,
        str(entry.document["version"]) if entry is not None else None,
    )


def record_event(
    parts: CatalogueParts,
    caller: AuthContext | Author,
    id_: str,
    action: ReviewAction,
    *,
    note: str = "",
    entry: JsonObject | None = None,
    hash_: str | None = None,
) -> None:
    """Append an event to a review. Inside `exclusive` only. Raises CATALOGUE_LIMIT."""
    if len(parts.reviews.thread(id_).round) >= MAX_EVENTS:
        raise CommonplaceError(
            CATALOGUE_LIMIT,
            f"The review of {id_} has {MAX_EVENTS} events; decide it before you add more.",
            details={"limit": "maxReviewEvents", "maximum": MAX_EVENTS},
        )
    event = ReviewEvent(id_, action, parts.now(), caller.label, caller.tenant, note, entry, hash_)
    parts.reviews.append(event)


def propose(
    parts: CatalogueParts,
    author: Author,
    existing: Instruction,
    entry: Mapping[str, Json],
    note: str = "",
) -> JsonObject:
    """Keep a change of an approved instruction until somebody decides; return its fields.

    Inside `exclusive` only. Raises EntryRefused for a change that could not be stored.
    """
    fields = {name: value for name, value in entry.items() if name not in ("lax", *APPROVAL)}
    document = compose(
        fields,
        existing,
        lax=True,
        origin=parts.origin(author),
        rules=parts.rules,
        keep_omitted=True,
    )
    prepare_entry(document, "submit", parts.rules)
    record_event(parts, author, existing.id, ReviewAction.SUBMIT, note=note, entry=fields)
    return fields


def propose_once(
    parts: CatalogueParts, author: Author, existing: Instruction, entry: Mapping[str, Json]
) -> None:
    """Propose a change unless the same one waits already. Inside `exclusive` only."""
    waiting = parts.reviews.thread(existing.id).proposal
    fields = {name: value for name, value in entry.items() if name not in ("lax", *APPROVAL)}
    if waiting != fields:
        propose(parts, author, existing, fields)


def _propose_again(
    parts: CatalogueParts,
    caller: AuthContext,
    existing: Instruction,
    entry: Mapping[str, Json] | None,
    note: str,
) -> None:
    if entry is None:
        entry = parts.reviews.thread(existing.id).proposal
    if entry is None:
        raise EntryRefused(
            "missing entry",
            f"{existing.id} is {existing.document['status']}; send the fields to change in entry",
        )
    propose(parts, Author.of(caller), existing, {**entry, "id": existing.id}, note)


def put_under_review(
    parts: CatalogueParts,
    caller: AuthContext,
    id_: str,
    existing: Instruction | None,
    entry: Mapping[str, Json] | None,
    note: str,
) -> None:
    """Store a draft or a new instruction as one that waits. Inside `exclusive` only."""
    store, author = parts.store, Author.of(caller)
    if existing is None:
        refuse_archived(store, id_)
        refuse_unreadable_file(store, id_)
        if entry is None:
            raise CommonplaceError(
                INSTRUCTION_NOT_FOUND,
                f"{id_[:130]} does not exist.",
                hint="Send the new instruction in entry.",
                details={"id": id_[:200]},
            )
        check_id({"id": id_})
    document = stored_form(existing.document) if existing is not None else {}
    if entry is not None:
        document = compose(
            {**entry, "id": id_},
            existing,
            lax=True,
            origin=parts.origin(author),
            rules=parts.rules,
            keep_omitted=True,
        )
    document |= {"status": "review", "updatedAt": parts.now()}
    for name in APPROVAL:
        document.pop(name, None)
    store.commit([prepare_entry(document, "submit", parts.rules)], author)
    record_event(parts, caller, id_, ReviewAction.SUBMIT, note=note)


def _invalid(id_: str, refused: EntryRefused) -> CommonplaceError:
    problem = refused.problem
    return CommonplaceError(
        INVALID_INSTRUCTION,
        f"{problem.error}: {problem.hint.rstrip('.')}.",
        hint="Nothing was submitted.",
        details={"id": id_[:200], "field": "entry"},
    )
