"""The first line of a client: who attaches, from where, with which options and variables."""

from __future__ import annotations

import json
import os
import socket
import time

TYPE_CHECKING = False  # importing it costs a megabyte
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from commonplace.kernel.json_types import JsonObject

PROTOCOL = 1
ATTACH = "commonplace/attach"
STATUS = "commonplace/status"
STOP = "commonplace/stop"
ANSWER_SECONDS = 20.0
LONGEST_ANSWER = 1 << 20

# Variables that settings, keys and languages are read from; a test compares it with the settings.
_PREFIXES = ("COMMONPLACE_", "MCP_", "INDEX_", "INSTRUCTIONS_", "GRAPH_", "GOV_")
_NAMES = ("WORKSPACE_ID", "HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME")
_LOCALE = ("LC_ALL", "LC_MESSAGES", "LANG", "LANGUAGE")


class Refused(Exception):
    """The server does not take this client. `reason` is for programs, the text for people."""

    def __init__(self, message: str, reason: str = "", hint: str = "", exit_code: int = 1) -> None:
        super().__init__(message)
        self.reason = reason
        self.hint = hint
        self.exit_code = exit_code


def relevant_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that have an effect on a server."""
    return {
        name: value
        for name, value in environ.items()
        if name.startswith(_PREFIXES) or name in _NAMES or name in _LOCALE
    }


def describe_client(
    version: str, arguments: Sequence[str], *, role: str = "client", folder: str | None = None
) -> JsonObject:
    """Return the parameters of an attachment of this process."""
    return {
        "protocol": PROTOCOL,
        "version": version,
        "role": role,
        "arguments": list(arguments),
        "environment": relevant_environment(os.environ),
        "folder": folder if folder is not None else current_folder(),
    }


def current_folder() -> str:
    """Return the working folder; empty if it was deleted."""
    try:
        return os.getcwd()
    except OSError:
        return ""


def encode_request(method: str, params: JsonObject, request_id: int | str = 0) -> bytes:
    """Return a request as a line."""
    message = {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


class LineChannel:
    """Requests and answers on a connection, one line each, until a deadline.

    `rest` is what arrived after the last line that was read.
    """

    def __init__(self, connection: socket.socket, seconds: float = ANSWER_SECONDS) -> None:
        self._connection = connection
        self._deadline = time.monotonic() + seconds
        self.rest = b""

    def ask(self, method: str, params: JsonObject) -> JsonObject:
        """Send a request and return its result. Raises Refused, OSError."""
        self.send(encode_request(method, params))
        return self.read_result()

    def send(self, data: bytes) -> None:
        """Send bytes. Raises TimeoutError, OSError."""
        self._connection.settimeout(self._seconds_left())
        self._connection.sendall(data)

    def read_result(self) -> JsonObject:
        """Read an answer. Raises Refused for an error, OSError where the connection ends."""
        answer = json.loads(self.read_line())
        error = answer.get("error")
        if error is not None:
            data = error.get("data") or {}
            raise Refused(
                error.get("message", "refused"),
                data.get("reason", ""),
                data.get("hint") or "",
                data.get("exit_code", 1),
            )
        result: JsonObject = answer["result"]
        return result

    def read_line(self) -> bytes:
        """Read a line. Raises OSError where the connection ends, or the time is over."""
        while True:
            line, newline, rest = self.rest.partition(b"\n")
            if newline:
                self.rest = rest
                return line
            self._connection.settimeout(self._seconds_left())
            data = self._connection.recv(65536)
            if not data or len(self.rest) > LONGEST_ANSWER:
                raise ConnectionResetError("the server closed the connection")
            self.rest += data

    def _seconds_left(self) -> float:
        return max(0.001, self._deadline - time.monotonic())
