"""Facade of what left the catalogue: removed and archived instructions, and backups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import AuthContext

if TYPE_CHECKING:
    from commonplace.instructions.results.review import (
        ArchiveResult,
        BackupRestoration,
        KeptInstructions,
    )
    from commonplace.instructions.store.review.backups import BackupFacts


class ArchiveService:
    """Instructions that each caller may read or bring back."""

    def __init__(self, parts_of: Callable[[AuthContext], CatalogueParts]) -> None:
        self._parts_of = parts_of

    def archive(
        self,
        caller: AuthContext,
        ids: Sequence[str],
        *,
        restore: bool = False,
        expected_hash: str | None = None,
    ) -> ArchiveResult:
        """Archive instructions, or bring archived ones back."""
        from commonplace.instructions.use_cases.keeping.archive import archive

        parts = self._parts_of(caller)
        return archive(parts, caller, ids, restore=restore, expected_hash=expected_hash)

    def archived(
        self, caller: AuthContext, *, limit: int = 50, offset: int = 0
    ) -> KeptInstructions:
        """Return a page of the archived instructions, newest first."""
        from commonplace.instructions.use_cases.keeping.archive import list_archived

        return list_archived(self._parts_of(caller), limit, offset)

    def removed(self, caller: AuthContext, *, limit: int = 50, offset: int = 0) -> KeptInstructions:
        """Return a page of the removed instructions that the caller may restore, newest first."""
        from commonplace.instructions.use_cases.keeping.removed import list_removed

        return list_removed(self._parts_of(caller), caller, limit, offset)

    def backups(self, caller: AuthContext) -> list[BackupFacts]:
        """Return the backups of bulk removals, newest first."""
        from commonplace.instructions.use_cases.keeping.backups import list_backups

        return list_backups(self._parts_of(caller), caller)

    def restore_backup(self, caller: AuthContext, name: str) -> BackupRestoration:
        """Bring back the instructions of a backup that do not exist now."""
        from commonplace.instructions.use_cases.keeping.backups import restore_backup

        return restore_backup(self._parts_of(caller), caller, name)
