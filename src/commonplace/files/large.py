"""Store a text that one request may not carry: for import, which calls the service directly."""

from __future__ import annotations

import contextlib

from commonplace.dispatch.transfer import parts_of, temporary_path
from commonplace.files.model import Provenance, WriteMode
from commonplace.files.service import FilesService
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.errors import CommonplaceError


async def store_text(
    service: FilesService,
    caller: AuthContext,
    project: str,
    path: str,
    content: str,
    provenance: Provenance,
) -> None:
    """Replace a file.

    A long text is written in parts beside it and moved into place in one step; a failure leaves
    what was there.
    """
    limit = service.settings.max_payload_bytes
    if len(content.encode("utf-8", "surrogatepass")) <= limit:
        await service.write(
            caller, project, path, content, mode=WriteMode.TRUNCATE, provenance=provenance
        )
        return
    temporary, expected = temporary_path(path), ""
    try:
        for part in parts_of(content, limit):
            _, entry = await service.write(
                caller, project, temporary, part, mode=WriteMode.APPEND, if_match=expected
            )
            expected = entry.content_hash or ""
        await service.rename(caller, project, temporary, path, overwrite=True)
    except CommonplaceError:
        with contextlib.suppress(CommonplaceError):
            await service.delete(caller, project, temporary)
        raise
    await service.note_source(caller, project, path, provenance)
