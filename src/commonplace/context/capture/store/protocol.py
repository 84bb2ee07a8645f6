"""The store that capture needs: proposals of a tenant, pending and decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from commonplace.context.capture.model import ProposalKind, ProposalState, QueuedProposal
from commonplace.kernel.auth import Tenant
from commonplace.kernel.paging import ResultPage

# Returns what a proposal becomes, or None to leave it as it is. Runs inside the transaction.
ProposalChange = Callable[[QueuedProposal | None], QueuedProposal | None]


class ProposalQueue(Protocol):
    """Proposals of all tenants. Bounded for each tenant: the oldest are forgotten."""

    async def change(
        self, tenant: Tenant, changes: Mapping[str, ProposalChange]
    ) -> Mapping[str, QueuedProposal | None]:
        """Change proposals by their ids in one transaction; return what is stored then."""
        ...

    async def find(self, tenant: Tenant, prefix: str) -> Sequence[QueuedProposal]:
        """Return the proposal with this id, or those whose id begins with it, at most six."""
        ...

    async def newest(self, tenant: Tenant, limit: int) -> Sequence[QueuedProposal]:
        """Return the newest proposals, whatever became of them."""
        ...

    async def page(
        self,
        tenant: Tenant,
        state: ProposalState,
        kind: ProposalKind | None,
        limit: int,
        offset: int,
    ) -> ResultPage[QueuedProposal]:
        """Return a page of one state, newest first."""
        ...

    async def counts(
        self, tenant: Tenant
    ) -> Mapping[ProposalState, Mapping[ProposalKind, int]]: ...

    async def tenants(self) -> Sequence[Tenant]:
        """Return the tenants with proposals."""
        ...

    async def delete_tenant(self, tenant: Tenant) -> None: ...

    async def move_tenant(self, old: Tenant, new: Tenant) -> None: ...

    def close(self) -> None: ...
