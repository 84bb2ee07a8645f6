"""Who is signed in: sessions kept in memory, keyed by a random cookie.

The key itself never reaches the browser again.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from commonplace.console.caller import Caller
from commonplace.kernel.errors import CommonplaceError

COOKIE = "commonplace_console"
CSRF_COOKIE = "commonplace_csrf"
IDLE_SECONDS = 12 * 3600.0
MAX_SESSIONS = 1000


@dataclass(slots=True)
class Session:
    """One signed-in browser. `check` raises once its key is no longer good."""

    caller: Caller
    check: Callable[[], object]
    token: str
    used: float = field(default_factory=time.monotonic)
    dark: bool | None = None  # None until the browser has said what it prefers
    history: list[dict[str, object]] = field(
        default_factory=list
    )  # calls made from the forms, newest last


@dataclass(frozen=True, slots=True)
class Gate:
    """How people come in.

    `sign_in` turns a key into a caller and its re-check; `open_to` is set where no key is needed.

    `is_https` says of a request's scheme whether browsers use TLS.
    """

    sign_in: Callable[[str], tuple[Caller, Callable[[], object]]]
    open_to: Callable[[], Caller] | None = None
    is_https: Callable[[str], bool] = lambda scheme: scheme == "https"


class Sessions:
    """Bounded, idle ones forgotten, each re-checked whenever it is used."""

    def __init__(self, gate: Gate, clock: Callable[[], float] = time.monotonic) -> None:
        self.gate = gate
        self._clock = clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def open(self, key: str) -> Session:
        caller, check = self.gate.sign_in(key)
        return self._keep(caller, check)

    def open_without_key(self) -> Session | None:
        return None if self.gate.open_to is None else self._keep(self.gate.open_to(), lambda: None)

    def find(self, cookies: Mapping[str, str]) -> Session | None:
        """The live session of a request, or None: unknown, idle too long, or its key revoked."""
        token = cookies.get(COOKIE, "")
        session = self._sessions.get(token)
        if session is None:
            return None
        try:
            session.check()
        except CommonplaceError:
            self.close(token)
            return None
        if self._clock() - session.used > IDLE_SECONDS:
            self.close(token)
            return None
        session.used = self._clock()
        self._sessions.move_to_end(token)
        return session

    def close(self, token: str) -> None:
        self._sessions.pop(token, None)

    def _keep(self, caller: Caller, check: Callable[[], object]) -> Session:
        token = secrets.token_urlsafe(32)
        session = Session(caller, check, token, self._clock())
        self._sessions[token] = session
        while len(self._sessions) > MAX_SESSIONS:
            self._sessions.popitem(last=False)
        return session
