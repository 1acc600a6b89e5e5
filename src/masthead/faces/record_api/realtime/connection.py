"""One client's connection: who it is, what it has subscribed to, and the messages that it has not
been sent yet."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from datetime import datetime

from masthead.base.caller import Caller, guest
from masthead.base.ids import TenantId
from masthead.engine.records.write.unit_changes import LogPlace
from masthead.faces.record_api.realtime.places import SentPlace
from masthead.faces.record_api.realtime.topics import Options, Subscription, different_options

MAX_WAITING_BYTES = 4 * 1024 * 1024
MAX_WAITING = 1_000
"""Messages. A client that leaves more of them unread is cut off, and asks for them again or not."""


class Connection:
    __slots__ = (
        "_bytes",
        "_waiter",
        "_waiting",
        "address",
        "after",
        "by_record",
        "caller",
        "expires",
        "id",
        "identities",
        "is_closed",
        "is_joined",
        "options",
        "resumed",
        "since",
        "site",
        "tenant_id",
        "token",
    )

    def __init__(self, client_id: str, tenant_id: TenantId | None, address: str) -> None:
        self.id = client_id
        self.tenant_id = tenant_id
        """The tenant of the host, else of the account that subscribes."""
        self.site = tenant_id or ""
        """Which it was opened at."""
        self.address = address
        self.caller: Caller = guest(tenant_id)
        self.token = ""
        """The token of an account, which is checked again from time to time."""
        self.expires: datetime | None = None
        self.identities: tuple[int, int] | None = None
        """The identity versions of its tenant and of the platform when it was last checked."""
        self.resumed: SentPlace | None = None
        """The place of the last message that the client got from an earlier connection."""
        self.after = SentPlace(0, -1, -1)
        """It has got everything up to here, once it has joined the feed of its tenant."""
        self.is_joined = False
        self.by_record: dict[tuple[str, str], list[Subscription]] = {}
        """Subscriptions by collection and record."""
        self.since: dict[str, LogPlace] = {}
        """The first places by the name of a subscription: it gets no earlier changes. A resumed one
        has none."""
        self.options: frozenset[Options] = frozenset()
        """The different ones of its subscriptions: each costs a test of every change."""
        self.is_closed = False
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._waiter: asyncio.Future[None] | None = None

    def subscribe(self, subscriptions: Sequence[Subscription], new_since: LogPlace) -> None:
        """Replaces the earlier ones. Those that were not among them begin at the given place."""
        found: dict[tuple[str, str], list[Subscription]] = defaultdict(list)
        for each in subscriptions:
            found[each.collection.name, each.record_id].append(each)
        self.by_record = dict(found)
        self.options = different_options(subscriptions)
        self.since = {each.name: self.since.get(each.name, new_since) for each in subscriptions}

    def has_had(self, place: LogPlace) -> bool:
        return place < self.after.place

    def offer(self, chunks: Iterable[bytes]) -> None:
        """Queues messages; closes the connection of a client that does not read them, or that has
        subscribed to the same so often. To one that has read all, a message may be of any size."""
        for chunk in chunks:
            is_behind = bool(self._waiting)
            self._waiting.append(chunk)
            self._bytes += len(chunk)
            if is_behind and (self._bytes > MAX_WAITING_BYTES or len(self._waiting) > MAX_WAITING):
                self.close()
                return
        self._wake()

    @property
    def has_room(self) -> bool:
        """For messages that can wait in the log."""
        return self._bytes < MAX_WAITING_BYTES // 8 and len(self._waiting) < MAX_WAITING // 8

    def close(self) -> None:
        self.is_closed = True
        self._waiting.clear()
        self._bytes = 0
        self._wake()

    async def wait(self, seconds: float) -> None:
        """Returns when there is something to send, the connection is closed, or after so long."""
        if self._waiting or self.is_closed or seconds <= 0:
            return
        loop = asyncio.get_running_loop()
        self._waiter = loop.create_future()
        timer = loop.call_later(seconds, self._wake)
        try:
            await self._waiter
        finally:
            timer.cancel()
            self._waiter = None

    def take(self) -> bytes:
        """Everything that waits."""
        taken = b"".join(self._waiting)
        self._waiting.clear()
        self._bytes = 0
        return taken

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
