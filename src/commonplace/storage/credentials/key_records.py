"""API keys as values: a record without its secret, its token, and the registry that keeps them."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal, Protocol

from commonplace.kernel.auth import READABLE, RESERVED_PREFIX, Scope, Tenant
from commonplace.kernel.clock import iso
from commonplace.kernel.errors import INVALID_ARGUMENT, Code, CommonplaceError, Kind

KEY_FORM = re.compile(r"cp_([0-9a-z]{8})_[A-Za-z0-9_-]{43}")
TENANT_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
MAX_LABEL = 128
MAX_DESCRIPTION = 500
NO_HASH = hashlib.sha256(b"no such key").hexdigest()  # compared where no key has the id
_ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"
_LIFETIME = re.compile(r"([1-9][0-9]{0,4})([hdw])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}

TENANT_NOT_FOUND = Code(
    "TENANT_NOT_FOUND", Kind.NOT_FOUND, "Nothing belongs to a tenant of this name."
)
KEY_NOT_FOUND = Code(
    "KEY_NOT_FOUND", Kind.NOT_FOUND, "No key has this id; `commonplace keys list` shows them."
)
CODES: tuple[Code, ...] = (KEY_NOT_FOUND, TENANT_NOT_FOUND)

KeyState = Literal["active", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key without its secret. Times are ISO 8601 in UTC, so they compare as text."""

    id: str
    tenant: Tenant
    label: str
    scope: Scope
    hash: str
    created_at: str
    rotated_at: str | None = None
    revoked_at: str | None = None
    expires_at: str | None = None
    description: str = ""
    last_used_at: str | None = None  # at most a minute behind
    may_read: tuple[str, ...] = ()  # classifications, in order

    def state(self, now: datetime) -> KeyState:
        """Return whether the key is valid at a time, and if not, why."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and iso(now) >= self.expires_at:
            return "expired"
        return "active"


class KeyRegistry(Protocol):
    """The keys of an installation: in a file, or in the database that its servers share."""

    def find(self, token: str) -> KeyRecord | None:
        """Return the active key of a token. Hashes are compared in constant time."""
        ...

    def all(self) -> list[KeyRecord]:
        """Return all keys, oldest first, revoked and expired ones included."""
        ...

    def tenants(self) -> frozenset[Tenant]:
        """Return every tenant that has or had a key: the data of a revoked key stays."""
        ...

    def add(
        self,
        tenant: str,
        label: str,
        scope: Scope,
        *,
        description: str = "",
        expires_at: str | None = None,
        may_read: Collection[str] = (),
    ) -> tuple[KeyRecord, str]:
        """Create a key. Return it with its token, which is stored nowhere."""
        ...

    def rotate(self, key_id: str) -> tuple[KeyRecord, str]:
        """Give a key a new token; the old one stops working. Raises KEY_NOT_FOUND."""
        ...

    def revoke(self, key_id: str) -> KeyRecord:
        """Make a key invalid. Raises KEY_NOT_FOUND."""
        ...

    def move_tenant(self, old: str, new: str) -> int:
        """Move all keys of a tenant to another name. Return how many."""
        ...

    def delete_tenant(self, tenant: str) -> int:
        """Delete all keys of a tenant. Return how many."""
        ...

    def restore(self, records: Iterable[KeyRecord]) -> int:
        """Add keys of another registry with their hashes; keep those whose id is known.

        Return how many were added.
        """
        ...

    def start(self) -> None:
        """Follow changes of other processes and record uses, for a server."""
        ...

    def close(self) -> None:
        """End what `start` began."""
        ...


def hash_token(token: str) -> str:
    """Hash a token. It has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def new_id() -> str:
    """Return a random id of a key."""
    return "".join(secrets.choice(_ID_ALPHABET) for _ in range(8))


def new_token(key_id: str) -> str:
    """Return a new secret for a key."""
    return f"cp_{key_id}_{secrets.token_urlsafe(32)}"


def make_key(
    tenant: str,
    label: str,
    scope: Scope,
    now: datetime,
    description: str,
    expires_at: str | None,
    may_read: Collection[str],
) -> tuple[KeyRecord, str]:
    """Return a new key with its token. Raises INVALID_ARGUMENT."""
    key_id = new_id()
    token = new_token(key_id)
    record = KeyRecord(
        key_id,
        validate_tenant_name(tenant),
        _validate_text("label", label, MAX_LABEL),
        scope,
        hash_token(token),
        iso(now),
        expires_at=expires_at,
        description=_validate_text("description", description, MAX_DESCRIPTION, least=0),
        may_read=validate_readable(may_read),
    )
    return record, token


def validate_readable(classifications: Collection[str]) -> tuple[str, ...]:
    """Return classifications without repetition, in order. Raises INVALID_ARGUMENT."""
    unknown = sorted(set(classifications) - READABLE)
    if unknown:
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{unknown[0][:40]!r} is not a classification that a key can open.",
            hint=f"Use: {', '.join(sorted(READABLE))}.",
            details={"field": "may_read"},
        )
    return tuple(sorted(set(classifications)))


def validate_tenant_name(name: str) -> Tenant:
    """Return a name as a tenant. Raises INVALID_ARGUMENT."""
    if not TENANT_FORM.fullmatch(name) or name.startswith(RESERVED_PREFIX):
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"{name[:80]!r} is not a valid tenant name.",
            hint=f"Use 1 to 64 letters, digits, dots, dashes or underscores, not beginning with "
            f"{RESERVED_PREFIX!r}.",
            details={"field": "tenant"},
        )
    return Tenant(name)


def parse_expiry(text: str, now: datetime) -> str:
    """Return the end of a key's life: `90d`, `12h`, `4w` from now, or an ISO 8601 time in UTC.

    Raises INVALID_ARGUMENT for a time in the past, and for what is not a time.
    """
    lifetime = _LIFETIME.fullmatch(text)
    try:
        if lifetime:
            moment = now + int(lifetime[1]) * _UNITS[lifetime[2]]
        else:
            moment = datetime.fromisoformat(text)
            moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        problem = "is not in the future"
        if moment > now:
            return iso(moment)
    except (ValueError, OverflowError):
        problem = "is not a time"
    raise CommonplaceError(
        INVALID_ARGUMENT,
        f"{text[:40]!r} {problem}.",
        hint="Write it like 90d, 12h, 4w, 2027-01-31 or 2027-01-31T10:00:00Z.",
        details={"field": "expires"},
    )


def unknown_key(key_id: str) -> CommonplaceError:
    """Return the error of a key that does not exist."""
    return CommonplaceError(
        KEY_NOT_FOUND,
        f"There is no key {key_id[:40]!r}.",
        hint="List the ids with: commonplace keys list",
    )


def _validate_text(field: str, text: str, most: int, *, least: int = 1) -> str:
    if not least <= len(text) <= most or not text.isprintable():
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"A {field} must have {least} to {most} printable characters.",
            details={"field": field},
        )
    return text
