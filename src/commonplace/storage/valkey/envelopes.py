"""Credential envelopes in Valkey, shared by several processes."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from commonplace.storage.credentials.handover import CredentialsUnavailableError
from commonplace.storage.valkey.client import Valkey, ValkeyUnavailableError

if TYPE_CHECKING:
    from redis.asyncio import Redis

T = TypeVar("T")
PUT_AT_ONCE = 500


class ValkeyEnvelopeStore:
    """An `EnvelopeStore` for several processes."""

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
            # one by one: in a cluster, the keys of a command must share a slot
            async with client.pipeline(transaction=False) as pipe:
                for reference in references:
                    pipe.delete(reference)
                await pipe.execute()

        if references:
            await self._try(work)

    async def _try(self, work: Callable[[Redis], Awaitable[T]]) -> T:
        try:
            return await self._valkey.run(work)
        except ValkeyUnavailableError as unavailable:
            raise CredentialsUnavailableError(str(unavailable)) from None
