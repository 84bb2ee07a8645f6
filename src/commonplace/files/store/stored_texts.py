"""All stored files as text, for checks by the operator."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from commonplace.files.store.protocol import FileStore
from commonplace.kernel.auth import LOCAL_TENANT, tenant_hash

AT_ONCE = 16  # files of up to 10 MB each


def stored_texts(store: FileStore) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a reference, then project, original name and content, of every live file.

    Covers all tenants. Runs its own event loops.
    """
    last, local = 0, tenant_hash(LOCAL_TENANT)
    while rows := asyncio.run(store.contents(last, AT_ONCE)):
        for row in rows:
            owner = "" if row.tenant == local else f" (tenant {row.tenant[:8]})"
            yield (
                f"file:{row.project}{row.path}{owner}",
                (row.project, row.source_path or "", row.content.decode("utf-8", "replace")),
            )
        last = rows[-1].id
