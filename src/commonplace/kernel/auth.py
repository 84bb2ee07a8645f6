"""The caller of a call: a frozen value that the edge creates and all layers below read."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NewType

Tenant = NewType("Tenant", str)
LOCAL_TENANT = Tenant("local")
CONSOLE_HEADER = "x-commonplace-console"  # a person uses this server through a console elsewhere
RESERVED_PREFIX = "bearer-"  # of tenants in mode passthrough


class Scope(StrEnum):
    """Permissions of a key. Each scope includes the ones before it."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


ALL_SCOPES = frozenset(Scope)
RESTRICTED = "restricted"  # classification that only some keys may read
READABLE = frozenset({RESTRICTED})


def scopes_up_to(scope: Scope) -> frozenset[Scope]:
    """Return a scope and all that it includes."""
    ordered = tuple(Scope)
    return frozenset(ordered[: ordered.index(scope) + 1])


@lru_cache(maxsize=4096)
def tenant_hash(tenant: Tenant) -> str:
    """Return the SHA-256 of a tenant's name."""
    return hashlib.sha256(tenant.encode()).hexdigest()


def bearer_tenant(token_hash: str) -> Tenant:
    """Return the name of the tenant of a bearer token, in mode `passthrough`."""
    return Tenant(f"{RESERVED_PREFIX}{token_hash[:32]}")


@dataclass(frozen=True, slots=True)
class AuthContext:
    """Tenant and permissions of a caller. The label is for people and logs, not for decisions."""

    tenant: Tenant
    scopes: frozenset[Scope]
    label: str
    key_id: str | None = None
    # The caller's own key for external models; never a key of this server.
    model_key: str | None = None
    # Mode passthrough: SHA-256 of the bearer token, which is the tenant's identity there.
    token_hash: str | None = None
    # A key of this server or its local user: only these may write the shared catalogue.
    configured: bool = True
    # Classifications that this caller may read although `governance.restrict_reads` is on.
    may_read: frozenset[str] = frozenset()
    # The call came through MCP: an agent made it, as far as the server can tell.
    agent: bool = False
    # Where the request came from, as the server or a trusted proxy reports it; for the audit trail.
    address: str | None = field(default=None, compare=False)
    # Where relative paths of a client of the local server start; empty: where the process does.
    folder: str = field(default="", compare=False)

    def __repr__(self) -> str:  # a model key must not reach a log through repr
        return (
            f"AuthContext(tenant={self.tenant!r}, scopes={sorted(self.scopes)}, "
            f"label={self.label!r})"
        )

    @property
    def apikey_hash(self) -> str:
        """The tenant's identity in tables (docs/reference/contracts/files.md, section 3)."""
        return self.token_hash or tenant_hash(self.tenant)

    def has(self, scope: Scope) -> bool:
        """Tell whether the caller has a permission."""
        return scope in self.scopes


def local_user() -> AuthContext:
    """Return the user of this machine: stdio, command line, and HTTP in mode `none` on loopback."""
    return AuthContext(
        tenant=LOCAL_TENANT, scopes=ALL_SCOPES, label=LOCAL_TENANT, may_read=READABLE
    )
