"""The recipients of mailings as a queue: claimed in slices under a lease, marked before an email is
handed over and again after it.

A lease is the time in `due_at`: until then no other worker than the one in `claimed_by` may take
the recipient. After that it is still that worker's until another takes it. A recipient that was
being handed over when its lease ended is `uncertain`, and is not mailed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any, Final, NamedTuple

import msgspec
import sqlalchemy as sa

from masthead.base import clock, ids
from masthead.base.caller import Audience, Reader
from masthead.base.ids import TenantId
from masthead.base.languages.words import staff_marked
from masthead.engine.jobs.tables import new_job
from masthead.features.mailings.queue_statements import COUNTED, QueueStatements, WantedStatements
from masthead.features.mailings.tables import RecipientState
from masthead.storage.database import EVERY_TENANT, Database, Row, Statement, Transaction

LEASE: Final = timedelta(seconds=90)
"""Longer than a hand-over may take (`outside/mail/connection.py`)."""
STOP_ADDRESS: Final = "mailings.stop_address"
LOST: Final = staff_marked("the worker ended before the mail server's answer was stored")


class MailingKey(NamedTuple):
    tenant_id: TenantId
    mailing_id: str


class Addressee(NamedTuple):
    """Whose email it is, for as long as they want it."""

    slug: str
    """The newsletter's."""
    welcome: str = ""
    """The tier of a welcome email, which is not only for readers of the newsletter."""


class DueRecipient(NamedTuple):
    """A row of `WantedStatements.next`."""

    member_id: str
    state: str
    attempts: int
    email: str
    name: str
    language: str
    tier: str
    level: str | None
    is_wanted: int

    @property
    def reader(self) -> Reader:
        """As they are when they are claimed."""
        is_paid = self.tier == "paid"
        return Reader(Audience.PAID, self.level or "") if is_paid else Reader(Audience.FREE)


class Claimed(msgspec.Struct, frozen=True):
    """A recipient that this worker has the lease of."""

    key: MailingKey
    whom: Addressee
    member_id: str
    email: str
    name: str
    language: str
    reader: Reader
    attempts: int


class AttemptResult(msgspec.Struct, frozen=True):
    """The result of one attempt."""

    claimed: Claimed
    state: RecipientState
    """`pending` is a later attempt."""
    reply: str = ""
    due_at: str = ""
    is_hard_bounce: bool = False
    is_untried: bool = False
    """The server was not reached, so it does not count as an attempt."""


class Progress(msgspec.Struct, frozen=True):
    """A mailing's counts after a change."""

    sent: int
    failed: int
    bounced: int
    tried_before: int
    bounced_before: int


