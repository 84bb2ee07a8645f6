"""A request of any transport."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto

from commonplace.dispatch.registry import Selection
from commonplace.edge.protocol import HANDSHAKE_VERSIONS, STATELESS_VERSION
from commonplace.kernel.auth import AuthContext


class ProtocolEra(Enum):
    """How a request over HTTP speaks MCP, by the version that its headers name."""

    HANDSHAKE = auto()  # inside a session; clients of the first versions name none
    STATELESS = auto()  # on its own
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class Request:
    """The caller of a request, what it may reach, and its headers.

    `headers` have names in lower case; on stdio there are none.
    """

    caller: AuthContext
    selection: Selection
    read_only: bool = False  # the request asks for it; a read-only server refuses on its own
    headers: Mapping[str, str] = field(default_factory=dict)
    ambiguous: bool = False  # a header that routes is sent more than once

    @property
    def session(self) -> str | None:
        return self.headers.get("mcp-session-id")

    @property
    def version(self) -> str | None:
        return self.headers.get("mcp-protocol-version")

    @property
    def era(self) -> ProtocolEra:
        version = self.headers.get("mcp-protocol-version")
        if version is None or version in HANDSHAKE_VERSIONS:
            return ProtocolEra.HANDSHAKE
        return ProtocolEra.STATELESS if version == STATELESS_VERSION else ProtocolEra.UNKNOWN

    @property
    def quota_name(self) -> str:
        """The name under which the undecoded bytes of the caller are counted."""
        return self.caller.key_id or self.caller.tenant

    @property
    def is_json(self) -> bool:
        content_type = self.headers.get("content-type", "")
        return content_type.partition(";")[0].strip().lower() == "application/json"

    @property
    def accepts_json(self) -> bool:
        accepted = self.headers.get("accept", "")
        return "application/json" in accepted or "*/*" in accepted

    @property
    def accepts_events(self) -> bool:
        return "text/event-stream" in self.headers.get("accept", "")
