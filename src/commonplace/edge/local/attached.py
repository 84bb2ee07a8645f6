"""What the local server knows of a client, and who decides what it is offered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from commonplace.edge.core import Core
from commonplace.kernel.auth import AuthContext
from commonplace.kernel.json_types import Json

HOOK_ROLE = "hook"


@dataclass(frozen=True, slots=True)
class Attachment:
    """The first line of a client: its version, options, variables and working folder."""

    version: str = ""
    protocol: int = 0
    role: str = "client"
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    requests: Sequence[Sequence[str]] = ()  # that an earlier server did not answer

    @classmethod
    def of(cls, params: Json) -> Attachment:
        """Read the parameters of the first line. Raises ValueError."""
        if not isinstance(params, dict):
            raise ValueError("params must be an object")
        version, protocol = params.get("version"), params.get("protocol")
        arguments, environment = params.get("arguments", []), params.get("environment", {})
        folder, role = params.get("folder", ""), params.get("role", "client")
        requests = params.get("requests", [])
        if not (
            isinstance(version, str)
            and type(protocol) is int
            and isinstance(folder, str)
            and isinstance(role, str)
            and _are_texts(arguments)
            and isinstance(environment, dict)
            and _are_texts([*environment, *environment.values()])
            and isinstance(requests, list)
            and all(_are_texts(request) and len(request) == 2 for request in requests)
        ):
            raise ValueError("a parameter has the wrong type")
        return cls(version, protocol, role, tuple(arguments), environment, folder, requests)


def _are_texts(values: Json) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


@dataclass(frozen=True, slots=True)
class AdmittedClient:
    """A client that may use the server: the core for its options, and who it is."""

    core: Core
    caller: AuthContext


class Admission(Protocol):
    """Decides about clients. `bootstrap` and `cli` know settings and options."""

    def admit(self, attachment: Attachment) -> AdmittedClient:
        """Return what the client gets. Raises CommonplaceError, NotSharedError."""
        ...

    def admit_plain(self) -> AdmittedClient:
        """Return what a client gets that speaks MCP without attaching first."""
        ...

    def is_repeatable(self, method: str, tool: str) -> bool:
        """Tell whether a call may be made twice: it only reads."""
        ...


class NotSharedError(Exception):
    """The client needs a server of its own, or a newer one; `reason` is for its program."""

    def __init__(self, message: str, reason: str = "settings") -> None:
        super().__init__(message)
        self.reason = reason
