"""Stored files by reference, for the domains that read them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.ref import Ref, RefKind
from commonplace.kernel.text.lines import cut_lines

if TYPE_CHECKING:
    from commonplace.bootstrap.services import Services


class ReferencedFiles:
    """Files of this server by reference; a part of an API description stands for the whole.

    The files are opened when first needed.
    """

    def __init__(self, services: Services) -> None:
        self._services = services

    async def digest(self, caller: AuthContext, reference: str) -> str | None:
        """Return the SHA-256 of a whole file as hex; None if missing, or a part of a file."""
        project, ref = _parse(reference)
        if ref.is_part:
            return None
        entry = await self._services.files.stat(caller, project, ref.key)
        return None if entry is None else entry.content_hash

    async def read(self, caller: AuthContext, reference: str) -> bytes:
        """Return the content."""
        project, ref = _parse(reference)
        span = (0, -1) if ref.start is None else (ref.start, (ref.end or 0) - ref.start)
        found = await self._services.files.read(caller, project, ref.key, *span)
        text = found.content if ref.lines is None else cut_lines(found.content, *ref.lines)
        return text.encode()


def _parse(reference: str) -> tuple[str, Ref]:
    ref = Ref.parse(reference)
    if ref.project is None:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{reference[:80]!r} is not a file.",
            hint="Use file:PROJECT/PATH.",
        )
    return ref.project, ref.whole if ref.kind is RefKind.OPENAPI else ref
