"""Messages to clients about a change: who may read the record, and the message itself.

Rules are tested once for all clients with the same access and the same answers to what the rule
asks of them, and a message is written once for all of them with the same options.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from masthead.base.caller import Caller, Kind
from masthead.base.errors import MastheadError
from masthead.engine.records.access import access_of, excludes
from masthead.engine.records.change_log import LoggedChange
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.engine.records.fields.base import Access
from masthead.engine.records.read.expand import Expansion
from masthead.engine.records.read.projection import Projection
from masthead.engine.records.read.record_reader import StateTest
from masthead.engine.records.write.unit_changes import CREATED, DELETED, UPDATED
from masthead.faces.record_api.addresses import complete_addresses
from masthead.faces.record_api.parameters import max_answer_bytes
from masthead.faces.record_api.realtime.connection import Connection
from masthead.faces.record_api.realtime.places import SentPlace
from masthead.faces.record_api.realtime.topics import EVERY_RECORD, Options, Subscription
from masthead.faces.record_api.rendering import render_record
from masthead.web.answers import encode
from masthead.web.services import WebServices


class ChangedRecord(NamedTuple):
    """A change, and the record as far as it is known."""

    change: LoggedChange
    record: Record
    """After the change, or before a deletion: the logged fields, and all others if the record has
    not changed again since."""


class _Group(msgspec.Struct):
    """Subscriptions that get the same messages."""

    caller: Caller
    """One of theirs."""
    options: Options
    members: list[tuple[Connection, Subscription]] = msgspec.field(default_factory=list)


async def tell(
    services: WebServices, told: Sequence[ChangedRecord], connections: Iterable[Connection]
) -> None:
    """Offers all messages of the changes, which are in order, to those who may read them."""
    writer = _Writer(services)
    for each in told:
        await writer.tell(each, connections)
        # Those who read at once have then taken it.
        await asyncio.sleep(0)


class _Writer:
    def __init__(self, services: WebServices) -> None:
        self._services = services
        self._records: Records = services.records
        self._tests: dict[tuple[str, Access, str], StateTest | MastheadError | None] = {}

    async def tell(self, told: ChangedRecord, connections: Iterable[Connection]) -> None:
        change = told.change
        collection = self._records.registry.find(change.collection)
        if collection is None:
            return
        messages: dict[Connection, list[tuple[int, str, bytes]]] = {}
        for group in (await self._groups(collection, change, connections)).values():
            action = await self._action_for(group, collection, told)
            if not action:
                continue
            data = await self._message(group, collection, told, action)
            for connection, subscription in group.members:
                message = (subscription.number, subscription.name, data)
                messages.setdefault(connection, []).append(message)
        for connection, numbered in messages.items():
            # One by one: a client that wants too many copies of a record is cut off before they
            # are all made.
            connection.offer(
                _chunk(SentPlace(*change.place, number), name, data)
                for number, name, data in sorted(numbered)
            )

    async def _groups(
        self, collection: Collection, change: LoggedChange, connections: Iterable[Connection]
    ) -> dict[Any, _Group]:
        groups: dict[Any, _Group] = {}
        for connection in connections:
            if connection.is_closed or connection.has_had(change.place):
                continue
            done = connection.after.number if connection.after.place == change.place else -1
            for subscription in _matching(connection, change):
                if subscription.number > done:
                    await self._group(
                        groups, collection, connection, subscription, record_id=change.record_id
                    )
        return groups

    async def _group(
        self,
        groups: dict[Any, _Group],
        collection: Collection,
        connection: Connection,
        subscription: Subscription,
        *,
        record_id: str,
    ) -> None:
        caller, options = connection.caller, subscription.options
        access = access_of(caller)
        rule = collection.rules_for(access).read
        if rule is None or (rule and excludes(rule, caller, record_id)):
            return
        # Guests are not told of private files.
        audience: list[Any] = [access, caller.kind is Kind.GUEST, options]
        for given in dict.fromkeys(("", options.filter)):
            test = await self._test(caller, collection, given)
            if isinstance(test, MastheadError):
                return
            audience.append(test.audience(caller) if test else ())
        if options.expand:
            # Other collections' rules may ask for more.
            audience.append((caller.collection, caller.id))
        group = groups.setdefault(tuple(audience), _Group(caller, options))
        group.members.append((connection, subscription))

    async def _test(
        self, caller: Caller, collection: Collection, given: str
    ) -> StateTest | MastheadError | None:
        """An error for a filter that can't be: its subscription gets no messages, as in
        PocketBase."""
        key = (collection.name, access_of(caller), given)
        if key not in self._tests:
            try:
                self._tests[key] = await self._records.prepare_test(caller, collection, given)
            except MastheadError as error:
                self._tests[key] = error
        return self._tests[key]

    async def _action_for(self, group: _Group, collection: Collection, told: ChangedRecord) -> str:
        """The action as this group sees it; '' if the change is not for them."""
        change = told.change
        after = _state(change, {})
        before = _state(change, change.previous)
        can_read = await self._passes(group, collection, "", after)
        if change.action in (CREATED, DELETED):
            action = change.action if can_read else ""
        elif can_read:
            action = UPDATED
        elif change.previous and await self._passes(group, collection, "", before):
            action = DELETED
        else:
            action = ""
        if not action or not group.options.filter:
            return action
        state = {**told.record, **after}
        if action == DELETED and change.action == UPDATED:
            # What they could read, and nothing of what has become of it: a filter would tell.
            state = before
        passes = await self._passes(group, collection, group.options.filter, state)
        return action if passes else ""

    async def _passes(
        self, group: _Group, collection: Collection, given: str, state: Record
    ) -> bool:
        test = await self._test(group.caller, collection, given)
        assert not isinstance(test, MastheadError)
        if test is None:
            return True
        return bool(await self._records.passing(group.caller, collection, test, [state]))

    async def _message(
        self, group: _Group, collection: Collection, told: ChangedRecord, action: str
    ) -> bytes:
        change, caller, options = told.change, group.caller, group.options
        record = told.record
        if action == DELETED and change.action == UPDATED:
            # They may not see what has become of it.
            record = _state(change, change.previous)
        shown = await self._records.as_read_by(access_of(caller), collection, record)
        await complete_addresses(self._services, caller, collection, [shown])
        if (expansion := Expansion.parse(options.expand)) is not None:
            expander = self._records.expander(caller, max_answer_bytes(caller))
            await expander.expand(collection, [shown], expansion)
        shown = await render_record(collection, shown, Projection.parse(options.fields))
        return encode({"record": shown, "action": action})


def _matching(connection: Connection, change: LoggedChange) -> Iterable[Subscription]:
    by_record = connection.by_record
    for key in ((change.collection, EVERY_RECORD), (change.collection, change.record_id)):
        for each in by_record.get(key, ()):
            if connection.since[each.name] < change.place:
                yield each


def _state(change: LoggedChange, previous: Record) -> Record:
    return {**change.state, "id": change.record_id, **previous}


def _chunk(place: SentPlace, name: str, data: bytes) -> bytes:
    return b"id:%b\nevent:%b\ndata:%b\n\n" % (str(place).encode(), name.encode(), data)
