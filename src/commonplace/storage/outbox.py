"""Work that must follow a committed change: claimed under a lease, retried with backoff,
dead-lettered where people can see it.

The job table belongs to the domain (contracts fix its name and columns), so the domain's `.sql`
file defines the statements `outbox_expire`, `outbox_places`, `outbox_claim`, `outbox_renew`,
`outbox_reclaim`, `outbox_release`, `outbox_complete`, `outbox_retry`, `outbox_bury` and
`outbox_counts`; this module owns what they mean. They get this process's clock (`now`) and
durations (`lease`, `delay`) in microseconds. A database that several machines share uses its own
clock in place of `now`, so clocks that differ delay nothing.

One row per key: enqueueing again raises `generation`, and completing an older generation leaves the
row for another round, so the latest state always gets worked on and a key never has two jobs.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from commonplace.storage.fair_queue import Place, Turns
from commonplace.storage.relational import Connection

MAX_ERROR_CHARACTERS = 500
MAX_BACKOFF_SECONDS = 300.0
MAX_SIZE = 2**62


@dataclass(frozen=True, slots=True)
class Lease:
    """A claimed job. Nobody else claims this generation before the lease ends."""

    id: int
    generation: int
    tenant: str
    scope: str
    key: str
    operation: str
    retry_count: int
    queued_at: int
    size: int = 0  # bytes of what the job is about, as far as they say how long it takes


@dataclass(frozen=True, slots=True)
class LargeJobs:
    """Which jobs count as large, and how many of them a claim may bring: they take long, so a
    worker takes few at a time.
    """

    over_bytes: int
    most: int
    busy: Set[str] = (
        frozenset()
    )  # tenants that have a large job under way, and get no other one now


@dataclass(frozen=True, slots=True)
class Counts:
    """How the queue stands. `oldest_at` is when the oldest waiting job was queued."""

    pending: int
    processing: int
    dead: int
    oldest_at: int | None


@dataclass(frozen=True, slots=True)
class Outbox:
    queries: Mapping[str, str]
    retry_max: int = 5
    backoff_seconds: float = 1.0
    lease_seconds: float = 60.0

    def claim(
        self,
        connection: Connection,
        turns: Turns,
        *,
        owner: str,
        now: int,
        limit: int,
        large: LargeJobs | None = None,
    ) -> list[Lease]:
        """Take up to `limit` jobs that are due, or whose lease ran out: tenants in turn, the
        oldest of each scope first.

        With `large`, at most one large job for each tenant, beside the small ones of the same
        scope.
        """
        values = {"owner": owner, "now": now, "lease": _microseconds(self.lease_seconds)}
        connection.execute(self.queries["outbox_expire"], {"now": now})
        places = [
            Place(*row) for row in connection.execute(self.queries["outbox_places"], {"now": now})
        ]
        refused = set(large.busy) if large is not None else set()
        room = large.most if large is not None else 0

        def take(place: Place, most: int, over: int, upto: int) -> list[Lease]:
            bounds = {
                "tenant": place.tenant,
                "scope": place.scope,
                "limit": most,
                "over": over,
                "upto": upto,
            }
            return [
                Lease(*row)
                for row in connection.execute(
                    self.queries["outbox_claim"], {**values, **bounds}
                ).fetchall()
            ]

        def take_sizes(place: Place, most: int) -> list[Lease]:
            nonlocal room
            if large is None:
                return take(place, most, -1, MAX_SIZE)
            taken: list[Lease] = []
            if (
                room > 0
                and place.tenant not in refused
                and (taken := take(place, 1, large.over_bytes, MAX_SIZE))
            ):
                room -= 1
                refused.add(place.tenant)
            return taken + (
                take(place, most - len(taken), -1, large.over_bytes) if most > len(taken) else []
            )

        return sorted(
            turns.claim(places, limit, take_sizes), key=lambda lease: (lease.queued_at, lease.id)
        )

    def reclaim(self, connection: Connection, *, owner: str, now: int) -> None:
        """Make what others had claimed due again, without waiting for their leases: for whoever
        knows that they are gone.
        """
        connection.execute(self.queries["outbox_reclaim"], {"owner": owner, "now": now})

    def release(self, connection: Connection, *, owner: str, now: int) -> None:
        """Give back what this owner has claimed and does not finish."""
        connection.execute(self.queries["outbox_release"], {"owner": owner, "now": now})

    def renew(self, connection: Connection, *, owner: str, now: int) -> None:
        """Keep what this owner is working on for another lease: whoever works for long says so
        in time.
        """
        connection.execute(
            self.queries["outbox_renew"],
            {"owner": owner, "now": now, "lease": _microseconds(self.lease_seconds)},
        )

    def complete(self, connection: Connection, lease: Lease) -> None:
        """Done, unless the key was queued again meanwhile: then it stays pending."""
        connection.execute(
            self.queries["outbox_complete"], {"id": lease.id, "generation": lease.generation}
        )

    def fail(self, connection: Connection, lease: Lease, error: str, *, now: int) -> bool:
        """Try again later, or bury the job after `retry_max` retries. True when it was buried."""
        parameters = {
            "id": lease.id,
            "generation": lease.generation,
            "error": error[:MAX_ERROR_CHARACTERS],
            "now": now,
        }
        if lease.retry_count >= self.retry_max:
            connection.execute(self.queries["outbox_bury"], parameters)
            return True
        delay = min(self.backoff_seconds * 2**lease.retry_count, MAX_BACKOFF_SECONDS)
        connection.execute(
            self.queries["outbox_retry"], {**parameters, "delay": _microseconds(delay)}
        )
        return False

    def counts(
        self, connection: Connection, tenant: str | None = None, scope: str | None = None
    ) -> Counts:
        """Of one tenant and scope, or of everything (for the operator)."""
        row = connection.execute(
            self.queries["outbox_counts"], {"tenant": tenant, "scope": scope}
        ).fetchone()
        pending, processing, dead, oldest = row if row else (0, 0, 0, None)
        return Counts(pending or 0, processing or 0, dead or 0, oldest)


def _microseconds(seconds: float) -> int:
    return int(seconds * 1e6)
