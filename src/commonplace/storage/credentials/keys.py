"""API keys of this server: one JSON file with hashes, shared by any number of processes."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from commonplace.kernel.auth import Scope, Tenant
from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.errors import INVALID_ARGUMENT, INVALID_CONFIG, Code, CommonplaceError, Kind
from commonplace.storage.disk.atomic_write import write_atomically
from commonplace.storage.disk.private_files import FOLDER_MODE
from commonplace.storage.locks.file_lock import exclusive_lock

KEY_FORM = re.compile(r"cp_([0-9a-z]{8})_[A-Za-z0-9_-]{43}")
TENANT_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
RESERVED_PREFIX = "bearer-"  # of tenants in mode passthrough
MAX_LABEL = 128
_ID_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

TENANT_NOT_FOUND = Code(
    "TENANT_NOT_FOUND", Kind.NOT_FOUND, "Nothing belongs to a tenant of this name."
)
KEY_NOT_FOUND = Code(
    "KEY_NOT_FOUND", Kind.NOT_FOUND, "No key has this id; `commonplace keys list` shows them."
)
CODES: tuple[Code, ...] = (KEY_NOT_FOUND, TENANT_NOT_FOUND)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """A key without its secret."""

    id: str
    tenant: Tenant
    label: str
    scope: Scope
    hash: str
    created_at: str
    rotated_at: str | None = None
    revoked_at: str | None = None

    @property
    def active(self) -> bool:
        """Whether the key is valid."""
        return self.revoked_at is None


class KeyStore:
    """The keys in a file. A change by another process takes effect with the next call."""

    def __init__(self, path: Path, clock: Clock = utc_now) -> None:
        self.path = path
        self._clock = clock
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, KeyRecord] = {}

    def find(self, token: str) -> KeyRecord | None:
        """Return the active key of a token. Hashes are compared in constant time."""
        form = KEY_FORM.fullmatch(token)
        self._refresh()
        record = self._keys.get(form[1]) if form else None
        expected = record.hash if record is not None else hashlib.sha256(b"no such key").hexdigest()
        matches = hmac.compare_digest(hash_token(token), expected)
        return record if matches and record is not None and record.active else None

    def all(self) -> list[KeyRecord]:
        """Return all keys, oldest first, revoked ones included."""
        self._refresh()
        return sorted(self._keys.values(), key=lambda record: (record.created_at, record.id))

    def tenants(self) -> frozenset[Tenant]:
        """Return every tenant that has or had a key: the data of a revoked key stays."""
        self._refresh()
        return frozenset(record.tenant for record in self._keys.values())

    def add(self, tenant: str, label: str, scope: Scope) -> tuple[KeyRecord, str]:
        """Create a key. Return it with its token, which is stored nowhere."""
        owner, label = validate_tenant_name(tenant), _validate_label(label)
        with self._changing() as keys:
            key_id = next(made for made in iter(_new_id, "") if made not in keys)
            token = _new_token(key_id)
            record = KeyRecord(key_id, owner, label, scope, hash_token(token), iso(self._clock()))
            keys[key_id] = record
        return record, token

    def rotate(self, key_id: str) -> tuple[KeyRecord, str]:
        """Give a key a new token; the old one stops working at once."""
        token = _new_token(key_id)
        return self._change(
            key_id, lambda key: replace(key, hash=hash_token(token), rotated_at=iso(self._clock()))
        ), token

    def revoke(self, key_id: str) -> KeyRecord:
        """Make a key invalid."""
        return self._change(
            key_id,
            lambda key: key if key.revoked_at else replace(key, revoked_at=iso(self._clock())),
        )

    def move_tenant(self, old: str, new: str) -> int:
        """Move all keys of a tenant to another name. Return how many."""
        target = validate_tenant_name(new)
        with self._changing() as keys:
            moved = [key for key in keys.values() if key.tenant == old]
            for key in moved:
                keys[key.id] = replace(key, tenant=target)
        return len(moved)

    def _change(self, key_id: str, changed: Callable[[KeyRecord], KeyRecord]) -> KeyRecord:
        with self._changing() as keys:
            if key_id not in keys:
                raise CommonplaceError(
                    KEY_NOT_FOUND,
                    f"There is no key {key_id[:40]!r}.",
                    hint="List the ids with: commonplace keys list",
                )
            keys[key_id] = changed(keys[key_id])
            return keys[key_id]

    def _refresh(self) -> None:
        try:
            status = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._keys = None, {}
            return
        stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
        if stamp != self._stamp:
            self._keys = _parse(self.path)
            self._stamp = stamp

    @contextlib.contextmanager
    def _changing(self) -> Iterator[dict[str, KeyRecord]]:
        """Read, change and replace the file under a lock between processes."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        with exclusive_lock(self.path.with_suffix(".lock")):
            keys = _parse(self.path) if self.path.exists() else {}
            yield keys
            document = {"version": 1, "keys": [asdict(key) for key in keys.values()]}
            write_atomically(self.path, json.dumps(document, indent=1).encode() + b"\n")
        self._stamp = None


def hash_token(token: str) -> str:
    """Hash a token. It has 256 random bits, so a plain hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


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


def _validate_label(label: str) -> str:
    if not 1 <= len(label) <= MAX_LABEL or not label.isprintable():
        raise CommonplaceError(
            INVALID_ARGUMENT,
            f"A label must have 1 to {MAX_LABEL} printable characters.",
            details={"field": "label"},
        )
    return label


def _new_id() -> str:
    return "".join(secrets.choice(_ID_ALPHABET) for _ in range(8))


def _new_token(key_id: str) -> str:
    return f"cp_{key_id}_{secrets.token_urlsafe(32)}"


def _parse(path: Path) -> dict[str, KeyRecord]:
    try:
        document = json.loads(path.read_bytes())
        records = [
            KeyRecord(**{**item, "scope": Scope(item["scope"])}) for item in document["keys"]
        ]
    except (ValueError, KeyError, TypeError) as broken:
        raise CommonplaceError(
            INVALID_CONFIG,
            f"The key file {path} is damaged ({type(broken).__name__}), so every key is refused.",
            hint="Restore it from a backup, or move it away and add keys again.",
        ) from None
    return {record.id: record for record in records}
