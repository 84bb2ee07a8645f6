"""Check memory for `doctor`: what is stored, whether it can be found, and what is pending."""

from __future__ import annotations

from commonplace.memory.engine.passages import MOST_PASSAGES
from commonplace.memory.retrieval.protocol import EntryIndex
from commonplace.memory.store.protocol import MemoryStore

MODEL_SECONDS = 5.0
MANY_PENDING = 200  # suggestions


async def examine(store: MemoryStore, index: EntryIndex) -> list[dict[str, str]]:
    """Return the name, status, finding and fix of each check, over all tenants."""
    entries = deleted = links = indexed = pending = 0
    tenants = await store.tenants()
    for tenant in tenants:
        counts = await store.counts(tenant)
        entries += counts.entries
        deleted += counts.deleted
        links += counts.links
        indexed += counts.indexed
        pending += counts.suggestions.get("pending", 0)
    owners = f" of {len(tenants)} tenants" if len(tenants) > 1 else ""
    finding = f"{entries} entries{owners}, {deleted} deleted, {links} links, {pending} suggestions"
    checks = [_check("memory", "ok", f"{finding} pending")]
    if pending > MANY_PENDING:
        finding = f"{pending} suggestions are waiting for a decision"
        fix = "Review them with: commonplace memory suggest, or many: commonplace memory decide"
        checks.append(_check("memory", "note", finding, fix))
    if indexed != entries:
        finding = f"{indexed} of {entries} entries can be found by their words"
        checks.append(_check("memory index", "fail", finding, "commonplace memory reindex"))
    checks.append(await _check_vectors(store, index, entries))
    return checks


async def _check_vectors(store: MemoryStore, index: EntryIndex, entries: int) -> dict[str, str]:
    unavailable = await index.prepare(MODEL_SECONDS)
    if unavailable:
        finding = f"search uses words only: {unavailable}"
        return _check("memory vectors", "note", finding, "commonplace models check")
    missing = vectors = 0
    for tenant in await store.tenants():
        missing += len(await index.find_missing(tenant, await store.everything(tenant)))
        vectors += await index.count_vectors(tenant)
    finding = (
        f"{entries - missing} of {entries} entries can be found by all of their meaning; "
        f"{vectors} vectors, at most {2 * MOST_PASSAGES} an entry"
    )
    if missing:
        return _check("memory vectors", "warn", finding, "commonplace memory embed")
    return _check("memory vectors", "ok", finding)


def _check(name: str, status: str, finding: str, fix: str = "") -> dict[str, str]:
    return {"name": name, "status": status, "finding": finding, "fix": fix}
