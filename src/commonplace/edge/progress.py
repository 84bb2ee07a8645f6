"""Progress of one call as notifications to its client."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from commonplace.dispatch.tool import ClientChannel
from commonplace.edge.jsonrpc import encode_notification
from commonplace.edge.protocol import progress_token
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject


class ProgressChannel(ClientChannel):
    """Sends progress under the token of the request, and nothing else."""

    def __init__(self, send: Callable[[bytes], Awaitable[None] | None], params: Json) -> None:
        self._send = send
        self._token = progress_token(params)

    @property
    def wants_progress(self) -> bool:
        return self._token is not None

    async def progress(
        self, done: float, total: float | None = None, message: str | None = None
    ) -> None:
        if self._token is None:
            return
        params: JsonObject = {"progressToken": self._token, "progress": done}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        sending = self._send(encode_notification("notifications/progress", params))
        if sending is not None:
            await sending

    async def log(self, level: str, data: Json, logger: str | None = None) -> None:
        return None

    async def request(self, method: str, params: Mapping[str, Json]) -> Json:
        raise CommonplaceError(
            NOT_AVAILABLE,
            f"{method} needs an interactive tool.",
            hint="Declare the tool interactive=True.",
        )
