"""The state of a data folder's local server, as other commands see it."""

from __future__ import annotations

from dataclasses import dataclass, field

from commonplace.edge.relay.attachment import STATUS, LineChannel, Refused
from commonplace.edge.relay.endpoint import connect, is_server_alive, socket_path
from commonplace.kernel.json_types import JsonObject

STATUS_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class ServerState:
    """Whether the server runs, and what it says of itself; no figures if it does not answer."""

    data: str
    is_running: bool
    figures: JsonObject = field(default_factory=dict)

    def as_json(self) -> JsonObject:
        """Return the state for programs."""
        return {
            "running": self.is_running,
            "socket": socket_path(self.data),
            "data": self.data,
            **self.figures,
        }


def find_server(data: str) -> ServerState:
    """Ask the local server of a data folder for its state."""
    if not is_server_alive(data):
        return ServerState(data, False)
    try:
        with connect(data) as connection:
            return ServerState(data, True, LineChannel(connection, STATUS_SECONDS).ask(STATUS, {}))
    except (OSError, ValueError, Refused):
        return ServerState(data, True)
