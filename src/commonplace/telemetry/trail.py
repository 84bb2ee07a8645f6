"""The audit trail as readers see it: of one data folder, or of all servers of a team."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Protocol

import orjson

from commonplace.kernel.json_types import JsonObject
from commonplace.telemetry.chain import Marks, chains_folder
from commonplace.telemetry.query import AuditFilter, query_audit
from commonplace.telemetry.verify import ChainVerdict, verify


class AuditTrail(Protocol):
    """Records to query, and whether they are complete."""

    def query(self, wanted: AuditFilter) -> list[JsonObject]:
        """Return the newest matching records."""
        ...

    def verify(self) -> ChainVerdict:
        """Check every chain."""
        ...

    def export(
        self, tenant: str | None = None, since: str | None = None, until: str | None = None
    ) -> Iterator[bytes]:
        """Yield records as they were written, without line breaks; of a tenant, or all."""
        ...


class FolderTrail:
    """The trail of one data folder. `anchors` returns heads that were kept in a second place."""

    def __init__(self, directory: Path, anchors: Callable[[], Marks] = dict) -> None:
        self._directory = directory
        self._anchors = anchors

    def query(self, wanted: AuditFilter) -> list[JsonObject]:
        return query_audit(self._directory, wanted)

    def verify(self) -> ChainVerdict:
        return verify(self._directory, self._anchors())

    def export(
        self, tenant: str | None = None, since: str | None = None, until: str | None = None
    ) -> Iterator[bytes]:
        for path in sorted(chains_folder(self._directory).glob("*.jsonl")):
            for line in path.read_bytes().splitlines():
                if tenant is None and since is None and until is None:
                    yield line
                    continue
                record = orjson.loads(line)
                when = str(record.get("ts", ""))
                if (
                    (tenant is None or record.get("tenant") == tenant)
                    and (since is None or when >= since)
                    and (until is None or when < until)
                ):
                    yield line
