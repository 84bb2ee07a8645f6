"""Complete the anchors of entries when they are written, and compare them when they are read."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence

from commonplace.kernel.auth import Tenant
from commonplace.memory.anchors import AnchorState, AnchorVerdict, CodeAnchor
from commonplace.memory.code.protocol import AnchorChecker
from commonplace.memory.model import Entry
from commonplace.memory.results import AnchoredEntry, StaleCode
from commonplace.memory.store.protocol import MemoryStore

PAGE = 500  # entries that are read and compared together
MOST_COMPARED = 20_000  # entries of one listing
NO_CHECKER = "no repository is configured"


class AnchorReview:
    """Compares what entries speak of with the code of today."""

    def __init__(self, store: MemoryStore, checker: AnchorChecker | None) -> None:
        self._store = store
        self._checker = checker

    @property
    def repository(self) -> str | None:
        """The repository around a local caller."""
        return self._checker.default_repository() if self._checker is not None else None

    async def complete(
        self, tenant: Tenant, anchors: Sequence[CodeAnchor], known: Iterable[CodeAnchor] = ()
    ) -> tuple[CodeAnchor, ...]:
        """Return the anchors with their hashes, if their repositories can be read.

        A hash that is given is kept; one of `known` with the same text is kept whole.
        """
        kept = {(anchor.key, anchor.digest): anchor for anchor in known}
        completed = []
        for anchor in anchors:
            if anchor.hash:
                completed.append(kept.get((anchor.key, anchor.digest), anchor))
            elif self._checker is not None:
                completed.append(await self._checker.take(tenant, anchor))
            else:
                completed.append(anchor)
        return tuple(completed)

    async def compare(
        self, tenant: Tenant, entries: Iterable[Entry], *, fresh: bool
    ) -> dict[str, tuple[AnchorVerdict, ...]]:
        """Return the states of the anchors of each entry that has some, by its id."""
        anchored = [entry for entry in entries if entry.anchors]
        anchors = [anchor for entry in anchored for anchor in entry.anchors]
        if not anchors:
            return {}
        if self._checker is None:
            verdicts: Sequence[AnchorVerdict] = [
                AnchorVerdict(anchor, AnchorState.UNKNOWN, reason=NO_CHECKER) for anchor in anchors
            ]
        else:
            verdicts = await self._checker.check(tenant, anchors, fresh=fresh)
        following = iter(verdicts)
        return {entry.id: tuple(next(following) for _ in entry.anchors) for entry in anchored}

    async def list_all(self, tenant: Tenant) -> AsyncIterator[AnchoredEntry]:
        """Yield every active entry that speaks of code."""
        after = ""
        while True:
            page = await self._store.anchored(tenant, after, PAGE)
            verdicts = await self.compare(tenant, page, fresh=True)
            for entry in page:
                yield AnchoredEntry(entry, verdicts[entry.id])
            if len(page) < PAGE:
                return
            after = page[-1].id

    async def stale(self, tenant: Tenant, limit: int) -> StaleCode:
        """Return the entries whose code changed or is gone, newest first, with the commits."""
        compared, stale = 0, []
        async for anchored in self.list_all(tenant):
            compared += 1
            if anchored.is_stale:
                stale.append(anchored)
            if compared == MOST_COMPARED:
                break
        stale.reverse()
        shown = tuple(stale[:limit])
        verdicts = [verdict for row in shown for verdict in row.verdicts if verdict.is_stale]
        changes = await self._checker.last_changes(tenant, verdicts) if self._checker else {}
        return StaleCode(shown, len(stale), compared, changes)
