"""Maintenance of the whole catalogue: groom, repair and enrich."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from commonplace.instructions.engine.codec import decode_or_empty, prepare_as_written
from commonplace.instructions.engine.groom import GroomMode, GroomPlan, plan
from commonplace.instructions.engine.normalise import NotAnInstruction, complete
from commonplace.instructions.engine.times import parse_time
from commonplace.instructions.fields import UNOWNED, stored_form
from commonplace.instructions.model import Author, Instruction, InstructionChange
from commonplace.instructions.results.writing import GroomResult, RewriteResult
from commonplace.instructions.use_cases.committing import (
    GROUP_SIZE,
    check_expected_hash,
    commit_each,
    remove_each,
)
from commonplace.instructions.use_cases.keeping.agents import refuse_agents
from commonplace.instructions.use_cases.keeping.backups import back_up
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

GOVERNANCE_FIELDS = (
    "sourceHash",
    "createdAt",
    "updatedAt",
    "priorityTier",
    "semanticSummary",
    "owner",
    "version",
    "status",
    "changeLog",
    "nextReviewDue",
)


def groom(
    parts: CatalogueParts, caller: AuthContext, mode: GroomMode, expected_hash: str | None
) -> GroomResult:
    """Correct hashes and categories, merge duplicates, remove deprecated entries."""
    started = time.perf_counter()
    if mode.dry_run:
        return _preview_groom(parts, mode, expected_hash, started)
    store, author = parts.store, Author.of(caller)
    if mode.merge_duplicates or mode.remove_deprecated:
        refuse_agents(parts, author, "merge or remove instructions")
    with store.exclusive() as catalogue:
        store.synchronise()
        entries, previous = store.snapshot()
        check_expected_hash(expected_hash, None, previous)
        groomed = _plan(parts, entries, mode)
        notes = groomed.notes()
        rewritten = _rewrite(parts, groomed.rewrites, "groom", author, notes)
        backup = back_up(parts, groomed.removals, "groom", author)
        if backup is not None:
            notes.append(f"backup:{backup.name}")
        failures = remove_each(store, groomed.removals, "groom", author)
        notes += [f"delete-failed:{id_}" for id_ in failures]
        current = catalogue.hash
    unused = [id_ for id_, _ in parts.usage.all() if store.catalogue.stored(id_) is None]
    pruned = 0
    with suppress(OSError):
        pruned = parts.usage.prune(unused)
    return _result(previous, current, groomed, mode, len(rewritten), pruned, notes, started)


def _preview_groom(
    parts: CatalogueParts, mode: GroomMode, expected_hash: str | None, started: float
) -> GroomResult:
    entries, previous = parts.store.snapshot()
    check_expected_hash(expected_hash, None, previous)
    groomed = _plan(parts, entries, mode)
    removals = set(groomed.removals)
    pruned = sum(
        id_ in removals or parts.store.catalogue.stored(id_) is None for id_, _ in parts.usage.all()
    )
    notes = [
        f"{name}:{count}"
        for name, count in (
            ("would-rewrite", len(groomed.rewrites)),
            ("would-remove", len(groomed.removals)),
            ("would-purge", groomed.purged_scopes),
        )
        if count
    ]
    return _result(
        previous, previous, groomed, mode, 0, pruned, [*notes, *groomed.notes()], started
    )


def _plan(parts: CatalogueParts, entries: Sequence[Instruction], mode: GroomMode) -> GroomPlan:
    return plan(entries, {entry.id: read_stored(parts, entry.id) for entry in entries}, mode)


def _result(
    previous: str,
    current: str,
    groomed: GroomPlan,
    mode: GroomMode,
    rewritten: int,
    pruned: int,
    notes: list[str],
    started: float,
) -> GroomResult:
    return GroomResult(
        previous_hash=previous,
        catalogue_hash=current,
        scanned=groomed.scanned,
        repaired_hashes=groomed.repaired_hashes,
        normalized_categories=groomed.normalized_categories,
        deprecated_removed=groomed.deprecated_removed,
        duplicates_merged=groomed.duplicates_merged,
        purged_scopes=groomed.purged_scopes,
        usage_pruned=pruned,
        files_rewritten=rewritten,
        dry_run=mode.dry_run,
        notes=notes,
        elapsed_ms=round((time.perf_counter() - started) * 1000, 3),
    )


def repair(parts: CatalogueParts, caller: AuthContext, expected_hash: str | None) -> RewriteResult:
    """Correct the hashes in files that do not match their bodies."""
    parts.store.open()
    parts.store.synchronise()
    with parts.store.exclusive() as catalogue:
        entries, current = parts.store.snapshot()
        check_expected_hash(expected_hash, None, current)
        documents = {
            entry.id: {**read_stored(parts, entry.id), "sourceHash": entry.source_hash}
            for entry in entries
            if entry.stored_hash != entry.source_hash
        }
        notes: list[str] = []
        updated = _rewrite(parts, documents, "repair", Author.of(caller), notes)
        return RewriteResult(catalogue.hash, updated, [], notes)


def enrich(parts: CatalogueParts, caller: AuthContext, expected_hash: str | None) -> RewriteResult:
    """Write missing governance fields into the files; an owner rule replaces `unowned`."""
    with parts.store.exclusive() as catalogue:
        parts.store.synchronise()
        entries, current = parts.store.snapshot()
        check_expected_hash(expected_hash, None, current)
        documents: dict[str, JsonObject] = {}
        for entry in entries:
            document = _complete_document(parts, entry)
            if document is not None:
                documents[entry.id] = document
        notes: list[str] = []
        updated = _rewrite(parts, documents, "enrich", Author.of(caller), notes)
        skipped = [entry.id for entry in entries if entry.id not in documents]
        return RewriteResult(catalogue.hash, updated, skipped, notes)


def _complete_document(parts: CatalogueParts, entry: Instruction) -> JsonObject | None:
    """Return the document with the missing fields, or None if nothing is missing."""
    stored = read_stored(parts, entry.id)
    shown = entry.document
    incomplete = any(
        stored.get(name) in (None, "", []) for name in GOVERNANCE_FIELDS if name in shown
    ) or any(parse_time(stored.get(name)) is None for name in ("createdAt", "updatedAt"))
    owner = parts.rules.owner_of(entry.id) if shown["owner"] == UNOWNED else None
    if not incomplete and owner is None:
        return None
    dated = {**stored, "createdAt": shown["createdAt"], "updatedAt": shown["updatedAt"]}
    completed = stored_form(complete(dated, entry.id, 0.0, parts.rules)[0])
    given = {name: value for name, value in stored.items() if value not in (None, "", [])}
    document = {
        **{name: value for name, value in completed.items() if name not in entry.salvaged},
        **given,
    }
    document["sourceHash"] = stored.get("sourceHash") or entry.source_hash
    if owner is not None:
        document["owner"] = owner
    return document


def _rewrite(
    parts: CatalogueParts,
    documents: Mapping[str, Mapping[str, Json]],
    action: str,
    author: Author,
    notes: list[str],
) -> list[str]:
    """Write documents in groups, note those that cannot be written, and return the others' ids."""
    now = parts.now()
    written: list[str] = []
    changes: list[InstructionChange] = []
    for id_, document in documents.items():
        try:
            dated = {**document, "updatedAt": now}
            changes.append(prepare_as_written(id_, dated, action, parts.rules))
        except (NotAnInstruction, CommonplaceError):
            notes.append(f"write-failed:{id_}")
    for start in range(0, len(changes), GROUP_SIZE):
        group = changes[start : start + GROUP_SIZE]
        failures = commit_each(parts.store, group, author)
        written += [change.id for change in group if change.id not in failures]
        notes += [f"write-failed:{id_}" for id_ in failures]
    return written


def read_stored(parts: CatalogueParts, id_: str) -> JsonObject:
    """Return the document of an instruction as it is stored."""
    return decode_or_empty(parts.store.read_bytes(id_))
