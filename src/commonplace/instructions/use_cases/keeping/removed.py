"""Removed instructions, which `restore` brings back."""

from __future__ import annotations

from commonplace.instructions.results.review import KeptInstruction, KeptInstructions
from commonplace.instructions.use_cases.parts import CatalogueParts
from commonplace.kernel.auth import AuthContext, Scope


def list_removed(
    parts: CatalogueParts, caller: AuthContext, limit: int, offset: int
) -> KeptInstructions:
    """Return a page of what the caller's tenant removed, or everybody for `admin`, newest first."""
    kept = [
        KeptInstruction(
            change.id,
            str(change.document.get("title") or change.id),
            change.at,
            change.by,
            change.action,
            change.document.get("version"),
        )
        for change in parts.store.removed()
        if caller.has(Scope.ADMIN) or change.tenant == caller.tenant
    ]
    kept.sort(key=lambda item: item.id)
    kept.sort(key=lambda item: item.at, reverse=True)
    return KeptInstructions(len(kept), kept[offset : offset + limit])
