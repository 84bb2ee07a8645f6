"""The process of `commonplace serve --attach`: attach to the local server, then relay.

It is started without site packages (`start_relay`), so that it holds a few megabytes.
"""

from __future__ import annotations

import json
import os
import sys
import time

from commonplace import __version__
from commonplace.edge.relay.attachment import ATTACH, LineChannel, Refused, describe_client
from commonplace.edge.relay.conversation import Conversation
from commonplace.edge.relay.endpoint import is_server_alive
from commonplace.edge.relay.launching import (
    StartFailed,
    connect_or_start,
    serve_command,
    start_own,
)
from commonplace.edge.relay.pump import Relay, ServerLink

TYPE_CHECKING = False  # importing it costs a megabyte
if TYPE_CHECKING:
    from collections.abc import Sequence

SAFE_METHODS = frozenset(
    {
        "completion/complete",
        "initialize",
        "logging/setLevel",
        "ping",
        "prompts/get",
        "prompts/list",
        "resources/list",
        "resources/read",
        "resources/subscribe",
        "resources/templates/list",
        "resources/unsubscribe",
        "server/discover",
        "shutdown",
        "subscriptions/listen",
        "tools/list",
    }
)
"""Requests that may be repeated; a server judges calls of tools."""
FATAL = frozenset({"configuration", "key"})  # reasons that a server of its own would give too
RETIRED = "retired"  # the reason of an older server without clients, which ends
ATTEMPTS = 3
RETIRE_SECONDS = 20.0
_BOOT = "import sys; sys.path.insert(0, sys.argv[1]); from commonplace.edge.relay.main import main"


def start_relay(data: str, arguments: Sequence[str], server_arguments: Sequence[str]) -> None:
    """Replace this process by a relay.

    `arguments` are the options of `serve` without --attach, `server_arguments` those of them that
    choose configuration and data.
    """
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    options = json.dumps([data, list(arguments), list(server_arguments)])
    os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", f"{_BOOT}; main()", root, options])


def main() -> None:
    """Run the relay whose options are the last argument."""
    data, arguments, server_arguments = json.loads(sys.argv[2])
    attacher = Attacher(data, arguments, server_arguments)
    try:
        link = attacher.attach(())[0]
    except Refused as refused:
        if refused.reason in FATAL:
            _say(f"error: {refused}")
            if refused.hint:
                _say(f"hint: {refused.hint}")
            sys.exit(refused.exit_code)
        _serve_alone(arguments, str(refused))
    except (StartFailed, OSError, ValueError) as error:
        _serve_alone(arguments, f"The local server cannot be used: {error}.")
    sys.exit(Relay(link, Conversation(), attacher.reattach).run())


class Attacher:
    """Makes links to the local server of a data folder."""

    def __init__(
        self, data: str, arguments: Sequence[str], server_arguments: Sequence[str]
    ) -> None:
        self._data = data
        self._arguments = arguments
        self._server_arguments = server_arguments

    def attach(self, requests: Sequence[Sequence[str]]) -> tuple[ServerLink, list[bool]]:
        """Return a link, and which of these requests may be repeated.

        Raises Refused, StartFailed, OSError, ValueError.
        """
        params = describe_client(__version__, self._arguments)
        params["requests"] = requests
        for _ in range(ATTEMPTS - 1):
            try:
                return self._attach(params)
            except Refused as refused:
                if refused.reason != RETIRED:
                    raise
                self._wait_for_end()
            except ConnectionError:  # it ended between two steps
                continue
        return self._attach(params)

    def reattach(self, requests: Sequence[Sequence[str]]) -> tuple[ServerLink, list[bool]]:
        """Return a link to a server, at worst to one of this client alone."""
        try:
            link, safe = self.attach(requests)
        except (Refused, StartFailed, OSError, ValueError) as error:
            _say(f"The local server cannot be used: {error}. This client gets a server of its own.")
            read, write, _ = start_own(self._arguments)
            link, safe = ServerLink(read, write), [False] * len(requests)
        return link, [
            is_safe or method in SAFE_METHODS
            for is_safe, (method, _) in zip(safe, requests, strict=True)
        ]

    def _attach(self, params: dict[str, object]) -> tuple[ServerLink, list[bool]]:
        connection = connect_or_start(self._data, self._server_arguments)
        try:
            answer = LineChannel(connection).ask(ATTACH, params)
        except BaseException:
            connection.close()
            raise
        return ServerLink.over(connection), answer["repeatable"]

    def _wait_for_end(self) -> None:
        until = time.monotonic() + RETIRE_SECONDS
        while is_server_alive(self._data) and time.monotonic() < until:
            time.sleep(0.05)


def _serve_alone(arguments: Sequence[str], why: str) -> None:
    """Replace this process by a server of its own: nothing of the client's input was read."""
    _say(f"{why} This client gets a server of its own.")
    command = serve_command(arguments)
    os.execv(command[0], command)


def _say(text: str) -> None:
    try:
        os.write(2, f"{text}\n".encode(errors="backslashreplace"))
    except OSError:
        pass
