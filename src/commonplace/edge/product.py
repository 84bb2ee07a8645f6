"""What the edge serves: the pipeline and the little it must know to introduce itself.

Bootstrap builds it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Selection
from commonplace.kernel.auth import AuthContext, local_user
from commonplace.kernel.settings import MEBIBYTE, Settings

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
TOOL_MESSAGE_BYTES = 16 * 1024 * 1024
UNDECODED_BYTES = 192 * 1024 * 1024


def tool_message_bytes(settings: Settings) -> int:
    """Bytes of a call of a tool that takes no documents: room for the largest content of a file,
    six bytes for each escape.
    """
    return max(TOOL_MESSAGE_BYTES, 6 * settings.mcp.files.max_payload_bytes + MEBIBYTE)


Authenticator = Callable[[Mapping[str, str]], AuthContext]


def _everyone_is_local(headers: Mapping[str, str]) -> AuthContext:
    return local_user()


class Features(Protocol):
    """Protocol features beyond tools (resources, prompts, ...): served by the official SDK,
    plugged in by bootstrap.
    """

    capabilities: Mapping[str, Any]  # advertised next to `tools`, in the handshake's spelling

    def handlers(self) -> Mapping[str, Any]:
        """Keyword arguments for the SDK's low-level server (`on_list_resources`, ...).

        May import the SDK.
        """
        ...


class Observer(Protocol):
    """Told what no tool sees: handshakes, first frames, malformed lines.

    Diagnostics and counters, never content.
    """

    watches_frames: bool

    def event(self, label: str, data: Mapping[str, Any]) -> None: ...

    def count(self, name: str) -> None: ...


class NoObserver:
    watches_frames = False

    def event(self, label: str, data: Mapping[str, Any]) -> None:
        return None

    def count(self, name: str) -> None:
        return None


@dataclass(frozen=True, slots=True)
class Product:
    """One server as its clients see it."""

    pipeline: Pipeline
    version: str
    instructions: str
    name: str = "commonplace"
    title: str = "Commonplace"
    selection: Selection = field(default_factory=Selection)
    features: Features | None = None
    authenticate: Authenticator = _everyone_is_local
    stdio_auth: Callable[[], AuthContext] = local_user
    max_message_bytes: int = MAX_MESSAGE_BYTES
    tool_message_bytes: int = TOOL_MESSAGE_BYTES  # of a call of a tool that takes no documents
    undecoded_bytes: int = (
        UNDECODED_BYTES  # of all callers together; a caller may have two thirds of it
    )
    max_in_flight: int = 256  # calls of one connection at a time; reading waits above it
    max_sessions_per_key: int = 100  # sessions over HTTP; the oldest idle one ends for a new one
    observer: Observer = field(default_factory=NoObserver)
    ready: Callable[[], Awaitable[Mapping[str, Any]]] | None = (
        None  # what /readyz reports; raises when not ready
    )

    @property
    def server_info(self) -> dict[str, Any]:
        return {"name": self.name, "title": self.title, "version": self.version}

    @property
    def capabilities(self) -> dict[str, Any]:
        extra = self.features.capabilities if self.features else {}
        return {**extra, "tools": {"listChanged": False}}
