"""API keys of one installation in a JSON file with hashes, shared by any number of processes."""

from __future__ import annotations

import contextlib
import hmac
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from pathlib import Path

from commonplace.kernel.auth import Scope, Tenant
from commonplace.kernel.clock import Clock, iso, utc_now
from commonplace.kernel.errors import INVALID_CONFIG, CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.storage.credentials.key_records import (
    KEY_FORM,
    NO_HASH,
    KeyRecord,
    hash_token,
    make_key,
    new_token,
    unknown_key,
    validate_tenant_name,
)
from commonplace.storage.credentials.last_use import LastUses
from commonplace.storage.disk.atomic_write import write_atomically
from commonplace.storage.disk.private_files import FOLDER_MODE
from commonplace.storage.locks.file_lock import exclusive_lock

# Left out where they have no value, so that an earlier version can read the file.
OPTIONAL = ("expires_at", "description", "last_used_at", "may_read")


class KeyStore:
    """A `KeyRegistry` in a file. A change by another process takes effect with the next call.

    Last uses are in a file of their own, which may be lost.
    """

    def __init__(self, path: Path, clock: Clock = utc_now) -> None:
        self.path = path
        self._clock = clock
        self._stamp: tuple[int, int, int] | None = None
        self._keys: dict[str, KeyRecord] = {}
        self._uses: LastUses | None = None

    def find(self, token: str) -> KeyRecord | None:
        form = KEY_FORM.fullmatch(token)
        self._refresh()
        record = self._keys.get(form[1]) if form else None
        expected = record.hash if record is not None else NO_HASH
        matches = hmac.compare_digest(hash_token(token), expected)
        if not matches or record is None or record.state(self._clock()) != "active":
            return None
        if self._uses is not None:
            self._uses.note(record.id)
        return record

    def all(self) -> list[KeyRecord]:
        self._refresh()
        uses = self._read_uses()
        return sorted(
            (
                replace(record, last_used_at=uses[record.id]) if record.id in uses else record
                for record in self._keys.values()
            ),
            key=lambda record: (record.created_at, record.id),
        )

    def tenants(self) -> frozenset[Tenant]:
        self._refresh()
        return frozenset(record.tenant for record in self._keys.values())

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
        with self._changing() as keys:
            while True:
                record, token = make_key(
                    tenant, label, scope, self._clock(), description, expires_at, may_read
                )
                if record.id not in keys:
                    keys[record.id] = record
                    return record, token

    def rotate(self, key_id: str) -> tuple[KeyRecord, str]:
        token = new_token(key_id)
        return self._change(
            key_id, lambda key: replace(key, hash=hash_token(token), rotated_at=iso(self._clock()))
        ), token

    def revoke(self, key_id: str) -> KeyRecord:
        return self._change(
            key_id,
            lambda key: key if key.revoked_at else replace(key, revoked_at=iso(self._clock())),
        )

    def move_tenant(self, old: str, new: str) -> int:
        target = validate_tenant_name(new)
        with self._changing() as keys:
            moved = [key for key in keys.values() if key.tenant == old]
            for key in moved:
                keys[key.id] = replace(key, tenant=target)
        return len(moved)

    def delete_tenant(self, tenant: str) -> int:
        with self._changing() as keys:
            deleted = [key.id for key in keys.values() if key.tenant == tenant]
            for key_id in deleted:
                del keys[key_id]
        return len(deleted)

    def restore(self, records: Iterable[KeyRecord]) -> int:
        with self._changing() as keys:
            added = {record.id: record for record in records if record.id not in keys}
            keys |= added
        return len(added)

    def start(self) -> None:
        if self._uses is None:
            self._uses = LastUses(self._write_uses, clock=self._clock)

    def close(self) -> None:
        if self._uses is not None:
            self._uses.close()
            self._uses = None

    def _change(self, key_id: str, changed: Callable[[KeyRecord], KeyRecord]) -> KeyRecord:
        with self._changing() as keys:
            if key_id not in keys:
                raise unknown_key(key_id)
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
            document = {"version": 1, "keys": [_as_json(key) for key in keys.values()]}
            write_atomically(self.path, json.dumps(document, indent=1).encode() + b"\n")
        self._stamp = None

    @property
    def _uses_path(self) -> Path:
        return self.path.with_suffix(".used.json")

    def _read_uses(self) -> dict[str, str]:
        try:
            uses = json.loads(self._uses_path.read_bytes())
        except (OSError, ValueError):
            return {}
        return uses if isinstance(uses, dict) else {}

    def _write_uses(self, uses: Mapping[str, str]) -> None:
        with exclusive_lock(self.path.with_suffix(".lock")):
            known = self._read_uses()
            latest = {key: max(used, known.get(key, "")) for key, used in uses.items()}
            merged = json.dumps({**known, **latest}).encode()
            write_atomically(self._uses_path, merged, durable=False)


def _as_json(record: KeyRecord) -> JsonObject:
    return {
        name: value
        for name, value in asdict(record).items()
        if name not in OPTIONAL or value not in (None, "", ())
    }


def _parse(path: Path) -> dict[str, KeyRecord]:
    try:
        document = json.loads(path.read_bytes())
        records = [
            KeyRecord(
                **{
                    **item,
                    "scope": Scope(item["scope"]),
                    "may_read": tuple(item.get("may_read", ())),
                }
            )
            for item in document["keys"]
        ]
    except (ValueError, KeyError, TypeError) as broken:
        raise CommonplaceError(
            INVALID_CONFIG,
            f"The key file {path} is damaged ({type(broken).__name__}), so every key is refused.",
            hint="Restore it from a backup, or move it away and add keys again.",
        ) from None
    return {record.id: record for record in records}
