"""All realtime connections of a process: it wakes the tenants' feeds, and ends the connections of
sessions that have ended.

What wakes a feed is a commit of this process, a notification of PostgreSQL, or a look at the
tenants' versions every now and then. What clients get is decided by the log.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from masthead.base.caller import Caller, Kind, guest, in_tenant
from masthead.base.errors import Forbidden, MastheadError, NotFound, RateLimited, Unavailable
from masthead.base.ids import TenantId
from masthead.base.logs import log
from masthead.engine.records.change_log import RETENTION, ChangeLog, LogState
from masthead.engine.records.write.unit_changes import LocalChange, LogPlace
from masthead.faces.record_api.call import RecordStoreServices
from masthead.faces.record_api.realtime.client_ids import ClientIds
from masthead.faces.record_api.realtime.connection import Connection
from masthead.faces.record_api.realtime.feed import Feed
from masthead.faces.record_api.realtime.limits import RealtimeLimits
from masthead.faces.record_api.realtime.places import after_version
from masthead.faces.record_api.realtime.relay import Relay
from masthead.faces.record_api.realtime.topics import (
    Options,
    Subscription,
    different_options,
    read_subscriptions,
)
from masthead.identity.limits.networks import is_loopback, network_of
from masthead.identity.sessions import peek
from masthead.storage.database import Listening

LOOK_SECONDS = 1.0
"""Between two looks at the versions of tenants, where notifications arrive."""
POLL_SECONDS = 0.15
"""Where they don't."""
FILE_SECONDS = 0.04
"""Between two looks at an SQLite file, which cost next to nothing."""
LISTEN_AGAIN_SECONDS = 30.0
RENEW_SECONDS = RETENTION.total_seconds() / 8

DONE, FORBIDDEN, MISSING, TOO_MANY = "done", "forbidden", "missing", "too many"
TOO_MANY_OPTIONS = "Too many different subscriptions from here. Close some, or try again later."
WRONG_CLIENT = "Missing or invalid client id."
OTHER_ACCOUNT = "The current and the previous request authorization don't match."


