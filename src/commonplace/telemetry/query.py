"""Reading the audit trail: newest first, filtered, bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from pathlib import Path
from typing import Any

import orjson

from commonplace.kernel.clock import iso
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.telemetry.chain import chains_folder

MAX_RECORDS = 1000
OUTCOMES = ("ok", "refused", "rejected", "failed")


@dataclass(frozen=True, slots=True)
class Filter:
    """What is asked for; None asks nothing.

    Times are ISO 8601, in UTC where they say nothing else; what is none is refused.
    """

    tenant: str | None = None
    tool: str | None = None
    outcome: str | None = None
    code: str | None = None
    trace_id: str | None = None
    since: str | None = None
    until: str | None = None
    limit: int = 50

    def __post_init__(self) -> None:
        if self.outcome is not None and self.outcome not in OUTCOMES:
            raise _no("outcome", self.outcome, f"Outcomes are {', '.join(OUTCOMES)}.")
        for field in ("since", "until"):
            given = getattr(self, field)
            if given is not None:
                object.__setattr__(self, field, _as_recorded(field, given))

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


def _as_recorded(field: str, given: str) -> str:
    """A time in the form of the records, so that comparing texts compares instants.

    Records have milliseconds: anything finer is rounded up, which leaves the same records on each
    side.
    """
    try:
        moment = datetime.fromisoformat(given)
        moment = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(
            UTC
        )
        return iso(moment + timedelta(microseconds=-moment.microsecond % 1000))
    except (ValueError, OverflowError):
        raise _no(field, given, "Write it like 2026-01-31 or 2026-01-31T10:00:00Z.") from None


def _no(field: str, given: str, hint: str) -> CommonplaceError:
    what = "an outcome" if field == "outcome" else "a time"
    return CommonplaceError(
        INVALID_ARGUMENT,
        f"{field}: {given[:64]!r} is not {what}.",
        hint=hint,
        details={"field": field},
    )


def query(directory: Path, wanted: Filter) -> list[dict[str, Any]]:
    """The newest records that match.

    Reads the chains newest first and stops where older ones cannot matter.
    """
    limit = min(wanted.limit, MAX_RECORDS)
    best: list[dict[str, Any]] = []
    for path, last_change in _newest_first(directory):
        oldest_kept = best[-1]["ts"] if len(best) >= limit else wanted.since
        if oldest_kept is not None and last_change < oldest_kept:
            break
        best = nlargest(
            limit,
            [*best, *_matching(path, wanted)],
            key=lambda record: (str(record["ts"]), record.get("seq", 0)),
        )
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
