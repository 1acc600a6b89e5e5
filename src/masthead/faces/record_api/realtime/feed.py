"""One tenant's changes for the clients that this process has: a single task reads the log, so each
client gets every change once and in order."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

from masthead.base.errors import MastheadError
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.change_log import READ_AT_ONCE, ChangeLog, LoggedChange
from masthead.engine.records.collection import Record
from masthead.engine.records.write.unit_changes import DELETED, LocalChange, LogPlace
from masthead.faces.record_api.realtime.connection import Connection
from masthead.faces.record_api.realtime.messages import ChangedRecord, tell
from masthead.faces.record_api.realtime.places import MAX_NUMBER, MAX_ORDINAL, SentPlace
from masthead.web.services import WebServices

MAX_LOCAL = 100
"""Changes of this process whose whole records wait for the reader of the log."""
MAX_LOCAL_CHARACTERS = 64 * 1024
"""The greatest length of a record that is remembered. A longer one is read again, as those of other
processes."""
RETRY_SECONDS = 1.0
ROOM_SECONDS = 0.05
"""Until a client that catches up is looked at again, if it has not read what it got."""


CheckSessions = Callable[[Sequence[Connection]], Awaitable[None]]
"""Closes the connections whose session has ended by now."""


class Feed:
    def __init__(
        self,
        services: WebServices,
        changes: ChangeLog,
        tenant_id: TenantId,
        version: int,
        *,
        check_sessions: CheckSessions,
    ) -> None:
        self.tenant_id = tenant_id
        self.connections: set[Connection] = set()
        self.version = version
        """Everything up to this version has been read."""
        self._services = services
        self._log = changes
        self._check_sessions = check_sessions
        self._place = LogPlace(version, MAX_ORDINAL)
        self._joining: list[Connection] = []
        self._local: OrderedDict[LogPlace, Record] = OrderedDict()
        self._news = asyncio.Event()
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(self._end)

    @property
    def is_running(self) -> bool:
        return not self._task.done() and not self._task.cancelling()

    def join(self, connection: Connection) -> None:
        """From the place that it has, which may be an earlier one than the others'."""
        self._joining.append(connection)
        self._news.set()

    def leave(self, connection: Connection) -> None:
        self.connections.discard(connection)
        if connection in self._joining:
            self._joining.remove(connection)

    @property
    def is_empty(self) -> bool:
        return not self.connections and not self._joining

    def wake(self) -> None:
        """There may be something new."""
        self._news.set()

    def add_local(self, changes: Sequence[LocalChange]) -> None:
        for each in changes:
            texts = (value for value in each.record.values() if isinstance(value, str))
            if sum(map(len, texts)) <= MAX_LOCAL_CHARACTERS:
                self._local[each.place] = each.record
        while len(self._local) > MAX_LOCAL:
            self._local.popitem(last=False)
        self._news.set()

    async def stop(self) -> None:
        self._task.cancel()
        await asyncio.wait([self._task])

    def close_connections(self) -> None:
        for each in (*self.connections, *self._joining):
            each.close()

    def _end(self, task: asyncio.Task[None]) -> None:
        """Without a reader nobody may believe that nothing happens."""
        self.close_connections()
        if not task.cancelled() and (error := task.exception()):
            log.error("realtime.feed_failed", tenant=self.tenant_id, exc_info=error)

    async def _run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            try:
                await self._read()
                await self._catch_up()
            except MastheadError as error:
                log.warning("realtime.log_unreadable", tenant=self.tenant_id, error=str(error))
                await asyncio.sleep(RETRY_SECONDS)
                self._news.set()

    async def _read(self) -> None:
        """Sends new changes to all connections that are up to date."""
        changes = await self._log.after(self.tenant_id, self._place)
        if not changes:
            return
        await self._tell(changes, tuple(self.connections))
        self._place = changes[-1].place
        self.version = max(self.version, self._place.version)
        for place in [each for each in self._local if each <= self._place]:
            del self._local[place]
        if len(changes) == READ_AT_ONCE:
            self._news.set()

    async def _catch_up(self) -> None:
        """Sends each of the other connections some of the changes that it has missed: those that
        are up to date do not wait for them."""
        for connection in tuple(self._joining):
            if connection.after >= SentPlace(*self._place, MAX_NUMBER):
                self._joining.remove(connection)
                if not connection.is_closed:
                    self.connections.add(connection)
                continue
            if not connection.has_room:
                asyncio.get_running_loop().call_later(ROOM_SECONDS, self._news.set)
                continue
            start = connection.after.place
            # The change itself again: it may have been sent for some subscriptions only.
            changes = await self._log.after(
                self.tenant_id, LogPlace(start.version, start.ordinal - 1)
            )
            changes = [each for each in changes if each.place <= self._place]
            await self._tell(changes, [connection])
            last = changes[-1].place if len(changes) > 1 else self._place
            if connection in self._joining:
                connection.after = SentPlace(*last, MAX_NUMBER)
            self._news.set()

    async def _tell(
        self, changes: Sequence[LoggedChange], connections: Sequence[Connection]
    ) -> None:
        # After the log was read: a session that had ended before a change was committed is known
        # to have ended.
        await self._check_sessions(connections)
        await tell(self._services, await self._collect_records(changes), connections)

    async def _collect_records(self, changes: Sequence[LoggedChange]) -> list[ChangedRecord]:
        """With the whole records: of this process's own changes from memory, of others if the
        stored record is still the one that the change made."""
        stored = await self._read_stored(
            [each for each in changes if each.place not in self._local]
        )
        return [ChangedRecord(each, self._record(each, stored)) for each in changes]

    def _record(self, change: LoggedChange, stored: dict[tuple[str, str], Record]) -> Record:
        known = {**change.state, "id": change.record_id, "tenant_id": self.tenant_id}
        whole = self._local.get(change.place)
        if whole is None:
            whole = stored.get((change.collection, change.record_id))
            if whole is None or whole["version"] != change.record_version:
                return known
        return {**whole, **known}

    async def _read_stored(self, changes: Sequence[LoggedChange]) -> dict[tuple[str, str], Record]:
        records = self._services.records
        wanted: dict[str, set[str]] = {}
        for each in changes:
            if each.action != DELETED:
                wanted.setdefault(each.collection, set()).add(each.record_id)
        found: dict[tuple[str, str], Record] = {}
        for name, record_ids in wanted.items():
            collection = records.registry.find(name)
            if collection is not None:
                for record in await records.find_some(
                    collection, sorted(record_ids), self.tenant_id
                ):
                    found[name, record["id"]] = record
        return found
