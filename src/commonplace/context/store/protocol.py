"""The store that context needs: packs and what was said about them, by tenant."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Protocol

from commonplace.context.model import StoredPack, UseWeight
from commonplace.kernel.auth import Tenant


class PackStore(Protocol):
    """Packs for a while, and how useful their items were. Bounded for each tenant."""

    async def put(self, tenant: Tenant, pack: StoredPack) -> None:
        """Remember a pack; the oldest ones are forgotten."""
        ...

    async def get(self, tenant: Tenant, pack_id: str) -> StoredPack | None: ...

    async def weights(self, tenant: Tenant, keys: Collection[str]) -> Mapping[str, UseWeight]:
        """Return what was said about some items, by their key."""
        ...

    async def judge(
        self, tenant: Tenant, pack_id: str, used: Mapping[str, str], useless: Mapping[str, str]
    ) -> frozenset[str] | None:
        """Count references of a pack as used or useless, each by its key, once for each pack.

        Returns the references that were counted; None if there is no such pack.
        """
        ...

    async def uses(self, tenant: Tenant) -> Mapping[str, UseWeight]:
        """Return everything that a tenant said about items, by their key."""
        ...

    async def delete_tenant(self, tenant: Tenant) -> None: ...

    async def move_tenant(self, old: Tenant, new: Tenant) -> None: ...

    def close(self) -> None: ...
