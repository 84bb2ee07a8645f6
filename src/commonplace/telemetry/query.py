"""Query the audit trail: newest records first, filtered, bounded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from pathlib import Path

import orjson

from commonplace.kernel.clock import iso
from commonplace.kernel.errors import INVALID_ARGUMENT, CommonplaceError
from commonplace.kernel.json_types import JsonObject
from commonplace.telemetry.chain import chains_folder

MAX_RECORDS = 1000
OUTCOMES = ("ok", "refused", "rejected", "failed")


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """Conditions on audit records; None means any.

    Times are ISO 8601, in UTC without an offset. Raises INVALID_ARGUMENT for other texts.
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
            raise _invalid("outcome", self.outcome, f"Outcomes are {', '.join(OUTCOMES)}.")
        for field in ("since", "until"):
            given = getattr(self, field)
            if given is not None:
                object.__setattr__(self, field, _normalize_time(field, given))

    def matches(self, record: JsonObject) -> bool:
        """Tell whether a record fulfils all conditions."""
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


def _normalize_time(field: str, given: str) -> str:
    """Return a time in the form of the records, so that texts can be compared.

    Records have milliseconds: rounding finer times up leaves the same records on each side.
    """
    try:
        moment = datetime.fromisoformat(given)
        moment = (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).astimezone(
            UTC
        )
        return iso(moment + timedelta(microseconds=-moment.microsecond % 1000))
    except (ValueError, OverflowError):
        raise _invalid(field, given, "Write it like 2026-01-31 or 2026-01-31T10:00:00Z.") from None


def _invalid(field: str, given: str, hint: str) -> CommonplaceError:
    what = "an outcome" if field == "outcome" else "a time"
    return CommonplaceError(
        INVALID_ARGUMENT,
        f"{field}: {given[:64]!r} is not {what}.",
        hint=hint,
        details={"field": field},
    )


def query_audit(directory: Path, wanted: AuditFilter) -> list[JsonObject]:
    """Return the newest matching records.

    Reads the chains newest first and stops when older ones cannot contribute.
    """
    limit = min(wanted.limit, MAX_RECORDS)
    best: list[JsonObject] = []
    for path, last_change in _newest_first(directory):
        oldest_kept = best[-1]["ts"] if len(best) >= limit else wanted.since
        if oldest_kept is not None and last_change < oldest_kept:
            break
        best = nlargest(
            limit,
            [*best, *_read_matching(path, wanted)],
            key=lambda record: (str(record["ts"]), record.get("seq", 0)),
        )
    return best


def _newest_first(directory: Path) -> Iterable[tuple[Path, str]]:
    found = [(path.stat().st_mtime, path) for path in chains_folder(directory).glob("*.jsonl")]
    for changed, path in sorted(found, reverse=True):
        yield path, iso(datetime.fromtimestamp(changed + 1, UTC))


def _read_matching(path: Path, wanted: AuditFilter) -> Iterator[JsonObject]:
    with path.open("rb") as lines:
        for line in lines:
            try:
                record = orjson.loads(line)
            except orjson.JSONDecodeError:
                continue  # `verify` reports it
            if isinstance(record, dict) and wanted.matches(record):
                record["chain"] = path.stem
                yield record