class RecipientQueue:
    def __init__(
        self,
        database: Database,
        tables: Mapping[str, sa.Table],
        now: clock.Clock,
        *,
        lease: timedelta = LEASE,
    ) -> None:
        self._database = database
        self._clock = now
        self._lease = lease
        self._me = ids.new_id()
        """This worker, in `claimed_by`."""
        self._sql = QueueStatements(database, tables)

    async def due(self) -> list[tuple[MailingKey, Addressee]]:
        """The mailings with recipients to be mailed now."""
        rows = await self._fetch(self._sql.due, now=self._now())
        return [
            (MailingKey(tenant_id, mailing_id), Addressee(slug, welcome))
            for tenant_id, mailing_id, slug, welcome in rows
        ]

    async def ended(self) -> list[MailingKey]:
        """Mailings that are being sent and have no recipient left."""
        return _keys(await self._fetch(self._sql.ended))

    async def startable(self) -> list[MailingKey]:
        """Scheduled mailings whose time has come and whose post is published, or gone."""
        return _keys(await self._fetch(self._sql.startable, now=self._now()))

    async def suspended(self) -> list[MailingKey]:
        """Mailings that are being sent although their site is suspended."""
        return _keys(await self._fetch(self._sql.suspended))

    async def reopened(self) -> list[MailingKey]:
        """Mailings that a suspension has paused, of sites that are open again."""
        return _keys(await self._fetch(self._sql.reopened))

    async def claim(self, key: MailingKey, whom: Addressee, limit: int) -> list[Claimed]:
        """Leases due recipients. Those who want no newsletter any more are unsubscribed, and those
        whose worker died while it handed over their email are uncertain."""
        sql, following = self._sql, self._wanted(whom).next
        values = {**_bound(key), **_named(whom), "now": self._now(), "limit": limit}
        async with self._database.transaction(EVERY_TENANT) as tx:
            due = [DueRecipient(*row) for row in await tx.fetch(*following(values))]
            lost = [each.member_id for each in due if each.state == RecipientState.HANDING_OVER]
            pending = [each for each in due if each.state == RecipientState.PENDING]
            gone = [each.member_id for each in pending if not each.is_wanted]
            mine = [each for each in pending if each.is_wanted]
            if lost:
                await self._end(tx, key, lost, RecipientState.UNCERTAIN, reply=LOST)
            if gone:
                await self._end(tx, key, gone, RecipientState.UNSUBSCRIBED)
            if mine:
                values = {**_bound(key), "ids": self._list(each.member_id for each in mine)}
                values |= {"until": self._lease_end(), "me": self._me}
                await tx.execute(*sql.lease(values))
            await self._count(tx, key, {"uncertain": len(lost), "unsubscribed": len(gone)})
        return [
            Claimed(
                key,
                whom,
                each.member_id,
                each.email,
                each.name,
                each.language or "",
                each.reader,
                each.attempts,
            )
            for each in mine
        ]

    async def turn(
        self, ended: Sequence[AttemptResult], wanted: Sequence[Claimed]
    ) -> tuple[set[tuple[MailingKey, str]], dict[MailingKey, Progress]]:
        """One transaction: stores what became of attempts, and marks the recipients that are to be
        handed over next. Returns those that may be."""
        marked: set[tuple[MailingKey, str]] = set()
        progress: dict[MailingKey, Progress] = {}
        async with self._database.transaction(EVERY_TENANT) as tx:
            # In order, so that two workers can't wait for each other.
            keys = sorted({each.claimed.key for each in ended} | {each.key for each in wanted})
            for key in keys:
                results = [each for each in ended if each.claimed.key == key]
                counts = await self._store(tx, key, results)
                asked = [each for each in wanted if each.key == key]
                ready, gone = await self._mark(tx, key, asked)
                marked |= {(key, each) for each in ready}
                counts["unsubscribed"] = gone
                found = await self._count(tx, key, counts)
                if found is not None and results:
                    progress[key] = found
        return marked, progress

    async def release(self, claimed: Iterable[Claimed]) -> None:
        """Gives back what was not tried."""
        by_key: dict[MailingKey, list[str]] = {}
        for each in claimed:
            by_key.setdefault(each.key, []).append(each.member_id)
        async with self._database.transaction(EVERY_TENANT) as tx:
            for key in sorted(by_key):
                await self._release(tx, key, by_key[key])

    async def _mark(
        self, tx: Transaction, key: MailingKey, asked: Sequence[Claimed]
    ) -> tuple[set[str], int]:
        """Which of them may be handed over now, and how many want no newsletter any more."""
        if not asked:
            return set(), 0
        sql, members = self._wanted(asked[0].whom), [each.member_id for each in asked]
        values = {
            **_bound(key),
            "ids": self._list(members),
            "me": self._me,
            **_named(asked[0].whom),
            "now": self._now(),
            "until": self._lease_end(),
        }
        rows = await tx.fetch(*sql.mark(values))
        ready = {member_id for (member_id,) in rows}
        if len(ready) == len(members):
            return ready, 0
        values["ids"] = self._list(each for each in members if each not in ready)
        gone = len(await tx.fetch(*sql.unsubscribe(values)))
        # The mailing is paused or cancelled. After a resume they are taken anew.
        await tx.execute(*self._sql.release(values))
        return ready, gone

    async def _release(self, tx: Transaction, key: MailingKey, members: Sequence[str]) -> None:
        values = {**_bound(key), "ids": self._list(members), "me": self._me, "now": self._now()}
        await tx.execute(*self._sql.release(values))

    async def _store(
        self, tx: Transaction, key: MailingKey, results: Sequence[AttemptResult]
    ) -> dict[str, int]:
        """The counts that the results add."""
        counts = dict.fromkeys(COUNTED, 0)
        taken = [each.claimed.member_id for each in results if each.state is RecipientState.SENT]
        if taken:
            counts["sent"] = await self._end(tx, key, taken, RecipientState.SENT)
        for each in results:
            if each.state is not RecipientState.SENT:
                await self._store_one(tx, key, each, counts)
        return counts

    async def _store_one(
        self, tx: Transaction, key: MailingKey, result: AttemptResult, counts: dict[str, int]
    ) -> None:
        member = result.claimed.member_id
        if result.state is RecipientState.PENDING:
            values = {**_bound(key), "member": member, "me": self._me}
            values |= {"again": result.due_at, "words": result.reply}
            values["untried"] = int(result.is_untried)
            await tx.execute(*self._sql.postpone(values))
            return
        if not await self._end(tx, key, [member], result.state, reply=result.reply):
            return
        counts[result.state.value] += 1
        if result.is_hard_bounce:
            counts["bounced"] += 1
            report = {**_bound(key), "member": member}
            await tx.execute(*self._sql.report_bounce(report))
            # By id: a job that is kept must not hold an address.
            payload = {"member_id": member, "mailing_id": key.mailing_id}
            job = new_job(key.tenant_id, STOP_ADDRESS, payload, self._now())
            await tx.execute(*self._sql.enqueue(job))

    async def _end(
        self,
        tx: Transaction,
        key: MailingKey,
        members: Iterable[str],
        state: RecipientState,
        *,
        reply: str = "",
    ) -> int:
        """Rows that are in an end state already stay as they are; returns how many changed."""
        values = {
            **_bound(key),
            "ids": self._list(members),
            "end": state.value,
            "words": reply,
            "now": self._now(),
        }
        return len(await tx.fetch(*self._sql.end(values)))

    async def _count(
        self, tx: Transaction, key: MailingKey, counts: Mapping[str, int]
    ) -> Progress | None:
        if not any(counts.values()):
            return None
        values = {**_bound(key), **{f"add_{name}": counts.get(name, 0) for name in COUNTED}}
        rows = await tx.fetch(*self._sql.count(values))
        return Progress(*rows[0]) if rows else None

    def _wanted(self, whom: Addressee) -> WantedStatements:
        return self._sql.of_welcomed if whom.welcome else self._sql.of_readers

    async def _fetch(self, statement: Statement, **values: Any) -> list[Row]:
        return await self._database.fetch(EVERY_TENANT, *statement(values))

    def _list(self, members: Iterable[str]) -> object:
        return self._database.list_value(list(members))

    def _now(self) -> str:
        return clock.to_text(self._clock())

    def _lease_end(self) -> str:
        return clock.to_text(self._clock() + self._lease)


def _keys(rows: Iterable[Row]) -> list[MailingKey]:
    return [MailingKey(*row) for row in rows]


def _bound(key: MailingKey) -> dict[str, Any]:
    return {"tenant": key.tenant_id, "mailing": key.mailing_id}


def _named(whom: Addressee) -> dict[str, str]:
    return {"tier": whom.welcome} if whom.welcome else {"slug": whom.slug}
