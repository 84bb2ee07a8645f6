"""Commits that survive single failures, and compare-and-set by expected hash."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.instructions.errors import HASH_MISMATCH
from commonplace.instructions.model import Author, Instruction, InstructionChange
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import JsonObject

GROUP_SIZE = 200  # changes that share one wait for the disk
MAX_FAILURES_IN_A_ROW = 3  # then the disk is not tried again


def commit_each(
    store: CatalogueStore, changes: Sequence[InstructionChange], author: Author
) -> dict[str, Exception]:
    """Commit changes together, or one by one if that fails; return the failures by id."""
    try:
        store.commit(changes, author)
        return {}
    except (CommonplaceError, OSError) as error:
        if len(changes) == 1:
            # A removed file counts as removed: the next writer announces it.
            removed = changes[0].after is None and _is_done(store, changes[0])
            return {} if removed else {changes[0].id: error}
    failures: dict[str, Exception] = {}
    in_a_row = 0
    for change in changes:
        if _is_done(store, change):
            continue
        if in_a_row >= MAX_FAILURES_IN_A_ROW:
            failures[change.id] = next(reversed(failures.values()))
            continue
        failed = commit_each(store, [change], author)
        failures |= failed
        in_a_row = in_a_row + 1 if failed else 0
    return failures


def remove_each(
    store: CatalogueStore, ids: Sequence[str], action: str, author: Author
) -> dict[str, Exception]:
    """Remove instructions in groups; return the failures by id."""
    failures: dict[str, Exception] = {}
    for start in range(0, len(ids), GROUP_SIZE):
        group = ids[start : start + GROUP_SIZE]
        changes = [InstructionChange(id_, None, None, action) for id_ in group]
        failures |= commit_each(store, changes, author)
    return failures


def _is_done(store: CatalogueStore, change: InstructionChange) -> bool:
    if change.after is None:
        return not store.has_entry(change.id)
    return store.catalogue.stored(change.id) is change.after


def check_expected_hash(
    expected: str | None,
    entry: Instruction | None,
    catalogue_hash: str,
    *,
    changes_body_only: bool = False,
) -> None:
    """Raise HASH_MISMATCH unless the expected hash covers what the write replaces.

    The catalogue hash and the governanceHash change with every field. The sourceHash covers only
    the body, so it is accepted only for a write that changes nothing else.
    """
    if expected is None or expected == catalogue_hash:
        return
    if entry is not None and (
        expected == entry.governance_hash or (changes_body_only and expected == entry.source_hash)
    ):
        return
    details: JsonObject = {"expectedHash": expected[:100], "catalogHash": catalogue_hash}
    message = "expectedHash does not match: the entry or the catalogue has changed."
    hint = "Read it again, look at the change, then repeat."
    if entry is not None:
        details |= {
            "id": entry.id,
            "sourceHash": entry.source_hash,
            "governanceHash": entry.governance_hash,
        }
        if expected == entry.source_hash:
            message = (
                "expectedHash is the entry's sourceHash, which covers only its body; this write "
                "changes more than the body."
            )
            hint = "Send the governanceHash of the entry: it changes with every field."
    raise CommonplaceError(HASH_MISMATCH, message, hint=hint, details=details)
