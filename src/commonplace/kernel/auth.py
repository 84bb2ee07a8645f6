"""Who is calling: a frozen value that the edge builds once and everybody below only reads."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import NewType

Tenant = NewType("Tenant", str)
LOCAL_TENANT = Tenant("local")


class Scope(StrEnum):
    """What a key may do. Each scope includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_SCOPES = frozenset(Scope)


@dataclass(frozen=True, slots=True)
class AuthContext:
    """Tenant and scopes decide; the label is for people and logs only, never for authorization."""

    tenant: Tenant
    scopes: frozenset[Scope]
    label: str
    key_id: str | None = None
    model_key: str | None = None  # the caller's own key for external models; never a Commonplace key

    def __repr__(self) -> str:  # a model key must not reach a log through repr
        return f"AuthContext(tenant={self.tenant!r}, scopes={sorted(self.scopes)}, label={self.label!r})"

    @property
    def apikey_hash(self) -> str:
        """The tenant's identity in contract 003's tables."""
        return hashlib.sha256(self.tenant.encode()).hexdigest()

    def has(self, scope: Scope) -> bool:
        return scope in self.scopes


def local_user() -> AuthContext:
    """The person at this machine: stdio, the command line, and HTTP in mode `none` on loopback."""
    return AuthContext(tenant=LOCAL_TENANT, scopes=ALL_SCOPES, label="local")
