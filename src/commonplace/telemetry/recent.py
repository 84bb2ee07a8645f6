"""The latest reads of this process, redacted, in memory: for the console, not for evidence."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from commonplace.kernel.clock import iso


class Finished(NamedTuple):
    """A call as it is kept: small, and turned into a record only when somebody looks."""

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
    arguments: Mapping[str, Any]
    agent: str | None = None  # MCP_AGENT_ID of the process

    def as_record(self) -> dict[str, Any]:
        record: dict[str, Any] = {
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
        if self.code is not None:
            record["code"] = self.code
        return record


class RecentReads:
    def __init__(self, limit: int) -> None:
        self._kept: deque[Finished] = deque(maxlen=limit)
        self.add = self._kept.append  # bound once: this is on the way of every read
        self.wanted = limit > 0

    def records(self) -> list[dict[str, Any]]:
        """Oldest first."""
        return [read.as_record() for read in tuple(self._kept)]
