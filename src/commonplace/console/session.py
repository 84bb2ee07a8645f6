"""Sessions of the console, kept in the browser in one encrypted cookie.

A server keeps nothing, so every server that has the same secret accepts the cookie, also after a
restart. The cookie contains the key of the person, because each call is made with that key; a
revoked key ends the session at once.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import orjson

from commonplace.console.caller import Caller
from commonplace.kernel.errors import CommonplaceError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

COOKIE = "commonplace_console"
IDLE_SECONDS = 12 * 3600
RENEW_SECONDS = 600  # a cookie older than this is replaced by the next answer
NONCE_BYTES = 12
MAX_COOKIE_CHARS = 4000

Address = str | None


@dataclass(frozen=True, slots=True)
class Gate:
    """Ways into the console.

    `sign_in` checks a key that somebody typed; `resume` returns the caller of a key that was
    accepted before, without a network request; both raise CommonplaceError if the key is refused.
    `open_to` is set if no key is needed. All three get the address of the browser, for the audit
    trail. `is_https` tells from the scheme of a request whether browsers use TLS. `derive_key`
    returns a secret for a purpose, the same on all servers.
    """

    sign_in: Callable[[str, Address], Caller]
    resume: Callable[[str, Address], Caller]
    derive_key: Callable[[str], bytes]
    open_to: Callable[[Address], Caller] | None = None
    is_https: Callable[[str], bool] = lambda scheme: scheme == "https"


@dataclass(frozen=True, slots=True)
class Session:
    """One signed-in browser."""

    caller: Caller
    key: str | None
    browser_id: str  # of a session without a key
    issued_at: int
    csrf_token: str


class Sessions:
    """Opens sessions, and reads and writes their cookies."""

    def __init__(self, gate: Gate, clock: Callable[[], float] = time.time) -> None:
        self.gate = gate
        self._clock = clock

    def open(self, key: str, address: Address = None) -> Session:
        """Sign in with a key. Raises CommonplaceError if it is refused."""
        return self._session(self.gate.sign_in(key, address), key, "", self._now())

    def open_without_key(self, address: Address = None) -> Session | None:
        """Return a new session if the console is open to everyone."""
        if self.gate.open_to is None:
            return None
        caller = self.gate.open_to(address)
        return self._session(caller, None, secrets.token_urlsafe(12), self._now())

    def find(self, cookies: Mapping[str, str], address: Address = None) -> Session | None:
        """Return the session of a request, or None if there is none or its key is refused."""
        content = self._open_cookie(cookies.get(COOKIE, ""))
        if content is None or self._now() - content.issued_at > IDLE_SECONDS:
            return None
        try:
            if content.key is not None:
                caller = self.gate.resume(content.key, address)
            elif self.gate.open_to is not None:
                caller = self.gate.open_to(address)
            else:
                return None
        except CommonplaceError:
            return None
        return self._session(caller, content.key, content.browser_id, content.issued_at)

    def cookie(self, session: Session) -> str:
        """Return the cookie's value, with the time of now."""
        text = orjson.dumps([session.key, session.browser_id, self._now()])
        nonce = secrets.token_bytes(NONCE_BYTES)
        sealed = nonce + self._cipher.encrypt(nonce, text, COOKIE.encode())
        return base64.urlsafe_b64encode(sealed).decode()

    def is_due(self, session: Session) -> bool:
        """Whether the cookie of a session should be replaced."""
        return self._now() - session.issued_at > RENEW_SECONDS

    def _open_cookie(self, cookie: str) -> _Content | None:
        from cryptography.exceptions import InvalidTag

        if not cookie or len(cookie) > MAX_COOKIE_CHARS:
            return None
        try:
            sealed = base64.b64decode(cookie, altchars=b"-_", validate=True)
            nonce, text = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
            key, browser_id, issued_at = orjson.loads(
                self._cipher.decrypt(nonce, text, COOKIE.encode())
            )
        except (binascii.Error, ValueError, InvalidTag):
            return None
        return _Content(key, browser_id, issued_at)

    def _session(self, caller: Caller, key: str | None, browser_id: str, at: int) -> Session:
        return Session(caller, key, browser_id, at, self._csrf_token(key, browser_id))

    def _csrf_token(self, key: str | None, browser_id: str) -> str:
        """Derive the token from the person, so that pages stay valid when they sign in again."""
        person = hashlib.sha256(f"{key or ''}\0{browser_id}".encode()).digest()
        made = hmac.digest(self.gate.derive_key("console csrf"), person, "sha256")
        return base64.urlsafe_b64encode(made[:24]).decode()

    @cached_property
    def _cipher(self) -> AESGCM:
        from cryptography.hazmat.primitives.ciphers import aead

        return aead.AESGCM(self.gate.derive_key("console session"))

    def _now(self) -> int:
        return int(self._clock())


@dataclass(frozen=True, slots=True)
class _Content:
    """The decrypted content of a cookie."""

    key: str | None
    browser_id: str
    issued_at: int
