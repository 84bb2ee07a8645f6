"""Archive instructions: kept and readable by id, but out of lists, search, graph and hashes."""

from __future__ import annotations

from collections.abc import Sequence

from commonplace.instructions.fields import stored_form
from commonplace.instructions.model import Author, Instruction, InstructionChange
from commonplace.instructions.results.review import (
    ArchiveResult,
    KeptInstruction,
    KeptInstructions,
)
from commonplace.instructions.use_cases.adding import prepare_entry
from commonplace.instructions.use_cases.committing import (
    GROUP_SIZE,
    check_expected_hash,
    commit_each,
)
from commonplace.instructions.use_cases.keeping.agents import refuse_agents_approved
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import AuthContext


def archive(
    parts: CatalogueParts,
    caller: AuthContext,
    ids: Sequence[str],
    *,
    restore: bool,
    expected_hash: str | None,
) -> ArchiveResult:
    """Archive instructions, or bring archived ones back."""
    store, author, now = parts.store, Author.of(caller), parts.now()
    unchanged: dict[str, str] = {}
    changes: list[InstructionChange] = []
    with store.exclusive() as catalogue:
        wanted = list(dict.fromkeys(ids))
        store.refresh(*wanted)
        only = catalogue.stored(wanted[0]) if len(wanted) == 1 else None
        check_expected_hash(expected_hash, only, catalogue.hash)
        found = {id_: catalogue.stored(id_) for id_ in wanted}
        refuse_agents_approved(
            parts, author, found.values(), "bring back" if restore else "archive"
        )
        for id_, entry in found.items():
            if entry is None:
                unchanged[id_] = "there is no such instruction"
            elif entry.archived != restore:
                unchanged[id_] = "it is not archived" if restore else "it is archived already"
            else:
                changes.append(_change(parts, entry, restore, now))
        for start in range(0, len(changes), GROUP_SIZE):
            group = changes[start : start + GROUP_SIZE]
            failures = commit_each(store, group, author)
            unchanged |= {id_: str(error)[:300] for id_, error in failures.items()}
        changed = [change.id for change in changes if change.id not in unchanged]
        return ArchiveResult(changed, unchanged, catalogue.hash)


def _change(
    parts: CatalogueParts, entry: Instruction, restore: bool, now: str
) -> InstructionChange:
    document = {**stored_form(entry.document), "updatedAt": now, "archivedAt": now}
    if restore:
        del document["archivedAt"]
    return prepare_entry(document, "unarchive" if restore else "archive", parts.rules)


def list_archived(parts: CatalogueParts, limit: int, offset: int) -> KeptInstructions:
    """Return a page of the archived instructions, newest first."""
    with parts.store.lock:
        entries = list(parts.store.current().archived.values())
    kept = [
        KeptInstruction(
            entry.id,
            str(entry.document["title"]),
            str(entry.document["archivedAt"]),
            None,
            "archive",
            str(entry.document["version"]),
        )
        for entry in entries
    ]
    kept.sort(key=lambda item: item.id)
    kept.sort(key=lambda item: item.at, reverse=True)
    return KeptInstructions(len(kept), kept[offset : offset + limit])
