"""Filters and rows of the audit trail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from commonplace.console.page import Page
from commonplace.console.rendering import url
from commonplace.kernel.clock import iso

PAGE_SIZE = 50
MAX_EXPORT = 1000
OUTCOMES = ("ok", "refused", "rejected", "failed")
OWN_TOOL = "audit_query"
MILLISECOND = timedelta(milliseconds=1)
MASKS = ("***", '"truncated":true', '"sha256"', '"..."')

AuditRow = Mapping[str, Any]
"""A record as audit_query returns it."""


@dataclass(frozen=True, slots=True)
class RecordRow:
    """A record in a table."""

    address: str
    tool: str
    at: str
    label: str
    outcome: str
    kind: str
    code: str
    milliseconds: str


@dataclass(frozen=True, slots=True)
class AuditView:
    """What the address of the page asks for.

    `until` and `skip` name the place of a page: the time of the last record of the page before,
    and how many of its last records have that time.
    """

    tool: str
    outcome: str
    code: str
    since: str
    reads: bool
    until: str
    skip: int

    @classmethod
    def of(cls, page: Page) -> AuditView:
        """Read the address."""
        outcome = page.query("outcome")
        return cls(
            page.query("tool"),
            outcome if outcome in OUTCOMES else "",
            page.query("code"),
            page.query("since"),
            page.query("reads") in ("1", "on"),
            page.query("until"),
            page.number("skip", 0, least=0),
        )

    @property
    def query(self) -> dict[str, object]:
        """The filters as parameters of an address."""
        return {
            "tool": self.tool,
            "outcome": self.outcome,
            "code": self.code,
            "since": self.since,
            "reads": "1" if self.reads else "",
        }

    def arguments(self, limit: int) -> dict[str, Any]:
        """Return the arguments of audit_query for at most `limit` rows after the skipped ones."""
        hides_own = self._hides_own_reads
        wanted: dict[str, Any] = {
            name: value for name, value in self.query.items() if value != "" and name != "reads"
        }
        if self.reads:
            wanted["reads"] = True
        if self.until:
            wanted["until"] = after(self.until)
        return {**wanted, "limit": MAX_EXPORT if hides_own else min(MAX_EXPORT, limit + self.skip)}

    @property
    def _hides_own_reads(self) -> bool:
        """An open page asks for the trail again and again; those reads would fill the list."""
        return self.reads and self.tool != OWN_TOOL

    def select(self, records: Sequence[AuditRow], limit: int) -> list[AuditRow]:
        """Return the records to show: without those of the page before and our own reads."""
        kept = [
            record
            for record in records
            if not (
                self._hides_own_reads and record["chain"] is None and record["tool"] == OWN_TOOL
            )
        ]
        return kept[self.skip : self.skip + limit]

    def older(self, shown: Sequence[AuditRow]) -> str:
        """Return the address of the next page, or an empty text if this is the last."""
        if len(shown) < PAGE_SIZE:
            return ""
        last = str(shown[-1]["ts"])
        same = sum(1 for record in shown if record["ts"] == last)
        if last == self.until:
            same += self.skip
        return url("/audit", **self.query, until=last, skip=same)


def after(moment: str) -> str:
    """Return the next millisecond; records have no finer times. A wrong time stays as it is."""
    try:
        return iso(datetime.fromisoformat(moment) + MILLISECOND)
    except (ValueError, OverflowError):
        return moment


def make_rows(records: Sequence[AuditRow]) -> list[RecordRow]:
    """Make rows of records."""
    return [make_row(record) for record in records]


def make_row(record: AuditRow) -> RecordRow:
    """Make a row. A refused key never reaches a tool, so a record may have none."""
    outcome = str(record["outcome"])
    return RecordRow(
        url("/audit/record", at=record["ts"], trace=record.get("trace_id")),
        record.get("tool") or "no tool",
        str(record["ts"]),
        str(record.get("label") or ""),
        outcome,
        "good" if outcome == "ok" else "warn" if outcome == "refused" else "bad",
        str(record.get("code") or ""),
        f"{record.get('duration_ms', 0):,.1f}",
    )


def is_replayable(record: AuditRow) -> bool:
    """Whether a record is a read of which nothing was cut or masked when it was kept."""
    text = orjson.dumps(record["arguments"]).decode()
    return record["chain"] is None and not any(mask in text for mask in MASKS)
