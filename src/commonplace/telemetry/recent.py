"""The latest reads of this process, redacted and in memory: for the console, not for audit."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from commonplace.kernel.clock import iso
from commonplace.kernel.json_types import Json, JsonObject


class FinishedCall(NamedTuple):
    """A finished call in compact form; it is turned into a record only when it is read."""

    when: float  # seconds since 1970
    tool: str
    name: str
    tenant: str
    label: str
    key_id: str | None
    outcome: str
    code: str | None
    seconds: float
    trace_id: str
    arguments: Mapping[str, Json]
    agent: str | None = None  # MCP_AGENT_ID of the process
    address: str | None = None  # of a caller over HTTP

    def as_record(self) -> JsonObject:
        """Return the call in the form of an audit record."""
        record: JsonObject = {
            "ts": iso(datetime.fromtimestamp(self.when, UTC)),
            "type": "call",
            "tool": self.tool,
            "tenant": self.tenant,
            "label": self.label,
            "outcome": self.outcome,
            "duration_ms": round(self.seconds * 1e3, 3),
            "trace_id": self.trace_id,
            "arguments": self.arguments,
        }
        if self.name != self.tool:
            record["name"] = self.name
        if self.key_id is not None:
            record["key_id"] = self.key_id
        if self.agent is not None:
            record["agent"] = self.agent
        if self.address is not None:
            record["address"] = self.address
        if self.code is not None:
            record["code"] = self.code
        return record


class RecentReads:
    """A ring of the last reads."""

    def __init__(self, limit: int) -> None:
        self._calls: deque[FinishedCall] = deque(maxlen=limit)
        self.add = self._calls.append  # bound once: every read calls it
        self.wanted = limit > 0

    def records(self) -> list[JsonObject]:
        """Return the records, oldest first."""
        return [read.as_record() for read in tuple(self._calls)]
