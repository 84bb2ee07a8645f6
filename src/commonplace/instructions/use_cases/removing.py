"""Remove instructions, and those that depend on them if asked."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from commonplace.instructions.errors import CONFIRMATION_REQUIRED, REMOVE_MISSING
from commonplace.instructions.fields import is_reserved_id, is_valid_id
from commonplace.instructions.model import Author
from commonplace.instructions.results.writing import RemovalResult
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.instructions.use_cases.committing import check_expected_hash, remove_each
from commonplace.instructions.use_cases.keeping.agents import refuse_agents_approved
from commonplace.instructions.use_cases.keeping.backups import back_up
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.errors import disk_full
from commonplace.storage.failures import is_disk_full

CONFIRM_ABOVE = 10


@dataclass(frozen=True, slots=True)
class RemovalOptions:
    """How to remove instructions."""

    confirm: bool = False
    cascade: bool = False
    missing_ok: bool = False
    expected_hash: str | None = None
    dry_run: bool = False


def remove(
    parts: CatalogueParts, caller: AuthContext, ids: Sequence[str], options: RemovalOptions
) -> RemovalResult:
    """Remove instructions; files that could not be loaded can be removed too."""
    store, wanted = parts.store, list(dict.fromkeys(ids))
    with store.exclusive() as catalogue:
        store.refresh(*wanted)
        only_entry = catalogue.get(wanted[0]) if len(wanted) == 1 else None
        check_expected_hash(options.expected_hash, only_entry, catalogue.hash)
        present = dict.fromkeys(id_ for id_ in wanted if _is_removable(store, id_))
        missing = [id_ for id_ in wanted if id_ not in present]
        dependents = find_dependents(store, present) if options.cascade else []
        if options.dry_run:
            return RemovalResult(
                catalogue.hash,
                list(present),
                dependents if options.cascade else None,
                missing,
                {},
                dry_run=True,
            )
        _check_confirmation(options, len(wanted), len(present), dependents)
        if missing and parts.settings.strict_remove and not options.missing_ok:
            raise CommonplaceError(
                REMOVE_MISSING,
                f"{len(missing)} of the ids do not exist; nothing was removed.",
                hint="Leave the missing ids out, or unset MCP_INSTRUCTIONS_STRICT_REMOVE.",
                details={"missing": [id_[:200] for id_ in missing[:100]], "field": "ids"},
            )
        all_ids, author = [*present, *dependents], Author.of(caller)
        refuse_agents_approved(parts, author, map(catalogue.stored, all_ids), "remove")
        backup = back_up(parts, all_ids, "remove", author)
        failures = remove_each(store, all_ids, "remove", author)
        removed = [id_ for id_ in all_ids if id_ not in failures]
        if failures and not removed and all(map(is_disk_full, failures.values())):
            raise disk_full()
        catalogue_hash = catalogue.hash
    with suppress(OSError):
        parts.usage.prune(removed)
    return RemovalResult(
        catalogue_hash,
        [id_ for id_ in removed if id_ in present],
        [id_ for id_ in removed if id_ not in present] if options.cascade else None,
        missing,
        failures,
        backup=backup.name if backup is not None else None,
    )


def _check_confirmation(
    options: RemovalOptions, wanted: int, present: int, dependents: Sequence[str]
) -> None:
    count = present + len(dependents)
    if max(count, wanted) > CONFIRM_ABOVE and not options.confirm:
        raise CommonplaceError(
            CONFIRMATION_REQUIRED,
            f"{wanted} ids are given and {count} instructions would be removed; more than "
            f"{CONFIRM_ABOVE} need a confirmation.",
            hint="Nothing was removed. Repeat the call with confirm: true if you mean it.",
            details={
                "count": count,
                "cascadeRemovals": list(dependents[:100]),
                "field": "confirm",
            },
        )


def _is_removable(store: CatalogueStore, id_: str) -> bool:
    """Tell whether an id is in the catalogue, or belongs to a file that could not be loaded."""
    if store.catalogue.stored(id_) is not None:
        return True
    rejection = store.rejection_of(id_)
    return (
        rejection is not None
        and is_valid_id(id_)
        and not is_reserved_id(id_)
        and rejection.reason != "symlink"
    )


def find_dependents(store: CatalogueStore, ids: Collection[str]) -> list[str]:
    """Return the ids that depend on these, directly or through others."""
    dependents_of: dict[str, list[str]] = {}
    for entry in store.snapshot()[0]:
        for dependency in entry.document.get("dependencies", ()):
            dependents_of.setdefault(dependency, []).append(entry.id)
    found: set[str] = set()
    queue = list(ids)
    while queue:
        for dependent in dependents_of.get(queue.pop(), ()):
            if dependent not in found and dependent not in ids:
                found.add(dependent)
                queue.append(dependent)
    return sorted(found)