class Hub:
    def __init__(
        self,
        services: RecordStoreServices,
        changes: ChangeLog,
        limits: RealtimeLimits | None = None,
    ) -> None:
        self._services = services
        self._log = changes
        self.limits = limits or RealtimeLimits()
        self.ids = ClientIds(services.keyring)
        self.relay = Relay(
            services.database, services.keyring, self.ids.process, services.records.clock
        )
        self._connections: dict[str, Connection] = {}
        self._per_site: Counter[str] = Counter()
        self._per_address: Counter[str] = Counter()
        self._feeds: dict[TenantId, Feed] = {}
        self._opening = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self._is_closing = False

    def __len__(self) -> int:
        return len(self._connections)

    def open(self, tenant_id: TenantId | None, address: str) -> Connection:
        """Raises `RateLimited` above the limits of a site and an address."""
        if self._is_closing:
            raise Unavailable
        site = tenant_id or ""
        address = network_of(address)
        is_counted = not is_loopback(address)
        if self._per_site[site] >= self.limits.per_site or (
            is_counted and self._per_address[address] >= self.limits.per_address
        ):
            raise RateLimited(60, "Too many open connections. Close some, or try again later.")
        connection = Connection(self.ids.new(), tenant_id, address)
        self._connections[connection.id] = connection
        self._per_site[site] += 1
        self._per_address[address] += 1
        self._start()
        return connection

    def _start(self) -> None:
        if self._task is None and not self._is_closing:
            self._task = asyncio.create_task(self._run())
            self._task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            log.error("realtime.failed", exc_info=error)
        self._task = None
        # One may have come while it ended.
        if self._connections:
            self._start()

    def close(self, connection: Connection) -> None:
        connection.close()
        if self._connections.pop(connection.id, None) is None:
            return
        # Under the site that it was opened at, as counted.
        for counts, key in (
            (self._per_site, connection.site),
            (self._per_address, connection.address),
        ):
            counts[key] -= 1
            if not counts[key]:
                del counts[key]
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
        connection = self._connections.get(client_id)
        if connection is None or connection.is_closed:
            raise NotFound(WRONG_CLIENT)
        if not _may_become(connection, caller):
            raise Forbidden(OTHER_ACCOUNT)
        wanted = read_subscriptions(names, self._services.records.registry)
        if caller.is_reader:
            self._check_options(connection, different_options(wanted))
        await self.listen(connection, wanted, caller, token)

    def _check_options(self, connection: Connection, wanted: frozenset[Options]) -> None:
        """Raises `RateLimited` if all of an address together have too many different ones."""
        if not wanted or is_loopback(connection.address):
            return
        for each in self._connections.values():
            if each is not connection and each.address == connection.address:
                wanted |= each.options
        if len(wanted) > self.limits.options_per_address:
            raise RateLimited(60, TOO_MANY_OPTIONS)

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
                    check_sessions=self._check_before_messages,
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
        for each in tuple(self._connections.values()):
            each.close()

    async def stop(self) -> None:
        self.end_all()
        if self._task is not None:
            task = self._task
            task.cancel()
            await asyncio.wait([task])
        for feed in self._feeds.values():
            await feed.stop()
        self._feeds.clear()

    def _hear(self, text: str) -> None:
        if (feed := self._feeds.get(TenantId(text))) is not None:
            feed.wake()
        elif text == self.ids.process:
            self._news.set()

    async def _run(self) -> None:
        """While there are connections."""
        listening: Listening | None = None
        next_listen = next_look = next_renewal = 0.0
        data_version: int | None = None
        try:
            while self._connections or self._feeds:
                now = time.monotonic()
                if (listening is None or not listening.is_open()) and now >= next_listen:
                    listening = await self._services.database.listen(self._hear)
                    next_listen = now + LISTEN_AGAIN_SECONDS
                newest = self._services.database.data_version()
                if newest != data_version or newest is None or now >= next_look:
                    data_version, next_look = newest, now + LOOK_SECONDS
                    await self._look()
                if now >= next_renewal:
                    next_renewal = now + RENEW_SECONDS
                    await self._renew()
                await self._pause(listening, newest)
        finally:
            if listening is not None:
                await listening.close()

    async def _pause(self, listening: Listening | None, data_version: int | None) -> None:
        seconds = FILE_SECONDS if data_version is not None else POLL_SECONDS
        if listening is not None and listening.is_open():
            seconds = LOOK_SECONDS
        self._news.clear()
        try:
            async with asyncio.timeout(seconds):
                await self._news.wait()
        except TimeoutError:
            pass

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
            await self._check_sessions(tuple(self._connections.values()), states)
        except MastheadError as error:
            log.warning("realtime.database_unreadable", error=str(error))

    async def _answer_others(self) -> None:
        """Subscriptions that other processes have received."""
        for request_id, request in await self.relay.pending():
            caller = guest(request.tenant_id)
            if request.token:
                found = await self._services.accounts.sessions.caller_of(request.token)
                caller = _at(found, request.tenant_id) if found else caller
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

    async def _check_before_messages(
        self, tenant_id: TenantId, connections: Sequence[Connection]
    ) -> None:
        if connections:
            states = await self._log.states([tenant_id, ""])
            await self._check_sessions(connections, states)

    async def _check_sessions(
        self, connections: Sequence[Connection], states: dict[str, LogState]
    ) -> None:
        now = self._services.records.clock()
        for each in connections:
            # The platform's own tenant has the accounts of operators.
            identities = (_identity(states, each.tenant_id or ""), _identity(states, ""))
            if each.expires is not None and each.expires <= now:
                each.close()
            elif each.identities != identities:
                token = each.token
                await self._check_session(each)
                if each.token == token:
                    each.identities = identities

    async def _check_session(self, connection: Connection) -> None:
        if connection.token:
            caller = await self._services.accounts.sessions.caller_of(connection.token)
            if caller is None:
                connection.close()
                return
            connection.caller = _at(caller, connection.tenant_id)
        if connection.tenant_id and connection.caller.kind is not Kind.OPERATOR:
            tenant = await self._services.directory.by_id(connection.tenant_id)
            if tenant is None or tenant.is_suspended:
                connection.close()

    async def _renew(self) -> None:
        try:
            for tenant_id in tuple(self._feeds):
                await self._log.watch(tenant_id)
        except MastheadError as error:
            log.warning("realtime.database_unreadable", error=str(error))


def _identity(states: dict[str, LogState], tenant_id: str) -> int:
    state = states.get(tenant_id)
    return state.identity if state else 0


def _at(caller: Caller, tenant_id: TenantId | None) -> Caller:
    """Operators work in any site."""
    if caller.kind is Kind.OPERATOR and tenant_id:
        return in_tenant(caller, tenant_id)
    return caller


def _may_become(connection: Connection, caller: Caller) -> bool:
    """A guest may sign in. Nobody becomes another, or changes the site."""
    before = connection.caller
    if connection.tenant_id not in (None, caller.tenant_id):
        return False
    if before.kind is Kind.GUEST:
        return True
    return (before.collection, before.id) == (caller.collection, caller.id)
