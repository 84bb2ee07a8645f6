"""Tool calls in the name of a client, by which resources, prompts and completions are answered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from commonplace.kernel.errors import CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject


class ClientCalls(Protocol):
    """Calls a tool with the permissions of the client. Raises CommonplaceError."""

    async def __call__(self, tool: str, arguments: Mapping[str, Json]) -> JsonObject: ...


async def call_if_offered(
    call: ClientCalls, tool: str, arguments: Mapping[str, Json]
) -> JsonObject | None:
    """Call a tool; None if this client may not use it or it cannot answer now."""
    try:
        return await call(tool, arguments)
    except CommonplaceError:
        return None
