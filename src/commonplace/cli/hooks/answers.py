"""Where a hook gets its answers: from the local server if one runs, else from the kept index."""

from __future__ import annotations

import json
import socket

from commonplace import __version__
from commonplace.edge.relay.attachment import (
    ATTACH,
    LineChannel,
    Refused,
    describe_client,
    encode_request,
)
from commonplace.edge.relay.endpoint import connect

TYPE_CHECKING = False  # importing it costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.cli.hooks.kept_rules import KeptRules
    from commonplace.kernel.json_types import JsonObject

SERVER_SECONDS = 2.0  # for all answers of a server; then the index answers
ENVELOPE = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "commonplace-hook", "version": __version__},
}


class ToolFailed(Exception):
    """A tool answered with an error."""


class HookAnswers:
    """Answers of the server, or without one of the index. Nothing is asked before it is needed."""

    def __init__(self, data: str, folder: str, config: str = "") -> None:
        self._data = data
        self._folder = folder
        self._config = config
        self._server: ServerAnswers | None = None
        self._has_tried = False
        self._kept: KeptRules | None = None

    @property
    def is_warm(self) -> bool:
        return self._find_server() is not None

    def rules_for(
        self,
        paths: Sequence[str],
        *,
        task: str = "",
        budget: int = 2_000,
        repo: str | None = None,
    ) -> JsonObject:
        asked = {"paths": list(paths), "task": task, "budget": budget}
        answer = self._ask_server("rules_for", asked | ({"repo": repo} if repo else {}))
        return answer if answer is not None else self._rules().rules_for(paths, task, budget)

    def context(
        self,
        task: str,
        *,
        paths: Sequence[str] = (),
        since: str | None = None,
        budget: int = 2_000,
        repo: str | None = None,
    ) -> JsonObject:
        asked: JsonObject = {"task": task, "paths": list(paths), "budget": budget}
        given = {"since": since, "repo": repo}
        asked |= {name: value for name, value in given.items() if value is not None}
        answer = self._ask_server("context", asked)
        return answer if answer is not None else self._rules().context(task, paths, budget)

    def _find_server(self) -> ServerAnswers | None:
        if not self._has_tried:
            self._has_tried = True
            arguments = ["--config", self._config] if self._config else []
            self._server = ServerAnswers.find(self._data, self._folder, arguments)
        return self._server

    def _ask_server(self, tool: str, arguments: JsonObject) -> JsonObject | None:
        server = self._find_server()
        if server is None:
            return None
        try:
            return server.call(tool, arguments)
        except OSError:  # it ended, or is too slow
            self._server = None
            return None

    def _rules(self) -> KeptRules:
        if self._kept is None:
            from commonplace.cli.hooks.kept_rules import KeptRules

            self._kept = KeptRules.open(self._data, self._folder, self._config)
        return self._kept


class ServerAnswers:
    """Calls of tools on a connection to the local server."""

    def __init__(self, channel: LineChannel, connection: socket.socket) -> None:
        self._channel = channel
        self._connection = connection  # closed with this object
        self._calls = 0

    @classmethod
    def find(cls, data: str, folder: str, arguments: Sequence[str]) -> ServerAnswers | None:
        """Attach to the server of a data folder; None if there is none for this hook."""
        try:
            connection = connect(data)
        except OSError:
            return None
        params = describe_client(__version__, arguments, role="hook", folder=folder or None)
        channel = LineChannel(connection, SERVER_SECONDS)
        try:
            channel.ask(ATTACH, params)
        except (OSError, ValueError, Refused):  # it has other settings, or is about to end
            connection.close()
            return None
        return cls(channel, connection)

    def call(self, tool: str, arguments: JsonObject) -> JsonObject:
        """Return the structured content of a call. Raises ToolFailed, OSError."""
        self._calls += 1
        params = {"name": tool, "arguments": arguments, "_meta": ENVELOPE}
        self._channel.send(encode_request("tools/call", params, self._calls))
        while True:
            answer = json.loads(self._channel.read_line())
            if answer.get("id") == self._calls:
                break
        result = answer.get("result")
        if not isinstance(result, dict) or result.get("isError"):
            raise ToolFailed(_reason(answer))
        content: JsonObject = result["structuredContent"]
        return content


def _reason(answer: JsonObject) -> str:
    if "error" in answer:
        return str(answer["error"].get("message"))
    texts = [part.get("text", "") for part in answer["result"].get("content", ())]
    return " ".join(texts)[:300]
