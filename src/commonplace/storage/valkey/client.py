"""The client of a Valkey (or Redis) server.

Nothing here is needed for correctness: without it, jobs wait for the next call of their caller and
each process counts rates for itself. `redis` is imported with the first connection; connections
belong to the network loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.storage.circuit_breaker import CircuitBreaker
from commonplace.storage.network_loop import NetworkLoop

if TYPE_CHECKING:
    from redis.asyncio import Redis

T = TypeVar("T")
ANSWER_SECONDS = 1.0


class ValkeyUnavailableError(Exception):
    """The server does not answer. The message has no address: it may hold a password."""


@dataclass(frozen=True, slots=True)
class ValkeyHealth:
    """What a server reports about itself."""

    version: str
    persistent: bool  # whether it writes its data to disk
    clustered: bool = False


class Valkey:
    """One server, reached through a small pool and a circuit breaker."""

    def __init__(
        self, url: str, network: NetworkLoop, breaker: CircuitBreaker | None = None
    ) -> None:
        self._url = url
        self._network = network
        self._breaker = breaker or CircuitBreaker(failures=3)
        self._client: Redis | None = None
        self._clustered = False

    @property
    def paused(self) -> bool:
        """Whether it failed too often and is not asked for a moment."""
        return self._breaker.is_open

    async def run(self, work: Callable[[Redis], Awaitable[T]]) -> T:
        """Run a function of the client. Raises ValkeyUnavailableError."""
        return await self._network.run(self._run(work))

    async def ping(self) -> None:
        """Raise ValkeyUnavailableError unless it answers now, even while the breaker is open."""
        await self._network.run(self._ping())

    async def _ping(self) -> None:
        from redis.exceptions import RedisClusterException, RedisError

        try:
            await (await self._connected()).ping()
        except (RedisError, RedisClusterException, OSError, TimeoutError) as failed:
            raise ValkeyUnavailableError(f"it does not answer ({type(failed).__name__})") from None
        self._breaker.record_success()

    async def health(self) -> ValkeyHealth:
        """Ask the server about itself."""
        from redis.exceptions import ResponseError

        async def look(client: Redis) -> ValkeyHealth:
            info: Mapping[str, Any] = await client.info()
            if self._clustered and "redis_version" not in info:  # by node
                info = next(iter(info.values()))
            version = str(info.get("valkey_version") or info.get("redis_version"))
            try:
                saved: Mapping[Any, Any] = await client.config_get("save", "appendonly")
            except ResponseError:  # a managed server may not show its configuration
                saved = {}
            persistent = bool(saved.get("save")) or saved.get("appendonly") == "yes"
            return ValkeyHealth(version, persistent, self._clustered)

        return await self.run(look)

    def doctor(self) -> Iterator[dict[str, str]]:
        """Yield findings for the command line. Runs its own event loop."""
        try:
            health = asyncio.run(self.health())
        except ValkeyUnavailableError as unavailable:
            fix = (
                "Check settings.storage.cache_url and that the server is running. Meanwhile "
                "vectors wait and each process counts rates alone."
            )
            yield {"name": "cache", "status": "fail", "finding": str(unavailable), "fix": fix}
            return
        kind = "cluster" if health.clustered else "server"
        finding = f"Valkey {health.version} ({kind}) answers"
        persistence = (
            "It writes its data to disk. Envelopes are sealed, but none needs to survive a "
            "restart: set save '' and appendonly no."
        )
        yield {
            "name": "cache",
            "status": "ok",
            "finding": finding,
            "fix": persistence if health.persistent else "",
        }

    async def _run(self, work: Callable[[Redis], Awaitable[T]]) -> T:
        from redis.exceptions import AuthenticationError, RedisClusterException, RedisError

        if self._breaker.pause_seconds() > 0:
            raise ValkeyUnavailableError(
                "the cache failed to answer several times and will not be asked for a moment"
            )
        try:
            answer = await work(await self._connected())
        except AuthenticationError:
            self._breaker.record_failure()
            raise ValkeyUnavailableError("the cache refuses the user or the password") from None
        except (RedisError, RedisClusterException, OSError, TimeoutError) as failed:
            self._breaker.record_failure()
            raise ValkeyUnavailableError(
                f"the cache does not answer ({type(failed).__name__})"
            ) from None
        self._breaker.record_success()
        return answer

    async def _connected(self) -> Redis:
        """Return the client: of a server, or of all nodes if the server belongs to a cluster."""
        if self._client is None:
            from redis.exceptions import ResponseError

            client = self._open_server()
            try:
                info: Mapping[str, Any] = await client.info("cluster")
            except ResponseError:  # a managed server may not report on itself
                info = {}
            self._clustered = bool(info.get("cluster_enabled"))
            if self._clustered:
                await client.aclose()
                client = self._open_cluster()
            self._client = client
        return self._client

    def _open_server(self) -> Redis:
        from redis.asyncio import Redis
        from redis.asyncio.retry import Retry
        from redis.backoff import NoBackoff
        from redis.exceptions import ConnectionError as Lost

        # Try once more on a new connection: a pooled one may be older than a server restart.
        return Redis.from_url(
            self._url,
            decode_responses=True,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            retry=Retry(NoBackoff(), 1),
            retry_on_error=[Lost],
            max_connections=32,
        )

    def _open_cluster(self) -> Redis:
        from redis.asyncio.cluster import RedisCluster

        cluster: Any = RedisCluster.from_url(
            self._url,
            decode_responses=True,
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=ANSWER_SECONDS,
            max_connections=32,
        )
        client: Redis = cluster  # the commands used here have the same form
        return client
