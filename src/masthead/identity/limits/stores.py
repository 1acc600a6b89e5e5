"""Stores for rate-limit counters that all processes share.

A store has one operation: it reads states, computes new ones and writes them, atomically.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from masthead.base.ids import TenantId

EXPIRE_SECONDS = 2 * 24 * 3600

Result = TypeVar("Result")
Change = Callable[[Sequence[bytes]], tuple[Sequence[bytes], Result]]


class LimitStore(Protocol):
    async def update(
        self, tenant_id: TenantId, subjects: Sequence[str], change: Change[Result]
    ) -> Result:
        """Calls `change` with the states of the subjects, b"" for a new one, and stores what it
        returns. `change` may run several times and must be pure.

        Raises `Unavailable` when the store does not answer.
        """
        ...

    async def sweep(self) -> None:
        """Deletes counters that were unused for longer than any window. The worker calls it."""
        ...

    async def close(self) -> None: ...
