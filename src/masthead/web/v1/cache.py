"""Answers kept as bytes, and used only while nothing of the tenant has changed.

Every change of a tenant's content moves the tenant's version in its own transaction, so an answer
is good exactly as long as the version it was made under.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeAlias

from masthead.ids import TenantId
from masthead.records.versions import TenantVersions
from masthead.web.answers import RawHeaders

MAX_BYTES = 32 * 1024 * 1024
MAX_ANSWER_BYTES = 512 * 1024
OVERHEAD_BYTES = 1024

Place: TypeAlias = tuple[TenantId, str, bytes]


@dataclass(slots=True)
class CachedAnswer:
    version: int
    body: bytes
    tag: bytes
    links: RawHeaders


class AnswerCache:
    def __init__(self, versions: TenantVersions, *, max_bytes: int = MAX_BYTES) -> None:
        self._versions = versions
        self._max_bytes = max_bytes
        self._answers: OrderedDict[Place, CachedAnswer] = OrderedDict()
        self._bytes = 0

    async def recall(self, place: Place) -> CachedAnswer | None:
        answer = self._answers.get(place)
        if answer is None:
            return None
        if await self.version(place[0]) != answer.version:
            self._forget(place)
            return None
        self._answers.move_to_end(place)
        return answer

    def remember(
        self, place: Place, version: int, body: bytes, tag: bytes, links: RawHeaders
    ) -> CachedAnswer:
        """`version` must have been read before the answer was made: if something changes in
        between, the answer is merely newer than it claims and is dropped at the next look."""
        answer = CachedAnswer(version, body, tag, links)
        if len(body) <= MAX_ANSWER_BYTES and self._max_bytes:
            self._forget(place)
            self._answers[place] = answer
            self._bytes += _size(place, answer)
            while self._bytes > self._max_bytes:
                self._forget(next(iter(self._answers)))
        return answer

    async def version(self, tenant_id: TenantId) -> int:
        return (await self._versions.of(tenant_id)).content

    def _forget(self, place: Place) -> None:
        answer = self._answers.pop(place, None)
        if answer is not None:
            self._bytes -= _size(place, answer)


def _size(place: Place, answer: CachedAnswer) -> int:
    """With what was asked: a caller may put anything into a query, and as much as headers hold."""
    _, path, query = place
    return len(answer.body) + len(path) + len(query) + OVERHEAD_BYTES
