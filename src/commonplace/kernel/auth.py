"""Who is calling: a frozen value that the edge builds once and everybody below only reads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NewType

Tenant = NewType("Tenant", str)
LOCAL_TENANT = Tenant("local")


class Scope(StrEnum):
    """What a key may do. Each scope includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_SCOPES = frozenset(Scope)


def scopes_up_to(scope: Scope) -> frozenset[Scope]:
    """What a key of this scope may do."""
    ordered = tuple(Scope)
    return frozenset(ordered[: ordered.index(scope) + 1])


@lru_cache(maxsize=4096)
def tenant_hash(tenant: Tenant) -> str:
    return hashlib.sha256(tenant.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class AuthContext:
    """Tenant and scopes decide; the label is for people and logs only, never for authorization."""

    tenant: Tenant
    scopes: frozenset[Scope]
    label: str
    key_id: str | None = None
    model_key: str | None = (
        None  # the caller's own key for external models; never a Commonplace key
    )
    token_hash: str | None = (
        None  # passthrough: SHA-256 of the bearer, which is the tenant's identity there
    )
    configured: bool = (
        True  # a key of this server or its local user; only these may write the shared catalogue
    )

    def __repr__(self) -> str:  # a model key must not reach a log through repr
        return (
            f"AuthContext(tenant={self.tenant!r}, scopes={sorted(self.scopes)}, "
            f"label={self.label!r})"
        )

    @property
    def apikey_hash(self) -> str:
        """The tenant's identity in contract 003's tables."""
        return self.token_hash or tenant_hash(self.tenant)

    def has(self, scope: Scope) -> bool:
        return scope in self.scopes


def local_user() -> AuthContext:
    """The person at this machine: stdio, the command line, and HTTP in mode `none` on loopback."""
    return AuthContext(tenant=LOCAL_TENANT, scopes=ALL_SCOPES, label="local")
