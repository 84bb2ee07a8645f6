"""Bring the keys of a data folder into the database of a team."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from commonplace.bootstrap.move_in import MovedPart
from commonplace.kernel.errors import CommonplaceError
from commonplace.storage.credentials.key_records import KeyRecord, KeyRegistry
from commonplace.storage.credentials.keys import KeyStore
from commonplace.storage.errors import NOT_MOVED_IN


class KeyMover:
    """A `Mover` of keys. Their tokens keep working, because their hashes are moved."""

    part = "keys"
    required = True

    def __init__(self, keys: KeyRegistry) -> None:
        self._keys = keys

    def lacking(self, data: Path) -> Sequence[str]:
        known = {key.id for key in self._keys.all()}
        return [key.id for key in _keys_of(data) if key.id not in known]

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        found = _keys_of(data)
        added = self._keys.restore(found) if found else 0
        progress(len(found), len(found))
        stored = {key.id: key for key in self._keys.all()}
        missing = [key.id for key in found if key.id not in stored]
        if missing:
            raise CommonplaceError(
                NOT_MOVED_IN,
                f"{len(missing)} keys were not stored: {', '.join(missing[:5])}.",
                hint="Run the command again.",
            )
        kept = tuple(key.id for key in found if _facts(stored[key.id]) != _facts(key))
        facts = [_facts(stored[key.id]) for key in sorted(found, key=lambda key: key.id)]
        return MovedPart(
            self.part,
            found=len(found),
            added=added,
            present=len(found) - added - len(kept),
            kept=kept,
            digest=hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest(),
        )


def _keys_of(data: Path) -> list[KeyRecord]:
    return KeyStore(data / "keys.json").all()


def _facts(record: KeyRecord) -> dict[str, str | None]:
    """Return what must be the same on both sides; a last use may have happened meanwhile."""
    return asdict(replace(record, last_used_at=None))
