"""Reading the audit trail: newest first, filtered, bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from heapq import nlargest
from pathlib import Path
from typing import Any

import orjson

from commonplace.kernel.clock import iso
from commonplace.telemetry.chain import chains_folder

MAX_RECORDS = 1000


@dataclass(frozen=True, slots=True)
class Filter:
    """What is asked for; None asks nothing. Times are ISO 8601 as the records have them."""

    tenant: str | None = None
    tool: str | None = None
    outcome: str | None = None
    code: str | None = None
    trace_id: str | None = None
    since: str | None = None
    until: str | None = None
    limit: int = 50

    def admits(self, record: dict[str, Any]) -> bool:
        when = str(record.get("ts", ""))
        return (
            record.get("type") == "call"
            and (self.tenant is None or record.get("tenant") == self.tenant)
            and (self.tool is None or self.tool in (record.get("tool"), record.get("name")))
            and (self.outcome is None or record.get("outcome") == self.outcome)
            and (self.code is None or record.get("code") == self.code)
            and (self.trace_id is None or record.get("trace_id") == self.trace_id)
            and (self.since is None or when >= self.since)
            and (self.until is None or when < self.until)
        )


def query(directory: Path, wanted: Filter) -> list[dict[str, Any]]:
    """The newest records that match. Reads the chains newest first and stops where older ones cannot matter."""
    limit = min(wanted.limit, MAX_RECORDS)
    best: list[dict[str, Any]] = []
    for path, last_change in _newest_first(directory):
        oldest_kept = best[-1]["ts"] if len(best) >= limit else wanted.since
        if oldest_kept is not None and last_change < oldest_kept:
            break
        best = nlargest(limit, [*best, *_matching(path, wanted)], key=lambda record: (str(record["ts"]), record.get("seq", 0)))
    return best


def _newest_first(directory: Path) -> Iterable[tuple[Path, str]]:
    found = [(path.stat().st_mtime, path) for path in chains_folder(directory).glob("*.jsonl")]
    for changed, path in sorted(found, reverse=True):
        yield path, iso(datetime.fromtimestamp(changed + 1, UTC))


def _matching(path: Path, wanted: Filter) -> Iterator[dict[str, Any]]:
    with path.open("rb") as lines:
        for line in lines:
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # verify reports it
            if isinstance(record, dict) and wanted.admits(record):
                record["chain"] = path.stem
                yield record
