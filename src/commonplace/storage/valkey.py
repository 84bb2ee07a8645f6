"""Valkey (or Redis): what several processes share that is not worth a database row.

Envelopes with a short life, and rates per tenant.

Nothing here is needed for correctness: without it keys wait for the next call and each process
counts for itself. `redis` is imported when the first connection is made; connections live on the
outbound loop.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from commonplace.storage.breaker import Breaker
from commonplace.storage.credentials import CredentialsUnavailableError
from commonplace.storage.outbound import Outbound
from commonplace.storage.rates import Bucket, RatesUnavailableError

if TYPE_CHECKING:
    from redis.asyncio import Redis

T = TypeVar("T")
ANSWER_SECONDS = 1.0
PUT_AT_ONCE = 500
RATE_PREFIX = "commonplace:rate"

# All buckets of a call or none: a refused call takes from neither. The server's clock counts, so
# that processes need not agree on time.
_TAKE = """
local t = redis.call('TIME')
local now = tonumber(t[1]) + tonumber(t[2]) / 1000000
local wait, levels = 0, {}
for i, key in ipairs(KEYS) do
  local rate, burst = tonumber(ARGV[2 * i - 1]), tonumber(ARGV[2 * i])
  local held = redis.call('HMGET', key, 'level', 'at')
  local level = burst
  if held[1] then level = math.min(burst, tonumber(held[1]) + (now - tonumber(held[2])) * rate) end
  levels[i] = level
  if level < 1 then wait = math.max(wait, (1 - level) / rate) end
end
if wait > 0 then return string.format('%.6f', wait) end
for i, key in ipairs(KEYS) do
  redis.call('HSET', key, 'level', string.format('%.6f', levels[i] - 1), 'at', string.format('%.6f', now))
  redis.call('EXPIRE', key, ARGV[2 * #KEYS + i])
end
return '0'
"""


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


class ValkeyEnvelopes:
    """`EnvelopeStore` for several processes: the envelope alone, with its time to live."""

    def __init__(self, valkey: Valkey) -> None:
        self._valkey = valkey

    async def put(self, envelopes: Mapping[str, str], ttl_seconds: int) -> None:
        async def work(client: Redis) -> None:
            names = list(envelopes)
            for start in range(0, len(names), PUT_AT_ONCE):
                async with client.pipeline(transaction=False) as pipe:
                    for name in names[start : start + PUT_AT_ONCE]:
                        pipe.set(name, envelopes[name], ex=ttl_seconds)
                    await pipe.execute()

        await self._try(work)

    async def get(self, reference: str) -> str | None:
        async def work(client: Redis) -> str | None:
            found = await client.get(reference)
            return None if found is None else str(found)

        return await self._try(work)

    async def delete(self, references: Sequence[str]) -> None:
        async def work(client: Redis) -> None:
            await client.delete(*references)

        if references:
            await self._try(work)

    async def _try(self, work: Callable[[Redis], Awaitable[T]]) -> T:
        try:
            return await self._valkey.ask(work)
        except ValkeyUnavailableError as unavailable:
            raise CredentialsUnavailableError(str(unavailable)) from None


class ValkeyRates:
    """`SharedRates`: token buckets that all processes take from."""

    def __init__(self, valkey: Valkey) -> None:
        self._valkey = valkey

    async def take(self, buckets: Sequence[Bucket]) -> float:
        names = [
            f"{RATE_PREFIX}:{hashlib.sha256(bucket.name.encode()).hexdigest()[:32]}"
            for bucket in buckets
        ]
        rates: list[float] = [
            number for bucket in buckets for number in (bucket.per_second, bucket.burst)
        ]
        lives = [math.ceil(bucket.burst / bucket.per_second) + 1 for bucket in buckets]

        async def work(client: Redis) -> float:
            answer: Any = await client.eval(
                _TAKE, len(names), *names, *map(str, rates), *map(str, lives)
            )
            return float(answer)

        try:
            return await self._valkey.ask(work)
        except ValkeyUnavailableError as unavailable:
            raise RatesUnavailableError(str(unavailable)) from None
