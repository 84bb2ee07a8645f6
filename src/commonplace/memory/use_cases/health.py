"""What `doctor` says of memory: what there is, whether all of it can be found, by words and by
meaning, and what waits for a decision.
"""

from __future__ import annotations

from commonplace.memory.retrieval.protocol import EntryIndex
from commonplace.memory.store.protocol import MemoryStore

MODEL_SECONDS = 5.0
MANY_PENDING = 200  # suggestions nobody looks at


async def examine(store: MemoryStore, index: EntryIndex) -> list[dict[str, str]]:
    """Over all tenants. Name, status, finding and fix of each check."""
    entries = deleted = links = indexed = pending = 0
    tenants = await store.tenants()
    for tenant in tenants:
        counts = await store.counts(tenant)
        entries += counts.entries
        deleted += counts.deleted
        links += counts.links
        indexed += counts.indexed
        pending += counts.suggestions.get("pending", 0)
    whose = f" of {len(tenants)} tenants" if len(tenants) > 1 else ""
    checks = [
        _check(
            "memory",
            "ok",
            f"{entries} entries{whose}, {deleted} deleted, {links} links, {pending} suggestions "
            f"pending",
        )
    ]
    if pending > MANY_PENDING:
        checks.append(
            _check(
                "memory",
                "note",
                f"{pending} suggestions wait for a decision",
                "commonplace memory suggest lists them.",
            )
        )
    if indexed != entries:
        checks.append(
            _check(
                "memory index",
                "fail",
                f"{indexed} of {entries} entries can be found by their words",
                "commonplace memory reindex",
            )
        )
    checks.append(await _vectors(store, index, entries))
    return checks


async def _vectors(store: MemoryStore, index: EntryIndex, entries: int) -> dict[str, str]:
    absent = await index.prepare(MODEL_SECONDS)
    if absent:
        return _check(
            "memory vectors",
            "note",
            f"search is by words only: {absent}",
            "commonplace models check",
        )
    missing = sum(
        [
            len(await index.missing(tenant, await store.everything(tenant)))
            for tenant in await store.tenants()
        ]
    )
    finding = f"{entries - missing} of {entries} entries can be found by meaning"
    return _check(
        "memory vectors",
        "warn" if missing else "ok",
        finding,
        "commonplace memory embed" if missing else "",
    )


def _check(name: str, status: str, finding: str, fix: str = "") -> dict[str, str]:
    return {"name": name, "status": status, "finding": finding, "fix": fix}
