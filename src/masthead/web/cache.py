"""Caches encoded responses until the tenant's content changes.

Every change of a tenant's content increments the tenant's version in the same transaction, so a
cache entry is valid exactly as long as its version.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeAlias

import msgspec

from masthead.base import clock
from masthead.base.byte_cache import ByteCache
from masthead.base.counters import CacheCounts
from masthead.base.ids import TenantId
from masthead.engine.records.versions import TenantVersions, Versions
from masthead.web.answers import RawHeaders
from masthead.web.request import Viewed

MAX_ANSWER_BYTES = 2 * 1024 * 1024
"""The page of a very long text: to write one takes tenths of a second."""

CacheKey: TypeAlias = tuple[TenantId, str, bytes]


class CachedAnswer(msgspec.Struct):
    version: int
    body: bytes
    tag: bytes
    headers: RawHeaders
    until: str = ""
    """The moment at which the response changes by itself; empty if it does not."""
    viewed: Viewed | None = None
    """The page that readers see, if its views are counted."""
    frame_origins: tuple[str, ...] = ()
    """The sites whose frames the page has."""
    code: tuple[str, ...] | None = None
    """The hashes of inline scripts of a page that has code of the site's owner."""


class AnswerCache:
    def __init__(
        self,
        versions: TenantVersions,
        now: clock.Clock = clock.now,
        *,
        counts: CacheCounts,
    ) -> None:
        self._versions = versions
        self._clock = now
        self._answers: ByteCache[CacheKey, CachedAnswer] = ByteCache(counts)
        self._counts = counts

    def get(self, key: CacheKey, version: int) -> CachedAnswer | None:
        """Finds the answer of this version, which the caller has read: one read serves the search
        and, if nothing is found, the new entry."""
        answer = self.find(key, version)
        if answer is None:
            self._counts.misses += 1
        else:
            self._counts.hits += 1
        return answer

    def find(self, key: CacheKey, version: int) -> CachedAnswer | None:
        """Like `get`, without a count."""
        answer = self._answers.get(key)
        if answer is None:
            return None
        is_over = bool(answer.until) and clock.to_text(self._clock()) >= answer.until
        if is_over or version != answer.version:
            self._answers.remove(key)
            return None
        return answer

    def put(
        self,
        key: CacheKey,
        version: int,
        body: bytes,
        tag: bytes,
        *,
        headers: RawHeaders,
        until: str = "",
        viewed: Viewed | None = None,
        frame_origins: tuple[str, ...] = (),
        code: tuple[str, ...] | None = None,
    ) -> CachedAnswer:
        """`version` must have been read before the response was built: if something changes in
        between, the entry is newer than its version and is dropped at its next use."""
        answer = CachedAnswer(version, body, tag, headers, until, viewed, frame_origins, code)
        if len(body) <= MAX_ANSWER_BYTES:
            # With the key, because the caller chooses the query.
            self._answers.put(key, answer, len(body) + len(key[1]) + len(key[2]))
        return answer

    async def version(self, tenant_id: TenantId) -> int:
        return (await self.versions(tenant_id)).content

    def versions(self, tenant_id: TenantId) -> Awaitable[Versions]:
        return self._versions.of(tenant_id)
