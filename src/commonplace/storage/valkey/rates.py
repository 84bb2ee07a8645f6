"""Token buckets in Valkey, shared by several processes."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.storage.shared_rates import RateBucket, RatesUnavailableError
from commonplace.storage.valkey.client import Valkey, ValkeyUnavailableError

if TYPE_CHECKING:
    from redis.asyncio import Redis

RATE_PREFIX = "commonplace:rate"

# Take from all buckets of a call or from none. The clock of the server is used, so that the clocks
# of the processes need not agree.
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
  local level, at = string.format('%.6f', levels[i] - 1), string.format('%.6f', now)
  redis.call('HSET', key, 'level', level, 'at', at)
  redis.call('EXPIRE', key, ARGV[2 * #KEYS + i])
end
return '0'
"""


class ValkeyRates:
    """`SharedRates` in one script that runs atomically on the server."""

    def __init__(self, valkey: Valkey) -> None:
        self._valkey = valkey

    async def take(self, buckets: Sequence[RateBucket]) -> float:
        names = [_key_of(bucket) for bucket in buckets]
        rates: list[float] = [
            number for bucket in buckets for number in (bucket.per_second, bucket.burst)
        ]
        lives = [math.ceil(bucket.burst / bucket.per_second) + 1 for bucket in buckets]

        async def work(client: Redis) -> float:
            answer = await client.eval(
                _TAKE, len(names), *names, *map(str, rates), *map(str, lives)
            )
            return float(answer)

        try:
            return await self._valkey.run(work)
        except ValkeyUnavailableError as unavailable:
            raise RatesUnavailableError(str(unavailable)) from None


def _key_of(bucket: RateBucket) -> str:
    """Return the key of a bucket; the part in braces puts a group into one slot of a cluster."""
    return f"{RATE_PREFIX}:{{{_digest(bucket.group)}}}:{_digest(bucket.name)}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]
