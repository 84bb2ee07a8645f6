"""Valkey (or Redis): what several processes share that is not worth a database row.

Envelopes with a short life, and rates per tenant.

Nothing here is needed for correctness: without it keys wait for the next call and each process
counts for itself. `redis` is imported when the first connection is made; connections live on the
outbound loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.storage.circuit_breaker import Breaker
from commonplace.storage.network_loop import Outbound

if TYPE_CHECKING:
    from redis.asyncio import Redis

T = TypeVar("T")
ANSWER_SECONDS = 1.0


class ValkeyUnavailableError(Exception):
    """The cache does not answer. The message names no address: it may hold a password."""


@dataclass(frozen=True, slots=True)
class Health:
    version: str
    persistent: bool  # whether it writes what it holds to disk


class Valkey:
    """One server, asked through a small pool.

    A server that is away is not waited for again and again.
    """

    def __init__(self, url: str, outbound: Outbound, breaker: Breaker | None = None) -> None:
        self._url = url
        self._outbound = outbound
        self._breaker = breaker or Breaker(failures=3)
        self._client: Redis | None = None

    @property
    def resting(self) -> bool:
        """Whether it failed so often that it is left alone."""
        return self._breaker.open

    async def ask(self, work: Callable[[Redis], Awaitable[T]]) -> T:
        return await self._outbound.run(self._ask(work))

    async def ping(self) -> None:
        """Raise ValkeyUnavailableError unless it answers now, also while other callers leave it
        alone.
        """
        await self._outbound.run(self._ping())

    async def _ping(self) -> None:
        from redis.exceptions import RedisError

        try:
            await self._pool().ping()
        except (RedisError, OSError, TimeoutError) as failed:
            raise ValkeyUnavailableError(f"it does not answer ({type(failed).__name__})") from None
        self._breaker.succeeded()

    async def health(self) -> Health:
        from redis.exceptions import ResponseError

        async def look(client: Redis) -> Health:
            info: Mapping[str, Any] = await client.info()
            version = str(info.get("valkey_version") or info.get("redis_version"))
            try:
                saved: Mapping[Any, Any] = await client.config_get("save", "appendonly")
            except ResponseError:  # a managed server keeps its configuration to itself
                saved = {}
            return Health(version, bool(saved.get("save")) or saved.get("appendonly") == "yes")

        return await self.ask(look)

    def doctor(self) -> Iterator[dict[str, str]]:
        """For the command line: it runs an event loop of its own."""
        try:
            health = asyncio.run(self.health())
        except ValkeyUnavailableError as away:
            fix = (
                "Is settings.storage.cache_url right, and the server running? Meanwhile "
                "vectors wait and each process counts rates alone."
            )
            yield {"name": "cache", "status": "fail", "finding": str(away), "fix": fix}
            return
        finding = f"Valkey {health.version} answers"
        kept = (
            "It writes to disk what it holds; envelopes are sealed, but none needs to "
            "survive: save '' and appendonly no."
        )
        yield {
            "name": "cache",
            "status": "ok",
            "finding": finding,
            "fix": kept if health.persistent else "",
        }

    async def _ask(self, work: Callable[[Redis], Awaitable[T]]) -> T:
        from redis.exceptions import RedisError

        if self._breaker.rest() > 0:
            raise ValkeyUnavailableError(
                "the cache did not answer several times and is left alone for a moment"
            )
        try:
            answer = await work(self._pool())
        except (RedisError, OSError, TimeoutError) as failed:
            self._breaker.failed()
            raise ValkeyUnavailableError(
                f"the cache does not answer ({type(failed).__name__})"
            ) from None
        self._breaker.succeeded()
        return answer

    def _pool(self) -> Redis:
        if self._client is None:
            from redis.asyncio import Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
            from redis.exceptions import ConnectionError as Lost

            # One more try on a fresh connection: a pooled one may be left from before a restart of
            # the server.
            self._client = Redis.from_url(
                self._url,
                decode_responses=True,
                socket_timeout=ANSWER_SECONDS,
                socket_connect_timeout=ANSWER_SECONDS,
                retry=Retry(NoBackoff(), 1),
                retry_on_error=[Lost],
                max_connections=32,
            )
        return self._client
