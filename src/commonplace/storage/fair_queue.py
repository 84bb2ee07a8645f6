"""Fair claims: tenants take turns, and so do the scopes of one tenant, however much work each of
them has queued.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

MAX_REMEMBERED = 20_000

Claimed = TypeVar("Claimed")


@dataclass(frozen=True, slots=True)
class Place:
    """A tenant's scope (a project) that has queued work."""

    tenant: str
    scope: str


class Turns:
    """Remembers who was served when, in this process.

    The least recently served goes first. Not thread-safe.
    """

    def __init__(self) -> None:
        self._served: OrderedDict[str | Place, int] = OrderedDict()
        self._turn = 0

    def order(self, places: Iterable[Place]) -> dict[str, deque[Place]]:
        """Return the places of each tenant; tenants, and the places of each, by when they were
        last served.
        """
        by_tenant: dict[str, list[Place]] = defaultdict(list)
        for place in places:
            by_tenant[place.tenant].append(place)
        tenants = sorted(by_tenant, key=lambda tenant: self._served.get(tenant, 0))
        return {
            tenant: deque(sorted(by_tenant[tenant], key=lambda place: self._served.get(place, 0)))
            for tenant in tenants
        }

    def serve(self, place: Place) -> None:
        """Note that a place had its turn."""
        self._turn += 1
        for name in (place.tenant, place):
            self._served[name] = self._turn
            self._served.move_to_end(name)
        while len(self._served) > MAX_REMEMBERED:
            self._served.popitem(last=False)

    def claim(
        self, places: Iterable[Place], limit: int, take: Callable[[Place, int], Sequence[Claimed]]
    ) -> list[Claimed]:
        """Claim up to `limit` jobs with `take(place, most)`, in equal shares for tenants and for
        the places of a tenant.

        What one of them cannot use goes to the others.
        """
        queues = self.order(places)
        claimed: list[Claimed] = []
        while queues and len(claimed) < limit:
            share = max(1, (limit - len(claimed)) // len(queues))
            for tenant, waiting in list(queues.items()):
                claimed += self._claim_of_tenant(waiting, min(share, limit - len(claimed)), take)
                if not waiting:
                    del queues[tenant]
        return claimed

    def _claim_of_tenant(
        self, waiting: deque[Place], limit: int, take: Callable[[Place, int], Sequence[Claimed]]
    ) -> list[Claimed]:
        """Claim for one tenant. Places that have no more work leave `waiting`."""
        claimed: list[Claimed] = []
        while waiting and len(claimed) < limit:
            place = waiting.popleft()
            most = max(1, (limit - len(claimed)) // (len(waiting) + 1))
            taken = take(place, most)
            if taken:
                self.serve(place)
            if len(taken) >= most:
                waiting.append(place)
            claimed += taken
        return claimed
