"""What the edge serves: the pipeline, and what it needs to introduce itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from commonplace.dispatch.pipeline import Pipeline
from commonplace.dispatch.registry import Selection
from commonplace.kernel.auth import AuthContext, local_user
from commonplace.kernel.json_types import Json, JsonObject
from commonplace.kernel.settings import MEBIBYTE, Settings

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
TOOL_MESSAGE_BYTES = 16 * 1024 * 1024
UNDECODED_BYTES = 192 * 1024 * 1024


def tool_message_bytes(settings: Settings) -> int:
    """Return the largest call of a tool that takes no documents.

    It has room for the largest content of a file, with six bytes for each escape.
    """
    return max(TOOL_MESSAGE_BYTES, 6 * settings.mcp.files.max_payload_bytes + MEBIBYTE)


class Authenticate(Protocol):
    """Returns the caller of a request by its headers; `address` is where it came from."""

    def __call__(self, headers: Mapping[str, str], address: str | None = None) -> AuthContext: ...


def _local_caller(headers: Mapping[str, str], address: str | None = None) -> AuthContext:
    return local_user()


class Features(Protocol):
    """Protocol features beyond tools (resources, prompts, ...), which the SDK serves."""

    capabilities: Mapping[str, Json]  # advertised next to `tools`, in the handshake's spelling

    def handlers(self) -> Mapping[str, Any]:
        """Return keyword arguments for the SDK's low-level server. May import the SDK."""
        ...


class ToolCalls(Protocol):
    """Calls a tool with the permissions of one client. Raises CommonplaceError."""

    async def __call__(self, tool: str, arguments: Mapping[str, Json]) -> JsonObject: ...


class Offering(Protocol):
    """Resources, prompts and completions of the product, answered by tool calls.

    Results have the form of MCP. Errors are CommonplaceError.
    """

    def list_templates(self) -> JsonObject: ...

    def list_prompts(self) -> JsonObject: ...

    async def list_resources(self, call: ToolCalls, cursor: str | None) -> JsonObject: ...

    async def read_resource(self, call: ToolCalls, uri: str) -> JsonObject: ...

    async def find_fingerprint(self, call: ToolCalls, uri: str) -> str:
        """Return a text that changes with a resource."""
        ...

    async def get_prompt(
        self, call: ToolCalls, name: str, arguments: Mapping[str, str]
    ) -> JsonObject: ...

    async def complete(
        self, call: ToolCalls, target: str, argument: str, value: str, given: Mapping[str, str]
    ) -> JsonObject: ...


OFFERING_CAPABILITIES: Mapping[str, Json] = {
    "completions": {},
    "prompts": {"listChanged": False},
    "resources": {"subscribe": True, "listChanged": False},
}


class Observer(Protocol):
    """Receives handshakes, first frames and malformed lines, but no content."""

    watches_frames: bool

    def event(self, label: str, data: Mapping[str, Json]) -> None: ...

    def count(self, name: str) -> None: ...


class NoObserver:
    """Observes nothing."""

    watches_frames = False

    def event(self, label: str, data: Mapping[str, Json]) -> None:
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
    features: Features | None = None  # replaces the offering, for tests
    offering: Offering | None = None
    authenticate: Authenticate = _local_caller
    stdio_auth: Callable[[], AuthContext] = local_user
    max_message_bytes: int = MAX_MESSAGE_BYTES
    tool_message_bytes: int = TOOL_MESSAGE_BYTES  # of a call of a tool that takes no documents
    undecoded_bytes: int = UNDECODED_BYTES  # of all callers; one may have two thirds of it
    max_in_flight: int = 256  # calls of one connection at a time; reading waits above it
    max_sessions_per_key: int = 100  # sessions over HTTP; the oldest idle one ends for a new one
    observer: Observer = field(default_factory=NoObserver)
    ready: Callable[[], Awaitable[Mapping[str, Json]]] | None = None  # raises when not ready

    @property
    def server_info(self) -> JsonObject:
        return {"name": self.name, "title": self.title, "version": self.version}

    @property
    def has_more_than_tools(self) -> bool:
        """Tell whether there are methods that the SDK answers."""
        return self.features is not None or self.offering is not None

    @property
    def capabilities(self) -> JsonObject:
        own = OFFERING_CAPABILITIES if self.offering else {}
        extra = self.features.capabilities if self.features else own
        return {**extra, "tools": {"listChanged": False}}
