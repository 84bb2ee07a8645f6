"""Comparison of the catalogue with a client's copy."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from commonplace.instructions.model import ClientCopy, Instruction
from commonplace.instructions.results.reading import ClientDifference
from commonplace.instructions.store.protocol import CatalogueStore
from commonplace.kernel.json.document import Document


def compare_with_client(
    store: CatalogueStore,
    show: Callable[[Instruction], Document],
    client_hash: str | None,
    copies: Sequence[ClientCopy] | None,
) -> ClientDifference:
    """Return what the client must change to be up to date.

    The contracts compare `sourceHash`, which covers the body. A copy with a `governanceHash` is
    compared by that too.
    """
    if copies is None:
        with store.lock:
            current = store.current().hash
        if client_hash == current:
            return ClientDifference(current, up_to_date=True)
    entries, current = store.snapshot()
    if copies is None:
        return ClientDifference(current, changed=[show(entry) for entry in entries])
    by_id: dict[str, ClientCopy] = {}
    for copy in copies:
        by_id.setdefault(copy.id, copy)
    added = [show(entry) for entry in entries if entry.id not in by_id]
    updated = [
        show(entry) for entry in entries if entry.id in by_id and by_id[entry.id].differs(entry)
    ]
    removed = sorted(by_id.keys() - {entry.id for entry in entries})
    if client_hash == current and not (added or updated or removed):
        return ClientDifference(current, up_to_date=True)
    uncertain = client_hash not in (None, current) and any(
        entry.id in by_id and by_id[entry.id].leaves_metadata_open(entry) for entry in entries
    )
    return ClientDifference(
        current, added=added, updated=updated, removed=removed, metadata_may_differ=uncertain
    )
