"""Removes many rows in batches, a transaction each: other writes need not wait for all of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final

from masthead.storage.database import EVERY_TENANT, Bound, Database, Scope

PAUSE_FACTOR: Final = 4
"""The pause after a batch, as a multiple of the batch's time."""


async def remove_in_batches(
    database: Database,
    removal: Bound,
    most: int,
    *,
    scope: Scope = EVERY_TENANT,
    is_stopping: Callable[[], bool] = lambda: False,
) -> None:
    """Runs a statement that removes at most so many rows, until it removes fewer."""
    removed = most
    while removed == most and not is_stopping():
        async with database.transaction(scope) as tx:
            began = time.monotonic()
            removed = await tx.execute(*removal, slow=True)
            took = time.monotonic() - began
        await asyncio.sleep(took * PAUSE_FACTOR)
