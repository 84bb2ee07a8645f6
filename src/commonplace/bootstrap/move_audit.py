"""Bring the audit chains of a data folder into the database of a team."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.bootstrap.move_in import MovedPart, require_same
from commonplace.storage.audit.origin import read_origin
from commonplace.storage.audit.records import AuditTable
from commonplace.storage.audit.shipper import AuditShipper
from commonplace.storage.audit.spool import AuditSpool

if TYPE_CHECKING:
    from commonplace.storage.postgres.database import PostgresDatabase
    from commonplace.telemetry.chain import Head


class AuditMover:
    """A `Mover` of audit records. A server brings those of its own folder without it."""

    part = "audit records"
    required = False

    def __init__(self, database: PostgresDatabase) -> None:
        self._table = AuditTable(database)

    def lacking(self, data: Path) -> Sequence[str]:
        heads = _heads(data)
        arrived = self._table.arrived(list(heads))
        return [name for name, head in heads.items() if _count(arrived, name) < head.count]

    def move(self, data: Path, progress: Callable[[int, int], None]) -> MovedPart:
        heads = _heads(data)
        total = sum(head.count for head in heads.values())
        before = self._table.arrived(list(heads))
        if heads:
            AuditShipper(data / "audit", self._table, read_origin(data)).close()
        arrived = self._table.arrived(list(heads))
        progress(total, total)
        refused = tuple(name for name, head in heads.items() if _count(arrived, name) < head.count)
        whole = {name: head for name, head in heads.items() if name not in refused}
        # A process that was killed may have written one record more than its head names.
        exact = {name: head.hash for name, head in whole.items() if arrived[name] == head}
        present = sum(_count(before, name) for name in whole)
        found = sum(_count(arrived, name) for name in whole)
        return MovedPart(
            self.part,
            found=found,
            added=found - present,
            present=present,
            refused=refused,
            digest=require_same(
                self.part, {name: head.hash for name, head in arrived.items()}, exact
            ),
        )


def _heads(data: Path) -> dict[str, Head]:
    spool = AuditSpool(data / "audit")
    found = {name: spool.head(name) for name in sorted(spool.sizes())}
    return {name: head for name, head in found.items() if head is not None}


def _count(heads: dict[str, Head], name: str) -> int:
    return heads[name].count if name in heads else 0
