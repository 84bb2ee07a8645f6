"""Add or overwrite one instruction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from commonplace.instructions.engine.catalogue import Catalogue
from commonplace.instructions.engine.codec import prepare_change
from commonplace.instructions.engine.entry.checks import EntryRefused, check_id
from commonplace.instructions.engine.entry.compose import compose, warnings_of
from commonplace.instructions.engine.normalise import NotAnInstruction, ReadingRules
from commonplace.instructions.engine.review.policy import EFFECTIVE
from commonplace.instructions.fields import APPROVAL, WARN_BODY_CHARS, stored_form
from commonplace.instructions.model import Author, Instruction, InstructionChange
from commonplace.instructions.results.writing import WriteResult
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.instructions.use_cases.committing import check_expected_hash, commit_each
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.instructions.use_cases.rule_files.policy import review_hidden_text
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.storage.group_commit import GroupCommitter, PendingWrite, resolve_writes

GROUP_SIZE = 32
FOLLOWS_BODY = APPROVAL | {  # fields that a change of the body changes too
    "body",
    "version",
    "changeLog",
    "semanticSummary",
    "updatedAt",
    "sourceHash",
    "schemaVersion",
}


@dataclass(frozen=True, slots=True)
class AddRequest:
    """An entry with a valid id, and how to add it."""

    id: str
    entry: Mapping[str, Json]
    overwrite: bool
    lax: bool
    expected_hash: str | None
    author: Author


@dataclass(slots=True, kw_only=True)
class PendingAdd(PendingWrite):
    """A request in the queue; its value becomes a `WriteResult`."""

    request: AddRequest


@dataclass(frozen=True, slots=True)
class _PlannedAdd:
    pending: PendingAdd
    change: InstructionChange
    existed: bool
    warnings: tuple[str, ...]


def make_request(
    entry: object, *, overwrite: bool, lax: bool, expected_hash: str | None, author: Author
) -> AddRequest:
    """Check the shape and id of an entry. Raises EntryRefused."""
    if not isinstance(entry, Mapping):
        hint = "Wrap the instruction in `entry`: {entry: {id, body, ...}, lax: true}."
        raise EntryRefused("missing entry", hint, structural=True)
    lax = lax or entry.get("lax") is True
    return AddRequest(check_id(entry), entry, overwrite, lax, expected_hash, author)


def open_add_queue(parts: CatalogueParts) -> GroupCommitter[PendingAdd]:
    """Return the queue whose thread writes adds that arrive together with one wait for the disk."""
    return GroupCommitter(
        partial(_commit_group, parts), name="instructions-writer", max_group=GROUP_SIZE
    )


def _commit_group(parts: CatalogueParts, group: Sequence[PendingAdd]) -> None:
    try:
        _write_group(parts, group)
    except Exception as error:  # every caller must learn of it, and the thread must go on
        for pending in group:
            if pending.value is None and pending.error is None:
                pending.error = error
    resolve_writes(group)


def _write_group(parts: CatalogueParts, group: Sequence[PendingAdd]) -> None:
    parts.store.open()
    with parts.store.exclusive() as catalogue:
        planned: dict[str, _PlannedAdd] = {}
        for pending in group:
            request = pending.request
            if request.id in planned or (planned and request.expected_hash is not None):
                _commit_planned(parts.store, planned)  # this request depends on the others
            try:
                plan = _plan(parts, pending, catalogue)
            except (EntryRefused, CommonplaceError) as error:
                pending.error = error
                continue
            if plan is not None:
                planned[request.id] = plan
        _commit_planned(parts.store, planned)


def _commit_planned(store: CatalogueStore, planned: dict[str, _PlannedAdd]) -> None:
    failures: dict[str, Exception] = {}
    for author in {plan.pending.request.author for plan in planned.values()}:
        changes = [
            plan.change for plan in planned.values() if plan.pending.request.author == author
        ]
        failures |= commit_each(store, changes, author)
    for plan in planned.values():
        plan.pending.error = failures.get(plan.change.id)
        if plan.pending.error is None:
            result = verify_write(
                store, plan.change, created=not plan.existed, overwritten=plan.existed
            )
            warnings = (*plan.warnings, *result.warnings)
            plan.pending.value = replace(result, warnings=warnings) if warnings else result
    planned.clear()


def _plan(parts: CatalogueParts, pending: PendingAdd, catalogue: Catalogue) -> _PlannedAdd | None:
    """Return the change; None if the entry exists and the request has its result."""
    request, store, rules = pending.request, parts.store, parts.rules
    store.refresh(request.id)
    existing = catalogue.get(request.id)
    check_expected_hash(request.expected_hash, existing, catalogue.hash, changes_body_only=True)
    if existing is not None and not request.overwrite:
        pending.value = verify_entry(store, existing, skipped=True)
        return None
    rejected = store.rejection_of(request.id) is not None
    if existing is None:
        refuse_archived(store, request.id)
        _check_creation(parts, request, rejected=rejected)
    document = compose(
        request.entry,
        existing,
        lax=request.lax,
        origin=parts.origin(request.author),
        rules=rules,
        keep_omitted=existing is not None,
    )
    concealed = review_hidden_text(request.entry, parts.governance.hidden_text)
    notes = hold_for_review(parts, request.author, existing, document)
    if existing is not None and notes is None:
        pending.value = _propose(parts, request, existing)
        return None
    existed = existing is not None or rejected
    change = prepare_entry(document, "overwrite" if existed else "add", rules)
    if existing is not None and request.expected_hash == existing.source_hash:
        check_expected_hash(
            request.expected_hash,
            existing,
            catalogue.hash,
            changes_body_only=_changes_body_only(existing, change.after),
        )
    warnings = warnings_of(request.entry, existing, lax=request.lax, rules=rules)
    return _PlannedAdd(pending, change, existed, (*warnings, *concealed, *(notes or ())))


def hold_for_review(
    parts: CatalogueParts, author: Author, existing: Instruction | None, document: JsonObject
) -> tuple[str, ...] | None:
    """Make a document that must be approved a draft, and return a note about it.

    Return None if it would change an approved instruction: it has to be proposed.
    """
    before = existing.document if existing is not None else None
    if not parts.policy.must_wait(author, before, document):
        return ()
    if before is not None and before["status"] in EFFECTIVE:
        return None
    status = before["status"] if before is not None else "draft"
    if document["status"] not in EFFECTIVE:
        return ()
    document["status"] = status
    return (f"Stored as {status}: it takes effect when somebody approves it.",)


def _propose(parts: CatalogueParts, request: AddRequest, existing: Instruction) -> WriteResult:
    """Keep the change for a review, unless it changes nothing."""
    from commonplace.instructions.use_cases.review.submitting import propose

    known = stored_form(existing.document)
    if all(known.get(name) == value for name, value in request.entry.items() if name != "lax"):
        return verify_entry(parts.store, existing, skipped=True)
    propose(parts, request.author, existing, request.entry)
    result = verify_entry(parts.store, existing)
    note = (
        f"Proposed: version {existing.document['version']} stays in effect until somebody "
        f"approves the change (instructions_review_show)."
    )
    return replace(result, proposed=True, warnings=(*result.warnings, note))


def _check_creation(parts: CatalogueParts, request: AddRequest, *, rejected: bool) -> None:
    """Refuse to create an entry that strict mode forbids or that would hide an unreadable file."""
    if request.overwrite and parts.settings.strict_create and not rejected:
        raise EntryRefused(
            "strict_create",
            f"{request.id} does not exist, and overwrite may not create it while "
            f"MCP_INSTRUCTIONS_STRICT_CREATE=1.",
        )
    if rejected:
        if not request.overwrite:
            refuse_unreadable_file(parts.store, request.id)
        if not request.entry.get("body"):
            raise EntryRefused(
                "hydration_mismatch", "The stored body cannot be read; send entry.body."
            )


def refuse_archived(store: CatalogueStore, id_: str) -> None:
    """Refuse to replace an archived instruction."""
    if id_ in store.catalogue.archived:
        raise EntryRefused(
            "archived",
            f"{id_} is archived; bring it back with instructions_archive (restore: true), or "
            f"choose another id.",
        )


def refuse_unreadable_file(store: CatalogueStore, id_: str) -> None:
    """Refuse to replace a stored file that could not be read."""
    rejection = store.rejection_of(id_)
    if rejection is not None:
        raise EntryRefused(
            "existing_file_unreadable",
            f"{id_}.json exists but cannot be read ({rejection.reason}); correct it or set "
            f"overwrite.",
        )


def prepare_entry(document: JsonObject, action: str, rules: ReadingRules) -> InstructionChange:
    """Return the change that stores a document. Raises EntryRefused."""
    try:
        return prepare_change(document, action, rules)
    except NotAnInstruction as error:
        raise EntryRefused("invalid_fields", error.detail or error.reason) from None


def verify_write(
    store: CatalogueStore,
    change: InstructionChange,
    *,
    created: bool = False,
    overwritten: bool = False,
) -> WriteResult:
    """Read a committed change back."""
    assert change.after is not None
    return verify_entry(
        store, change.after, created=created, overwritten=overwritten, content=change.content
    )


def verify_entry(
    store: CatalogueStore,
    entry: Instruction,
    *,
    created: bool = False,
    overwritten: bool = False,
    skipped: bool = False,
    content: bytes | None = None,
) -> WriteResult:
    """Compare an entry with the catalogue and the storage."""
    with store.lock:
        present = store.catalogue.stored(entry.id)
        issues: list[str] = []
        if present is None or present.fingerprint != entry.fingerprint:
            issues.append("not-in-catalog")
        stored = store.read_bytes(entry.id)
        if stored is None or (content is not None and stored != content):
            issues.append("not-on-disk" if stored is None else "differs-on-disk")
        catalogue_hash = store.catalogue.hash
    warnings: tuple[str, ...] = ()
    if (
        len(entry.document.encoded) > WARN_BODY_CHARS
        and len(body := entry.document["body"]) > WARN_BODY_CHARS
    ):
        warnings = (f"The body has {len(body)} characters; agents read shorter rules better.",)
    return WriteResult(
        entry,
        catalogue_hash,
        created=created and not issues,
        overwritten=overwritten and not issues,
        skipped=skipped,
        verify_issues=tuple(issues),
        warnings=warnings,
    )


def _changes_body_only(before: Instruction, after: Instruction | None) -> bool:
    """Tell whether a write changes only the body and the fields that follow from it."""
    if after is None:
        return False
    old, new = stored_form(before.document), stored_form(after.document)
    return all(
        old.get(name) == new.get(name)
        for name in old.keys() | new.keys()
        if name not in FOLLOWS_BODY
    )
