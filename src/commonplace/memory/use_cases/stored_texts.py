"""Read all stored texts, for checks by the operator."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from commonplace.kernel.auth import LOCAL_TENANT
from commonplace.memory.store.protocol import MemoryStore


def stored_texts(store: MemoryStore) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield a reference to every entry of all tenants and its texts.

    Runs event loops of its own.
    """
    for tenant in asyncio.run(store.tenants()):
        owner = "" if tenant == LOCAL_TENANT else f" (tenant {tenant})"
        for entry in asyncio.run(store.everything(tenant)):
            yield (
                f"memory:{entry.id}{owner}",
                (entry.title, entry.content, entry.context, entry.project or "", *entry.tags),
            )
