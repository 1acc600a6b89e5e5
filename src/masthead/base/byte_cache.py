"""A cache of at most so many bytes: what was used longest ago leaves first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

from masthead.base.counters import CacheCounts

OVERHEAD_BYTES = 1024
"""The memory that an entry takes besides its content."""

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class ByteCache(Generic[K, V]):
    """For one thread, or behind a lock."""

    def __init__(self, counts: CacheCounts, max_bytes: int | None = None) -> None:
        self._counts = counts
        self._max_bytes = counts.max_bytes if max_bytes is None else max_bytes
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._bytes = 0

    def get(self, key: K) -> V | None:
        """Without a count: whether it is a hit, its reader says."""
        found = self._entries.get(key)
        if found is None:
            return None
        self._entries.move_to_end(key)
        return found[0]

    def read(self, key: K) -> V | None:
        """Like `get`, and counts it."""
        found = self.get(key)
        if found is None:
            self._counts.misses += 1
        else:
            self._counts.hits += 1
        return found

    def put(self, key: K, value: V, content_bytes: int) -> None:
        """Does not store a value that is larger than the whole cache."""
        self.remove(key)
        size = content_bytes + OVERHEAD_BYTES
        if size > self._max_bytes:
            return
        self._entries[key] = value, size
        self._add(size)
        while self._bytes > self._max_bytes:
            self.remove(next(iter(self._entries)))

    def remove(self, key: K) -> None:
        found = self._entries.pop(key, None)
        if found is not None:
            self._add(-found[1])

    def _add(self, size: int) -> None:
        self._bytes += size
        self._counts.bytes += size
