"""Requests to an external model with the caller's key.

Connections are pooled, failures are retried with jitter, a circuit breaker protects the model, and
one time limit covers the whole call. The key is sent in the Authorization header to the configured
address only: no redirect, message or log line contains it.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import random
import time
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import orjson

from commonplace.storage.circuit_breaker import CircuitBreaker
from commonplace.storage.network_loop import NetworkLoop

if TYPE_CHECKING:
    import httpx

ATTEMPTS = 3
FIRST_PAUSE_SECONDS = 0.05
MAX_CONNECTIONS = 32
CONNECTIONS_PER_KEY = 8
KEEP_ALIVE_SECONDS = 60.0
MAX_ANSWER_BYTES = 64 * 1024 * 1024
TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
KEY_REFUSED = frozenset({401, 403})
NO_KEY = "the call brought no key for the external model (header X-Model-Key)"


class ModelError(Exception):
    """The model did not answer.

    The message is safe to show: it has neither the key nor the model's own words.
    """


class ModelUnavailableError(ModelError):
    """The model may answer later; `rest_seconds` is how long to wait, if it is known."""

    def __init__(self, message: str, rest_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.rest_seconds = rest_seconds


class ModelKeyRefusedError(ModelError):
    """The model does not accept the caller's key."""


class ModelRejectedError(ModelError):
    """The model will never accept this request."""


class ModelMalformedError(ModelRejectedError):
    """The answer is not one of such a model: a proxy's page, or a truncated text.

    The next answer may be right.
    """


class ModelEndpoint:
    """One address of one model.

    Its connections live on the loop of `outbound`; call it from any loop.
    """

    def __init__(
        self,
        name: str,
        url: str,
        timeout_seconds: float,
        outbound: NetworkLoop,
        count: Callable[[str], None] = lambda event: None,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        """`name` is the model in messages and counters: `embedding`, `rerank`."""
        self.name = name
        self._url = url
        self._timeout_seconds = timeout_seconds
        self._outbound = outbound
        self._count = count
        self._breaker = breaker or CircuitBreaker()
        self._client: httpx.AsyncClient | None = None
        self._turns: dict[
            int, tuple[asyncio.Semaphore, int]
        ] = {}  # by the hash of a key: its semaphore, and how many wait for it

    @property
    def resting(self) -> bool:
        """Return whether the circuit breaker is open."""
        return self._breaker.is_open

    async def ask(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Return the model's JSON answer within the time limit."""
        return await self._outbound.run(self._ask(orjson.dumps(body), key))

    def ask_now(self, body: Mapping[str, Any], key: str) -> dict[str, Any]:
        """Do the same from a worker thread."""
        return self._outbound.submit(self._ask(orjson.dumps(body), key)).result()

    @property
    def place(self) -> str:
        """Return host and path, for people."""
        parts = urlsplit(self._url)
        return f"{parts.hostname}{parts.path}"

    @property
    def in_the_clear(self) -> bool:
        """Return whether keys would cross a network without TLS."""
        parts = urlsplit(self._url)
        return parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1")

    async def _ask(self, body: bytes, key: str) -> dict[str, Any]:
        rest = self._breaker.pause_seconds()
        if rest > 0:
            self._count(f"{self.name} model resting")
            raise ModelUnavailableError(
                f"the {self.name} model failed several times and will not be called for "
                f"{math.ceil(rest)} s",
                rest,
            )
        try:
            async with asyncio.timeout(self._timeout_seconds), self._turn(key):
                answer = await self._attempts(body, key)
        except TimeoutError:
            self._breaker.record_failure()
            self._count(f"{self.name} model timeout")
            raise ModelUnavailableError(
                f"the {self.name} model did not answer within {self._timeout_seconds:g} s"
            ) from None
        except ModelUnavailableError:
            self._count(f"{self.name} model failed")
            raise
        except ModelError:
            self._breaker.record_success()  # the model works; it only refuses this request
            self._count(f"{self.name} model refused")
            raise
        self._breaker.record_success()
        self._count(f"{self.name} model answered")
        return answer

    @contextlib.asynccontextmanager
    async def _turn(self, key: str) -> AsyncIterator[None]:
        """Wait until this key may open a connection: one caller never occupies all of them."""
        name = hash(key)
        turns, users = self._turns.get(name, (asyncio.Semaphore(CONNECTIONS_PER_KEY), 0))
        self._turns[name] = (turns, users + 1)
        try:
            async with turns:
                yield
        finally:
            users = self._turns[name][1] - 1
            if users:
                self._turns[name] = (turns, users)
            else:
                del self._turns[name]

    async def _attempts(self, body: bytes, key: str) -> dict[str, Any]:
        began, attempt = time.monotonic(), 0
        while True:
            answer, ask_again_after = await self._attempt(body, key)
            if isinstance(answer, dict):
                return answer
            attempt += 1
            jitter = 0.5 + random.random()  # noqa: S311 - not a secret
            pause = ask_again_after or FIRST_PAUSE_SECONDS * 2**attempt * jitter
            if attempt == ATTEMPTS or time.monotonic() - began + pause > self._timeout_seconds:
                raise ModelUnavailableError(answer)
            await asyncio.sleep(pause)

    async def _attempt(self, body: bytes, key: str) -> tuple[dict[str, Any] | str, float]:
        """Return an answer, or the error and how long the model asked us to wait (0: unsaid)."""
        import httpx

        headers = {
            "authorization": f"Bearer {key}",
            "content-type": "application/json",
            "accept": "application/json",
        }
        try:
            async with self._pool().stream(
                "POST", self._url, content=body, headers=headers
            ) as response:
                if response.status_code in TRANSIENT:
                    if (
                        response.status_code != 429
                    ):  # the rate limit of one key says nothing about the model
                        self._breaker.record_failure()
                    return f"the {self.name} model answered {response.status_code}", _retry_after(
                        response.headers.get("retry-after")
                    )
                if response.status_code in KEY_REFUSED:
                    raise ModelKeyRefusedError(
                        f"the {self.name} model refused the caller's key ({response.status_code})"
                    )
                if response.status_code != 200:
                    raise ModelRejectedError(
                        f"the {self.name} model answered {response.status_code}"
                    )
                return self._parse(await _within_limit(response)), 0.0
        except httpx.HTTPError as error:
            self._breaker.record_failure()
            return f"the {self.name} model cannot be reached ({type(error).__name__})", 0.0

    def _parse(self, content: bytes | None) -> dict[str, Any]:
        try:
            answer = orjson.loads(content) if content is not None else None
        except orjson.JSONDecodeError:
            answer = None
        if not isinstance(answer, dict):
            raise ModelMalformedError(
                f"the {self.name} model answered something that is not a JSON object"
            )
        return answer

    def _pool(self) -> httpx.AsyncClient:
        if self._client is None:
            import httpx

            limits = httpx.Limits(
                max_connections=MAX_CONNECTIONS, keepalive_expiry=KEEP_ALIVE_SECONDS
            )
            # The time limit of the whole call ends a hanging attempt; a redirect could carry the
            # key elsewhere.
            self._client = httpx.AsyncClient(
                timeout=None,  # noqa: S113
                limits=limits,
                follow_redirects=False,
            )
        return self._client


async def _within_limit(response: httpx.Response) -> bytes | None:
    parts: list[bytes] = []
    size = 0
    async for part in response.aiter_bytes():
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            return None
        parts.append(part)
    return b"".join(parts)


def _retry_after(value: str | None) -> float:
    try:
        return max(0.0, float(value)) if value else 0.0
    except ValueError:
        return 0.0  # a date: use our own pause
