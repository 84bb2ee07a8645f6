"""Messages to a client other than single answers: batches and progress."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from commonplace.dispatch.tool import ClientChannel
from commonplace.edge.jsonrpc import encode_notification
from commonplace.kernel.errors import NOT_AVAILABLE, CommonplaceError
from commonplace.kernel.json_types import Json, JsonObject

Send = Callable[[bytes], None]


class BatchAnswers:
    """Collects the answers of a batch and sends them as one array."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._answers: list[bytes] = []
        self._closed = False
        self.expected = 0

    def __call__(self, answer: bytes) -> None:
        self._answers.append(answer)
        self._flush()

    def close(self) -> None:
        """Expect no more members."""
        self._closed = True
        self._flush()

    def drop_cancelled(self) -> None:
        """Expect one answer less: a member that its client cancelled gets none."""
        self.expected -= 1
        self._flush()

    def _flush(self) -> None:
        if self._closed and self._answers and len(self._answers) >= self.expected:
            self._send(b"[" + b",".join(self._answers) + b"]")
            self._answers = []


class ProgressChannel(ClientChannel):
    """Progress of one call on a duplex stream."""

    def __init__(self, send: Send, params: Json) -> None:
        self._send = send
        meta = params.get("_meta") if isinstance(params, dict) else None
        self._token = meta.get("progressToken") if isinstance(meta, dict) else None

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
        self._send(encode_notification("notifications/progress", params))

    async def log(self, level: str, data: Json, logger: str | None = None) -> None:
        return None

    async def request(self, method: str, params: Mapping[str, Json]) -> Json:
        raise CommonplaceError(
            NOT_AVAILABLE,
            f"{method} needs an interactive tool.",
            hint="Declare the tool interactive=True.",
        )
