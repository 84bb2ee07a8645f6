"""Fair claims from a job queue: tenants, and the scopes of a tenant, are served in turn."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from commonplace.kernel.lru import LruCache

MAX_REMEMBERED = 20_000

Claimed = TypeVar("Claimed")


@dataclass(frozen=True, slots=True)
class TenantScope:
    """A scope of a tenant (a project) that has queued work."""

    tenant: str
    scope: str


class FairQueue:
    """Remember when each tenant and scope was served, in this process.

    The least recently served goes first. Not thread-safe.
    """

    def __init__(self) -> None:
        self._last_turns: LruCache[str | TenantScope, int] = LruCache(MAX_REMEMBERED)
        self._turn = 0

    def order(self, scopes: Iterable[TenantScope]) -> dict[str, deque[TenantScope]]:
        """Return the scopes by tenant; tenants and scopes least recently served first."""
        by_tenant: dict[str, list[TenantScope]] = defaultdict(list)
        for scope in scopes:
            by_tenant[scope.tenant].append(scope)
        return {
            tenant: deque(sorted(by_tenant[tenant], key=self._last_turn))
            for tenant in sorted(by_tenant, key=self._last_turn)
        }

    def record_turn(self, scope: TenantScope) -> None:
        """Note that a scope was served."""
        self._turn += 1
        self._last_turns.put(scope.tenant, self._turn)
        self._last_turns.put(scope, self._turn)

    def claim(
        self,
        scopes: Iterable[TenantScope],
        limit: int,
        take: Callable[[TenantScope, int], Sequence[Claimed]],
    ) -> list[Claimed]:
        """Claim up to `limit` jobs with `take(scope, most)`.

        Tenants get equal shares, and so do the scopes of a tenant; unused shares go to the others.
        """
        queues = self.order(scopes)
        claimed: list[Claimed] = []
        while queues and len(claimed) < limit:
            share = max(1, (limit - len(claimed)) // len(queues))
            for tenant, waiting in list(queues.items()):
                claimed += self._claim_of_tenant(waiting, min(share, limit - len(claimed)), take)
                if not waiting:
                    del queues[tenant]
        return claimed

    def _last_turn(self, name: str | TenantScope) -> int:
        return self._last_turns.peek(name) or 0

    def _claim_of_tenant(
        self,
        waiting: deque[TenantScope],
        limit: int,
        take: Callable[[TenantScope, int], Sequence[Claimed]],
    ) -> list[Claimed]:
        """Claim for one tenant. Scopes without more work are removed from `waiting`."""
        claimed: list[Claimed] = []
        while waiting and len(claimed) < limit:
            scope = waiting.popleft()
            most = max(1, (limit - len(claimed)) // (len(waiting) + 1))
            taken = take(scope, most)
            if taken:
                self.record_turn(scope)
            if len(taken) >= most:
                waiting.append(scope)
            claimed += taken
        return claimed
