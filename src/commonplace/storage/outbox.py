"""Work that must follow a committed change: claimed under a lease, retried with backoff, dead-lettered where people can see it.

The job table belongs to the domain (contracts fix its name and columns), so the domain's `.sql` file defines the statements `outbox_claim`,
`outbox_renew`, `outbox_reclaim`, `outbox_complete`, `outbox_retry`, `outbox_bury` and `outbox_counts`; this module owns what they mean.
One row per key: enqueueing again raises `generation`, and completing an older generation leaves the row for another round, so the
latest state always gets worked on and a key never has two jobs. Times are microseconds since the epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.storage.relational import Connection

MAX_ERROR_CHARACTERS = 500
MAX_BACKOFF_SECONDS = 300.0


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

    def claim(self, connection: Connection, *, owner: str, now: int, limit: int) -> list[Lease]:
        """Take up to `limit` jobs that are due, or whose lease ran out, oldest first."""
        rows = connection.execute(
            self.queries["outbox_claim"],
            {"owner": owner, "now": now, "lease_until": now + int(self.lease_seconds * 1e6), "limit": limit},
        )
        return sorted((Lease(*row) for row in rows), key=lambda lease: (lease.queued_at, lease.id))

    def reclaim(self, connection: Connection, *, owner: str, now: int) -> None:
        """Make what others had claimed due again, without waiting for their leases: for whoever knows that they are gone."""
        connection.execute(self.queries["outbox_reclaim"], {"owner": owner, "now": now})

    def renew(self, connection: Connection, *, owner: str, now: int) -> None:
        """Keep what this owner is working on for another lease: whoever works for long says so in time."""
        connection.execute(self.queries["outbox_renew"], {"owner": owner, "lease_until": now + int(self.lease_seconds * 1e6)})

    def complete(self, connection: Connection, lease: Lease) -> None:
        """Done, unless the key was queued again meanwhile: then it stays pending."""
        connection.execute(self.queries["outbox_complete"], {"id": lease.id, "generation": lease.generation})

    def fail(self, connection: Connection, lease: Lease, error: str, *, now: int) -> bool:
        """Try again later, or bury the job after `retry_max` retries. True when it was buried."""
        parameters = {"id": lease.id, "generation": lease.generation, "error": error[:MAX_ERROR_CHARACTERS], "now": now}
        if lease.retry_count >= self.retry_max:
            connection.execute(self.queries["outbox_bury"], parameters)
            return True
        delay = min(self.backoff_seconds * 2**lease.retry_count, MAX_BACKOFF_SECONDS)
        connection.execute(self.queries["outbox_retry"], {**parameters, "available_at": now + int(delay * 1e6)})
        return False

    def counts(self, connection: Connection, tenant: str | None = None, scope: str | None = None) -> Counts:
        """Of one tenant and scope, or of everything (for the operator)."""
        row = connection.execute(self.queries["outbox_counts"], {"tenant": tenant, "scope": scope}).fetchone()
        pending, processing, dead, oldest = row if row else (0, 0, 0, None)
        return Counts(pending or 0, processing or 0, dead or 0, oldest)
