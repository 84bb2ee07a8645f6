"""An outbox: jobs that follow a committed change, claimed under a lease and retried with backoff.

The job table belongs to the domain (contracts fix its name and columns), so the domain's `.sql`
file defines the statements `outbox_expire`, `outbox_places`, `outbox_claim`, `outbox_renew`,
`outbox_reclaim`, `outbox_release`, `outbox_complete`, `outbox_retry`, `outbox_bury` and
`outbox_counts`; this module defines what they mean. Their parameters are the clock of this process
(`now`) and durations (`lease`, `delay`) in microseconds. A database that several machines share
uses its own clock instead of `now`, so different clocks delay nothing.

There is one row per key: enqueueing again raises `generation`, and completing an older generation
leaves the row for another round, so the latest state is always processed and a key never has two
jobs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass

from commonplace.storage.fair_queue import FairQueue, TenantScope
from commonplace.storage.relational import SqlConnection

MAX_ERROR_CHARACTERS = 500
MAX_BACKOFF_SECONDS = 300.0
MAX_SIZE = 2**62


@dataclass(frozen=True, slots=True)
class Lease:
    """A claimed job. No other worker claims this generation before the lease ends."""

    id: int
    generation: int
    tenant: str
    scope: str
    key: str
    operation: str
    retry_count: int
    queued_at: int
    size: int = 0  # bytes to process, an estimate of the duration


@dataclass(frozen=True, slots=True)
class LargeJobs:
    """Which jobs count as large, and how many of them one claim may return.

    They take long, so a worker takes few at a time.
    """

    over_bytes: int
    most: int
    busy: Set[str] = frozenset()  # tenants with a large job in progress; they get no second one


@dataclass(frozen=True, slots=True)
class QueueCounts:
    """The number of jobs by state. `oldest_at` is when the oldest waiting job was queued."""

    pending: int
    processing: int
    dead: int
    oldest_at: int | None


@dataclass(frozen=True, slots=True)
class Outbox:
    """The operations on a job table."""

    queries: Mapping[str, str]
    retry_max: int = 5
    backoff_seconds: float = 1.0
    lease_seconds: float = 60.0

    def claim(
        self,
        connection: SqlConnection,
        fair_queue: FairQueue,
        *,
        owner: str,
        now: int,
        limit: int,
        large: LargeJobs | None = None,
    ) -> list[Lease]:
        """Claim up to `limit` jobs that are due or whose lease expired.

        Tenants are served in turn, the oldest job of each scope first. With `large`, a tenant gets
        at most one large job, beside the small ones of the same scope.
        """
        connection.execute(self.queries["outbox_expire"], {"now": now})
        scopes = [
            TenantScope(*row)
            for row in connection.execute(self.queries["outbox_places"], {"now": now})
        ]
        lease = {"owner": owner, "now": now, "lease": _microseconds(self.lease_seconds)}
        take_any = functools.partial(self._take, connection, lease)
        take = take_any if large is None else _LargeJobLimit(large, take_any).take
        return sorted(
            fair_queue.claim(scopes, limit, take), key=lambda job: (job.queued_at, job.id)
        )

    def _take(
        self,
        connection: SqlConnection,
        lease: Mapping[str, object],
        scope: TenantScope,
        most: int,
        over: int = -1,
        upto: int = MAX_SIZE,
    ) -> list[Lease]:
        """Claim jobs of one scope whose size is above `over` and at most `upto`."""
        bounds = {"tenant": scope.tenant, "scope": scope.scope, "limit": most}
        rows = connection.execute(
            self.queries["outbox_claim"], {**lease, **bounds, "over": over, "upto": upto}
        )
        return [Lease(*row) for row in rows.fetchall()]

    def reclaim(self, connection: SqlConnection, *, owner: str, now: int) -> None:
        """Make the claims of other owners due again, without waiting for their leases.

        Only for a caller that knows that the other owners ended.
        """
        connection.execute(self.queries["outbox_reclaim"], {"owner": owner, "now": now})

    def release(self, connection: SqlConnection, *, owner: str, now: int) -> None:
        """Return the unfinished claims of an owner to the queue."""
        connection.execute(self.queries["outbox_release"], {"owner": owner, "now": now})

    def renew(
        self, connection: SqlConnection, jobs: Collection[int], *, owner: str, now: int
    ) -> None:
        """Extend leases of an owner; a worker of long jobs calls it in time."""
        lease = _microseconds(self.lease_seconds)
        for job in sorted(jobs):
            connection.execute(
                self.queries["outbox_renew"],
                {"id": job, "owner": owner, "now": now, "lease": lease},
            )

    def complete(self, connection: SqlConnection, lease: Lease) -> None:
        """Mark a job as done. If the key was queued again in the meantime, it stays pending."""
        connection.execute(
            self.queries["outbox_complete"], {"id": lease.id, "generation": lease.generation}
        )

    def fail(self, connection: SqlConnection, lease: Lease, error: str, *, now: int) -> bool:
        """Retry a job later, or make it a dead letter after `retry_max` retries.

        Returns True for a dead letter.
        """
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
        self, connection: SqlConnection, tenant: str | None = None, scope: str | None = None
    ) -> QueueCounts:
        """Count the jobs of a tenant and scope, or of all (for the operator)."""
        row = connection.execute(
            self.queries["outbox_counts"], {"tenant": tenant, "scope": scope}
        ).fetchone()
        pending, processing, dead, oldest = row if row else (0, 0, 0, None)
        return QueueCounts(pending or 0, processing or 0, dead or 0, oldest)


class _LargeJobLimit:
    """Give each tenant at most one large job, and at most `most` of them in total."""

    def __init__(self, large: LargeJobs, take: Callable[..., list[Lease]]) -> None:
        self._over_bytes = large.over_bytes
        self._remaining = large.most
        self._busy = set(large.busy)
        self._take = take

    def take(self, scope: TenantScope, most: int) -> list[Lease]:
        """Claim one large job if allowed, then small ones."""
        taken: list[Lease] = []
        if self._remaining > 0 and scope.tenant not in self._busy:
            taken = self._take(scope, 1, over=self._over_bytes)
        if taken:
            self._remaining -= 1
            self._busy.add(scope.tenant)
        if most > len(taken):
            taken += self._take(scope, most - len(taken), upto=self._over_bytes)
        return taken


def _microseconds(seconds: float) -> int:
    return int(seconds * 1e6)
