"""Rate-limit counters in Redis, for services on several machines.

Optimistic locking: a script compares the states with those that were read, and writes the new ones
if they are the same.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import RedisError

from masthead.base.errors import Unavailable
from masthead.base.ids import TenantId
from masthead.identity.limits.batches import BatchedStore
from masthead.identity.limits.stores import EXPIRE_SECONDS, Change

TIMEOUT_SECONDS = 2.0

_EXCHANGE = """
local found = redis.call('MGET', unpack(KEYS))
for i = 1, #KEYS do
  if (found[i] or '') ~= ARGV[i] then return 0 end
end
for i = 1, #KEYS do
  redis.call('SET', KEYS[i], ARGV[#KEYS + i], 'EX', ARGV[2 * #KEYS + 1])
end
return 1
"""


class RedisLimitStore(BatchedStore):
    def __init__(self, url: str) -> None:
        super().__init__()
        self._redis: Redis = Redis.from_url(
            url, socket_timeout=TIMEOUT_SECONDS, socket_connect_timeout=TIMEOUT_SECONDS
        )
        self._exchange = self._redis.register_script(_EXCHANGE)

    async def sweep(self) -> None:
        """Nothing to do: keys in Redis expire."""

    async def close(self) -> None:
        await super().close()
        await self._redis.aclose()

    async def _update_locked(
        self, tenant_id: TenantId, subjects: tuple[str, ...], change: Change[list[Any]]
    ) -> list[Any]:
        # The braces keep the keys of a tenant on one node of a cluster.
        names = [f"masthead:limits:{{{tenant_id}}}:{each}" for each in subjects]
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            before = await self._states(names)
            after, results = change(before)
            if list(after) == before:
                return results
            values: list[bytes | int] = [*before, *after, EXPIRE_SECONDS]
            if await _answer(self._exchange(keys=names, args=values)) == 1:
                return results
        raise Unavailable

    async def _states(self, names: list[str]) -> list[bytes]:
        found = await _answer(self._redis.mget(names))
        is_list = isinstance(found, list) and len(found) == len(names)
        if not is_list or not all(each is None or isinstance(each, bytes) for each in found):
            raise Unavailable
        return [each or b"" for each in found]


async def _answer(call: Awaitable[Any]) -> Any:
    try:
        return await call
    except (RedisError, OSError, ValueError) as error:
        # A ValueError is about what came: no number of bytes, for example.
        raise Unavailable from error
