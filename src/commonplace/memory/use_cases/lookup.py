"""Find entries by id or prefix, and the entries that superseded them."""

from __future__ import annotations

from commonplace.kernel.auth import Tenant
from commonplace.memory.errors import ENTRY_NOT_FOUND, failure
from commonplace.memory.model import Entry, final_successor
from commonplace.memory.store.protocol import MemoryStore
from commonplace.memory.ulid import LENGTH, MINIMUM_PREFIX, read_prefix

SHOWN_CANDIDATES = 5  # entries named when a prefix is ambiguous


class EntryLookup:
    """Resolves references that callers give."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store

    async def find(self, tenant: Tenant, reference: str, *, deleted: bool = False) -> Entry:
        """Return the entry with this id, or the only one whose id begins with it."""
        prefix = read_prefix(reference)
        quoted = reference.strip()[:LENGTH]  # as the caller wrote it
        if prefix is None:
            raise _not_found(quoted, too_short=len(reference.strip()) < MINIMUM_PREFIX)
        if len(prefix) == LENGTH:
            entry = await self._store.get(tenant, prefix, deleted=deleted)
            if entry is not None:
                return entry
        limit = SHOWN_CANDIDATES + 1
        matches = await self._store.with_prefix(tenant, prefix, limit, deleted=deleted)
        if not matches:
            raise _not_found(quoted)
        if len(matches) > 1:
            raise _make_ambiguous_error(quoted, matches[:SHOWN_CANDIDATES])
        return matches[0]

    async def successor(self, tenant: Tenant, entry: Entry) -> Entry | None:
        """Return the active entry at the end of an entry's chain of successors."""
        return final_successor(entry, await self.with_successors(tenant, {entry.id: entry}))

    async def with_successors(self, tenant: Tenant, entries: dict[str, Entry]) -> dict[str, Entry]:
        """Add to entries all that superseded them, directly or through others.

        Chains are short and never circular.
        """
        known, latest = dict(entries), entries
        while (
            missing := {e.superseded_by for e in latest.values() if e.superseded_by} - known.keys()
        ):
            latest = await self._store.get_all(tenant, missing)
            known |= latest
        return known


def _not_found(quoted: str, *, too_short: bool = False) -> Exception:
    hint = (
        f"Give at least {MINIMUM_PREFIX} characters of the id."
        if too_short
        else "Use rekall_search to find ids."
    )
    return failure(ENTRY_NOT_FOUND, f"Entry with ID '{quoted}' not found", hint=hint, id=quoted)


def _make_ambiguous_error(quoted: str, matches: tuple[Entry, ...]) -> Exception:
    return failure(
        ENTRY_NOT_FOUND,
        f"'{quoted}' begins the ids of several entries",
        hint="Give more characters: "
        + ", ".join(f"{entry.id} ({entry.title[:40]})" for entry in matches),
        id=quoted,
        candidates=[{"id": entry.id, "title": entry.title} for entry in matches],
    )
