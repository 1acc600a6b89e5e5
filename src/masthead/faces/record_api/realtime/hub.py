"""The realtime part of a process: connections (`connections.py`) join the feeds of their tenants.

A commit of this process or the watcher (`watcher.py`) wakes a feed. The log decides what clients
get.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

from masthead.base.caller import Caller, Kind
from masthead.base.errors import Forbidden, MastheadError, NotFound, RateLimited, Unavailable
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.change_log import ChangeLog, LogState
from masthead.engine.records.write.unit_changes import LocalChange, LogPlace
from masthead.faces.record_api.realtime.client_ids import ClientIds
from masthead.faces.record_api.realtime.connection import Connection
from masthead.faces.record_api.realtime.connections import Connections, RealtimeLimits
from masthead.faces.record_api.realtime.feed import Feed
from masthead.faces.record_api.realtime.places import after_version
from masthead.faces.record_api.realtime.relay import Relay
from masthead.faces.record_api.realtime.session_check import SessionCheck
from masthead.faces.record_api.realtime.topics import (
    Subscription,
    different_options,
    read_subscriptions,
)
from masthead.faces.record_api.realtime.watcher import Watcher
from masthead.identity.sessions import peek
from masthead.web.services import WebServices

DONE, FORBIDDEN, MISSING, TOO_MANY = "done", "forbidden", "missing", "too many"
WRONG_CLIENT = "Missing or invalid client id."
OTHER_ACCOUNT = "The current and the previous request authorization don't match."


class Hub:
    def __init__(
        self,
        services: WebServices,
        changes: ChangeLog,
        limits: RealtimeLimits | None = None,
    ) -> None:
        self._services = services
        self._log = changes
        self.limits = limits or RealtimeLimits()
        self._sessions = SessionCheck(services, changes)
        self.ids = ClientIds(services.keyring)
        self.relay = Relay(
            services.database, services.keyring, self.ids.process, services.records.clock
        )
        self._connections = Connections(self.limits)
        self._watcher = Watcher(
            services.database,
            is_needed=lambda: bool(self._connections or self._feeds),
            look=self._look,
            renew=self._renew,
            on_notification=self._hear,
        )
        self._feeds: dict[TenantId, Feed] = {}
        self._opening = asyncio.Lock()
        self._is_closing = False

    def __len__(self) -> int:
        return len(self._connections)

    def open(self, tenant_id: TenantId | None, address: str) -> Connection:
        """Raises `RateLimited` above the limits of a site and an address."""
        if self._is_closing:
            raise Unavailable
        connection = self._connections.open(self.ids.new(), tenant_id, address)
        self._watcher.start()
        return connection

    def close(self, connection: Connection) -> None:
        if not self._connections.close(connection):
            return
        feed = self._feeds.get(connection.tenant_id) if connection.tenant_id else None
        if feed is not None:
            feed.leave(connection)

    async def state_of(self, tenant_id: TenantId) -> LogState:
        states = await self._log.states([tenant_id])
        return states.get(tenant_id, LogState(0, 0, -1))

    async def subscribe(
        self, client_id: str, names: Iterable[str], caller: Caller, token: str
    ) -> None:
        """Raises `NotFound` for a client that this process does not have, `Forbidden` for another
        account than before."""
        connection = self._connections.find(client_id)
        if connection is None:
            raise NotFound(WRONG_CLIENT)
        if not _may_become(connection, caller):
            raise Forbidden(OTHER_ACCOUNT)
        wanted = read_subscriptions(names, self._services.records.registry)
        if caller.is_reader:
            self._connections.check_options(connection, different_options(wanted))
        await self.listen(connection, wanted, caller, token)

    async def listen(
        self, connection: Connection, wanted: Sequence[Subscription], caller: Caller, token: str
    ) -> None:
        """From now on the connection is that caller's, as long as the token holds."""
        tenant_id = caller.tenant_id
        connection.caller, connection.token, connection.identities = caller, token, None
        claims = peek(token) if token else None
        connection.expires = claims.expires if claims else None
        if tenant_id is None:
            # At no site there is nothing to hear.
            return
        connection.tenant_id = tenant_id
        if connection.is_joined:
            version = (await self.state_of(tenant_id)).version
            connection.subscribe(wanted, after_version(version).place)
        else:
            connection.subscribe(wanted, LogPlace(0, 0))
            await self._join(connection, tenant_id)

    async def _join(self, connection: Connection, tenant_id: TenantId) -> None:
        """One at a time: a tenant has one feed, and a connection joins it once."""
        async with self._opening:
            before = await self.state_of(tenant_id)
            feed, version = self._feeds.get(tenant_id), before.version
            if feed is None or not feed.is_running or not before.is_watched:
                version = await self._log.watch(tenant_id)
            if connection.is_joined or connection.is_closed:
                return
            resumed = connection.resumed
            if resumed is not None and not before.has_after(resumed.place):
                # The log was shortened meanwhile: the next connection is told of the gap.
                self.close(connection)
                return
            if feed is None or not feed.is_running:
                feed = self._feeds[tenant_id] = Feed(
                    self._services,
                    self._log,
                    tenant_id,
                    version,
                    check_sessions=self._sessions.run,
                )
            connection.after = resumed or after_version(version)
            connection.is_joined = True
            feed.join(connection)

    def note_changes(self, tenant_id: TenantId, changes: Sequence[LocalChange]) -> None:
        """A commit of this process."""
        if (feed := self._feeds.get(tenant_id)) is not None:
            feed.add_local(changes)

    def end_all(self) -> None:
        """Each client connects again, to another process."""
        self._is_closing = True
        for each in self._connections:
            each.close()

    async def stop(self) -> None:
        self.end_all()
        await self._watcher.stop()
        for feed in self._feeds.values():
            await feed.stop()
        self._feeds.clear()

    def _hear(self, text: str) -> None:
        if (feed := self._feeds.get(TenantId(text))) is not None:
            feed.wake()
        elif text == self.ids.process:
            self._watcher.look_now()

    async def _look(self) -> None:
        """At all tenants at once: which have changed, and of which the accounts have."""
        try:
            await self._answer_others()
            states = await self._log.states([*self._feeds, ""])
            for tenant_id, feed in tuple(self._feeds.items()):
                state = states.get(tenant_id)
                if feed.is_empty:
                    del self._feeds[tenant_id]
                    await feed.stop()
                elif state is not None and not state.is_watched:
                    # Nobody had renewed it: what was not logged meanwhile is lost.
                    feed.close_connections()
                elif state is not None and state.version > feed.version:
                    feed.version = state.version
                    feed.wake()
            await self._sessions.run(self._connections, states)
        except MastheadError as error:
            log.warning("realtime.database_unreadable", error=str(error))

    async def _answer_others(self) -> None:
        """Subscriptions that other processes have received."""
        for request_id, request in await self.relay.pending():
            caller = await self._sessions.caller_of(request.token, request.tenant_id)
            token = request.token if caller.kind is not Kind.GUEST else ""
            try:
                await self.subscribe(request.client_id, request.topics, caller, token)
                outcome = DONE
            except Forbidden:
                outcome = FORBIDDEN
            except RateLimited:
                outcome = TOO_MANY
            except NotFound:
                outcome = MISSING
            await self.relay.answer(request_id, request, outcome)

    async def _renew(self) -> None:
        try:
            for tenant_id in tuple(self._feeds):
                await self._log.watch(tenant_id)
        except MastheadError as error:
            log.warning("realtime.database_unreadable", error=str(error))


def _may_become(connection: Connection, caller: Caller) -> bool:
    """A guest may sign in. Nobody becomes another, or changes the site."""
    before = connection.caller
    if connection.tenant_id not in (None, caller.tenant_id):
        return False
    if before.kind is Kind.GUEST:
        return True
    return (before.collection, before.id) == (caller.collection, caller.id)
