"""PostgreSQL's LISTEN, on one connection of its own for each process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import asyncpg

from masthead.base.errors import Unavailable
from masthead.storage.postgres.connections import (
    Connection,
    closed_on_failure,
    connect_for_command,
    is_pooled,
)

CHANNEL = "masthead_changes"
CONNECT_SECONDS = 5.0

_FAILURES = (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError)


def notify_and_commit(text: str) -> str:
    """Both in one message to the server."""
    assert text.isascii()
    assert text.isalnum()
    return f"NOTIFY {CHANNEL}, '{text}'; COMMIT"


class Notifications:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def is_open(self) -> bool:
        return not self._connection.is_closed()

    async def close(self) -> None:
        with suppress(*_FAILURES):
            await self._connection.close(timeout=CONNECT_SECONDS)


async def listen(url: str, heard: Callable[[str], None]) -> Notifications | None:
    """None behind a pooler, or if the server can't be reached."""

    def receive(_connection: Any, _process: int, _channel: str, text: str) -> None:
        heard(text)

    try:
        connection = await connect_for_command(url, timeout=CONNECT_SECONDS)
    except Unavailable:
        return None
    listening = Notifications(connection)
    try:
        with closed_on_failure(connection):
            # A pooler would give the LISTEN to a server of which others get the notifications.
            if not await is_pooled(connection):
                await connection.add_listener(CHANNEL, receive)
                return listening
    except _FAILURES:
        return None
    await listening.close()
    return None
