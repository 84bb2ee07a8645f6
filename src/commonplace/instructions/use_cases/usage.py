"""Count uses of instructions and rank instructions by them."""

from __future__ import annotations

from commonplace.instructions.engine.usage import ReportedUse
from commonplace.instructions.results.analysis import HotSet, UseRecord
from commonplace.instructions.use_cases.parts import CatalogueParts


def track_use(parts: CatalogueParts, id_: str, use: ReportedUse | None) -> UseRecord | None:
    """Count a use; return None if there is no such instruction."""
    with parts.store.lock:
        if parts.store.current().get(id_) is None:
            return None
    count, counted = parts.usage.track(id_, use)
    if use is not None:
        record = {"id": id_, "context": dict(use.context), "metrics": dict(use.metrics)}
        parts.trace("usage", record)
    return UseRecord(id_, count.total, count.last_used, rate_limited=not counted)


def find_hot_set(parts: CatalogueParts, limit: int) -> HotSet:
    """Return the most used instructions; of equals, the most recently used come first."""
    counts = parts.usage.all()
    with parts.store.lock:
        catalogue = parts.store.current()
        known = [(id_, count) for id_, count in counts if id_ in catalogue.entries]
        catalogue_hash = catalogue.hash
    known.sort(key=lambda item: item[0])
    known.sort(key=lambda item: (item[1].total, item[1].last_used), reverse=True)
    uses = [
        UseRecord(id_, count.total, count.last_used, rate_limited=False)
        for id_, count in known[:limit]
    ]
    return HotSet(catalogue_hash, limit, uses)
