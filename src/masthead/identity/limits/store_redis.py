"""Rate-limit counters in Redis, for services on several machines.

Optimistic locking: a script compares the states with those that were read, and writes the new ones
if they are the same.
"""

from __future__ import annotations

import time
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
        try:
            while time.monotonic() < deadline:
                found: list[Any] = await self._redis.mget(names)
                before: list[bytes] = [state or b"" for state in found]
                after, results = change(before)
                if list(after) == before:
                    return results
                if await self._exchange(keys=names, args=[*before, *after, EXPIRE_SECONDS]):
                    return results
        except (RedisError, OSError) as error:
            raise Unavailable from error
        raise Unavailable
