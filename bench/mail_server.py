"""A mail server in a separate process, which notes who got which email and when."""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final

import uvloop
from aiosmtpd.smtp import SMTP, Envelope, Session

from bench import process

_MESSAGE_ID: Final = re.compile(rb"^Message-ID: (\S+)\r?$", re.MULTILINE | re.IGNORECASE)


@dataclass(frozen=True)
class Arrivals:
    """All emails since the last call."""

    recipients: Counter[str]
    message_ids: Counter[str]
    seconds: float
    """From the first to the last."""
    largest_bytes: int

    @property
    def number(self) -> int:
        return self.recipients.total()

    @property
    def most_to_one(self) -> int:
        """How often the same recipient, or the same Message-ID, came."""
        return max([*self.recipients.values(), *self.message_ids.values()], default=0)


@dataclass(frozen=True)
class MailServer:
    port: int
    pid: int
    _pipe: Connection

    def number(self) -> int:
        self._pipe.send("number")
        return int(self._pipe.recv())

    def take(self) -> Arrivals:
        self._pipe.send("take")
        found: Arrivals = self._pipe.recv()
        return found


@contextmanager
def mail_server() -> Iterator[MailServer]:
    with process.child(_serve) as pipe:
        port, pid = pipe.recv()
        yield MailServer(port, pid, pipe)


def _serve(to_parent: Connection) -> None:
    uvloop.run(_Office(to_parent).run())


class _Office:
    def __init__(self, to_parent: Connection) -> None:
        self._pipe = to_parent
        self._clear()

    def _clear(self) -> None:
        self._recipients: Counter[str] = Counter()
        self._message_ids: Counter[str] = Counter()
        self._first = self._last = 0.0
        self._largest = 0

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: SMTP(self, loop=loop), "127.0.0.1", 0)
        loop.add_reader(self._pipe.fileno(), self._answer)
        # The loop made the pipe non-blocking, which refuses the long account of 50,000 emails.
        os.set_blocking(self._pipe.fileno(), True)
        self._pipe.send((server.sockets[0].getsockname()[1], os.getpid()))
        await asyncio.Event().wait()

    def _answer(self) -> None:
        if self._pipe.recv() == "number":
            self._pipe.send(self._recipients.total())
            return
        took = self._last - self._first
        self._pipe.send(Arrivals(self._recipients, self._message_ids, took, self._largest))
        self._clear()

    async def handle_DATA(self, _server: SMTP, _session: Session, envelope: Envelope) -> str:
        content = envelope.content
        assert isinstance(content, bytes)
        found = _MESSAGE_ID.search(content)
        self._message_ids[found.group(1).decode() if found else ""] += 1
        self._recipients.update(envelope.rcpt_tos)
        self._last = time.monotonic()
        self._first = self._first or self._last
        self._largest = max(self._largest, len(content))
        return "250 OK"
