"""What a client has compared with the catalogue, and the catalogue as a whole for a client."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from commonplace.instructions.model import Instruction, Known
from commonplace.instructions.service import Service


def diff(
    service: Service, client_hash: str | None, known: Sequence[Known] | None
) -> dict[str, Any]:
    """Every branch of both contracts: up to date, precise changes against `known`, or the legacy
    `changed`.

    The contracts compare `sourceHash`, which covers the body. A known entry with a `governanceHash`
    is compared by that too.
    """
    if known is None:
        with service.shelf.lock:
            current = service.shelf.fresh().hash
        if client_hash == current:
            return {"upToDate": True, "hash": current}
    entries, current = service.shelf.snapshot()
    if known is None:
        return {"hash": current, "changed": [service.show(entry) for entry in entries]}
    claimed: dict[str, Known] = {}
    for item in known:
        claimed.setdefault(item.id, item)
    added = [service.show(entry) for entry in entries if entry.id not in claimed]
    updated = [
        service.show(entry)
        for entry in entries
        if entry.id in claimed and claimed[entry.id].differs(entry)
    ]
    removed = sorted(claimed.keys() - {entry.id for entry in entries})
    if client_hash == current and not (added or updated or removed):
        return {"upToDate": True, "hash": current}
    answer: dict[str, Any] = {
        "hash": current,
        "added": added,
        "updated": updated,
        "removed": removed,
    }
    if client_hash not in (None, current) and any(
        _undecided(claimed.get(entry.id), entry) for entry in entries
    ):
        answer["metadataMayDiffer"] = True
    return answer


def export(service: Service, ids: Sequence[str] | None, meta_only: bool) -> dict[str, Any]:
    entries, current = service.shelf.snapshot()
    wanted = None if not ids else set(ids)
    items = [service.show(entry) for entry in entries if wanted is None or entry.id in wanted]
    shown = (
        [{name: value for name, value in item.whole().items() if name != "body"} for item in items]
        if meta_only
        else items
    )
    return {"hash": current, "count": len(items), "items": shown}


def _undecided(known: Known | None, entry: Instruction) -> bool:
    """Tell whether a client's copy has the same body, and nothing says whether it has the same
    metadata.
    """
    return known is not None and known.governance_hash is None and not known.differs(entry)
