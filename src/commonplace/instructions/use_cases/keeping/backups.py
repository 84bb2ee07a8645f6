"""Save instructions before many are removed at once, and bring a backup back."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence

from commonplace.instructions.engine.codec import decode_or_empty, parse
from commonplace.instructions.engine.normalise import NotAnInstruction
from commonplace.instructions.errors import BACKUP_NOT_FOUND
from commonplace.instructions.fields import is_restricted
from commonplace.instructions.model import Author, InstructionChange
from commonplace.instructions.results.review import BackupRestoration
from commonplace.instructions.store.review.backups import BackupFacts
from commonplace.instructions.use_cases.committing import GROUP_SIZE, commit_each
from commonplace.instructions.use_cases.keeping.agents import refuse_agents
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import RESTRICTED, AuthContext, Scope
from commonplace.kernel.errors import CommonplaceError

BULK = 10  # removing more than this many is saved first


def back_up(
    parts: CatalogueParts, ids: Sequence[str], action: str, author: Author
) -> BackupFacts | None:
    """Save instructions that are about to be removed, if they are many. Inside `exclusive` only."""
    if len(ids) <= BULK:
        return None
    contents = {id_: content for id_ in ids if (content := parts.store.read_bytes(id_)) is not None}
    now = parts.now()
    digits = "".join(character for character in now if character.isdigit())
    name = f"{digits[:8]}-{digits[8:17].ljust(9, '0')}-{secrets.token_hex(4)}"
    facts = BackupFacts(name, now, author.label, author.tenant, action, len(contents))
    parts.backups.add(facts, contents)
    return facts


def list_backups(parts: CatalogueParts, caller: AuthContext) -> list[BackupFacts]:
    """Return the backups of the caller's tenant, or of all for `admin`, newest first."""
    return [
        facts
        for facts in parts.backups.all()
        if (caller.has(Scope.ADMIN) or facts.tenant == caller.tenant)
        and not (_is_limited(parts, caller) and _holds_restricted(parts, facts.name))
    ]


def restore_backup(parts: CatalogueParts, caller: AuthContext, name: str) -> BackupRestoration:
    """Bring back the instructions of a backup that do not exist now. Raises BACKUP_NOT_FOUND."""
    contents = _read(parts, caller, name)
    author, store = Author.of(caller), parts.store
    refuse_agents(parts, author, "restore a backup")
    restored: list[str] = []
    failures: dict[str, str] = {}
    with store.exclusive() as catalogue:
        store.refresh(*contents)
        present = [id_ for id_ in contents if store.has_entry(id_)]
        changes = []
        for id_ in contents.keys() - set(present):
            try:
                after = parse(id_, contents[id_], 0.0, parts.rules)
            except NotAnInstruction as unreadable:
                failures[id_] = unreadable.detail or unreadable.reason
                continue
            changes.append(InstructionChange(id_, after, contents[id_], "restore", as_written=True))
        changes.sort(key=lambda change: change.id)
        for start in range(0, len(changes), GROUP_SIZE):
            group = changes[start : start + GROUP_SIZE]
            failed = commit_each(store, group, author)
            failures |= {id_: str(error)[:300] for id_, error in failed.items()}
            restored += [change.id for change in group if change.id not in failed]
        return BackupRestoration(name, restored, sorted(present), failures, catalogue.hash)


def _read(parts: CatalogueParts, caller: AuthContext, name: str) -> Mapping[str, bytes]:
    known = {facts.name for facts in list_backups(parts, caller)}
    contents = parts.backups.read(name) if name in known else None
    if contents is None:
        raise CommonplaceError(
            BACKUP_NOT_FOUND,
            f"There is no backup {name[:40]!r}.",
            hint="instructions_removed lists the backups with their names.",
            details={"backup": name[:100]},
        )
    return contents


def _is_limited(parts: CatalogueParts, caller: AuthContext) -> bool:
    return parts.governance.restrict_reads and RESTRICTED not in caller.may_read


def _holds_restricted(parts: CatalogueParts, name: str) -> bool:
    contents = parts.backups.read(name) or {}
    return any(is_restricted(decode_or_empty(content)) for content in contents.values())
