"""The recipients of mailings as a queue: claimed in slices under a lease, marked before an email is
handed over and again after it.

A lease is the time in `due_at`: until then only the worker in `claimed_by` may change the row. A
recipient that was being handed over when its lease ended is `uncertain`, and is not mailed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from masthead import clock, ids
from masthead.identity.tenants import TenantStatus, tenants
from masthead.ids import TenantId
from masthead.jobs.tables import jobs, new_job
from masthead.mailings.audience import is_reader
from masthead.mailings.collection import SCHEDULED, SENDING, mailings
from masthead.mailings.tables import IS_OPEN, State, mailing_recipients
from masthead.members.collection import blog_members
from masthead.posts.collection import posts
from masthead.site.collection import site_settings
from masthead.storage import dialects
from masthead.storage.database import EVERY_TENANT, Database, Row, Statement, Transaction
from masthead.texts.publication import PUBLISHED

LEASE: Final = timedelta(seconds=90)
"""Longer than a hand-over may take (`mail/connection.py`)."""
MAX_MAILINGS: Final = 50
STOP_ADDRESS: Final = "mailings.stop_address"


class MailingKey(NamedTuple):
    tenant_id: TenantId
    mailing_id: str


@dataclass(frozen=True, slots=True)
class Claimed:
    """A recipient that this worker has the lease of."""

    key: MailingKey
    slug: str
    """The newsletter's."""
    member_id: str
    email: str
    name: str
    is_paid: bool
    attempts: int


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of one attempt."""

    claimed: Claimed
    state: State
    """`pending` is a later attempt."""
    reply: str = ""
    due_at: str = ""
    is_hard_bounce: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
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
        self._sql = _Statements(database, tables)

    async def due(self) -> list[tuple[MailingKey, str]]:
        """The mailings with recipients to be mailed now, with their newsletters."""
        rows = await self._fetch(self._sql.due, now=self._now())
        return [(MailingKey(TenantId(row[0]), row[1]), row[2]) for row in rows]

    async def ended(self) -> list[MailingKey]:
        """Mailings that are being sent and have no recipient left."""
        return _keys(await self._fetch(self._sql.ended))

    async def startable(self) -> list[MailingKey]:
        """Scheduled mailings whose time has come and whose post is published, or gone."""
        return _keys(await self._fetch(self._sql.startable, now=self._now()))

    async def claim(self, key: MailingKey, slug: str, limit: int) -> list[Claimed]:
        """Leases due recipients. Those who want no newsletter any more are unsubscribed, and those
        whose worker died while it handed over their email are uncertain."""
        sql, now = self._sql, self._now()
        async with self._database.transaction(EVERY_TENANT) as tx:
            bound = sql.next.bind({**_bound(key), "slug": slug, "now": now, "limit": limit})
            rows = await tx.fetch(sql.next, bound)
            lost = [row[0] for row in rows if row[1] == State.HANDING_OVER]
            gone = [row[0] for row in rows if row[1] == State.PENDING and not row[7]]
            mine = [row for row in rows if row[1] == State.PENDING and row[7]]
            if lost:
                reply = "the worker ended before the mail server's answer was stored"
                await self._end(tx, key, lost, State.UNCERTAIN, reply)
            if gone:
                await self._end(tx, key, gone, State.UNSUBSCRIBED)
            if mine:
                values = {**_bound(key), "ids": self._list(row[0] for row in mine)}
                values |= {"until": self._lease_end(), "me": self._me}
                await tx.execute(sql.lease, sql.lease.bind(values))
            await self._count(tx, key, {"uncertain": len(lost), "unsubscribed": len(gone)})
        return [
            Claimed(key, slug, row[0], row[3], row[4], row[5] == "paid", row[2]) for row in mine
        ]

    async def turn(
        self, ended: Sequence[Ended], wanted: Sequence[Claimed]
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
        sql, members = self._sql, [each.member_id for each in asked]
        values = {
            **_bound(key),
            "ids": self._list(members),
            "me": self._me,
            "slug": asked[0].slug,
            "now": self._now(),
            "until": self._lease_end(),
        }
        rows = await tx.fetch(sql.mark, sql.mark.bind(values))
        ready = {row[0] for row in rows}
        if len(ready) == len(members):
            return ready, 0
        values["ids"] = self._list(each for each in members if each not in ready)
        gone = len(await tx.fetch(sql.unsubscribe, sql.unsubscribe.bind(values)))
        # The mailing is paused or cancelled. After a resume they are taken anew.
        await tx.execute(sql.release, sql.release.bind(values))
        return ready, gone

    async def _release(self, tx: Transaction, key: MailingKey, members: Sequence[str]) -> None:
        values = {**_bound(key), "ids": self._list(members), "me": self._me, "now": self._now()}
        await tx.execute(self._sql.release, self._sql.release.bind(values))

    async def _store(
        self, tx: Transaction, key: MailingKey, results: Sequence[Ended]
    ) -> dict[str, int]:
        """The counts that the results add."""
        counts = dict.fromkeys(_COUNTED, 0)
        taken = [each.claimed.member_id for each in results if each.state is State.SENT]
        if taken:
            counts["sent"] = await self._end(tx, key, taken, State.SENT)
        for each in results:
            if each.state is not State.SENT:
                await self._store_one(tx, key, each, counts)
        return counts

    async def _store_one(
        self, tx: Transaction, key: MailingKey, result: Ended, counts: dict[str, int]
    ) -> None:
        member = result.claimed.member_id
        if result.state is State.PENDING:
            values = {**_bound(key), "member": member, "me": self._me}
            values |= {"again": result.due_at, "words": result.reply}
            await tx.execute(self._sql.postpone, self._sql.postpone.bind(values))
            return
        if not await self._end(tx, key, [member], result.state, result.reply):
            return
        counts[result.state.value] += 1
        if result.is_hard_bounce:
            counts["bounced"] += 1
            report = {**_bound(key), "member": member}
            await tx.execute(self._sql.report_bounce, self._sql.report_bounce.bind(report))
            # By id: a job that is kept must not hold an address.
            payload = {"member_id": member, "mailing_id": key.mailing_id}
            job = new_job(key.tenant_id, STOP_ADDRESS, payload, self._now())
            await tx.execute(self._sql.enqueue, self._sql.enqueue.bind(job))

    async def _end(
        self,
        tx: Transaction,
        key: MailingKey,
        members: Iterable[str],
        state: State,
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
        return len(await tx.fetch(self._sql.end, self._sql.end.bind(values)))

    async def _count(
        self, tx: Transaction, key: MailingKey, counts: Mapping[str, int]
    ) -> Progress | None:
        if not any(counts.values()):
            return None
        values = {**_bound(key), **{f"add_{name}": counts.get(name, 0) for name in _COUNTED}}
        rows = await tx.fetch(self._sql.count, self._sql.count.bind(values))
        return Progress(*rows[0]) if rows else None

    async def _fetch(self, statement: Statement, **values: Any) -> list[Row]:
        return await self._database.fetch(EVERY_TENANT, statement, statement.bind(values))

    def _list(self, members: Iterable[str]) -> object:
        return self._database.list_value(list(members))

    def _now(self) -> str:
        return clock.to_text(self._clock())

    def _lease_end(self) -> str:
        return clock.to_text(self._clock() + self._lease)


_COUNTED: Final = ("sent", "failed", "uncertain", "unsubscribed", "bounced")


class _Statements:
    def __init__(self, database: Database, tables: Mapping[str, sa.Table]) -> None:
        self._tables = tables
        r, m = mailing_recipients.c, tables[mailings.name].c
        members = tables[blog_members.name]
        here = (r.tenant_id == sa.bindparam("tenant"), r.mailing_id == sa.bindparam("mailing"))
        these = (*here, dialects.any_of(r.member_id, sa.bindparam("ids", required=True)))
        mine = (*these, r.claimed_by == sa.bindparam("me"), r.state == State.PENDING.value)
        wants = is_reader(members.c, sa.bindparam("slug", required=True))
        joined = sa.and_(members.c.tenant_id == r.tenant_id, members.c.id == r.member_id)
        is_wanted = sa.exists().where(joined, wants)
        is_sending = sa.exists().where(
            m.tenant_id == r.tenant_id, m.id == r.mailing_id, m.status == SENDING
        )
        update = sa.update(mailing_recipients)
        done = {"due_at": "", "claimed_by": "", "ended_at": sa.bindparam("now")}
        self.due = database.compile(self._due())
        self.ended = database.compile(self._ended())
        self.startable = database.compile(self._startable())
        columns = (r.member_id, r.state, r.attempts, members.c.email, members.c.name)
        self.next = database.compile(
            sa.select(
                *columns,
                members.c.tier,
                members.c.status,
                sa.case((wants, sa.literal_column("1")), else_=sa.literal_column("0")),
            )
            .select_from(mailing_recipients.outerjoin(members, joined))
            .where(*here, IS_OPEN, r.due_at <= sa.bindparam("now"))
            .order_by(r.due_at)
            .limit(sa.bindparam("limit"))
            .with_for_update(skip_locked=True, of=mailing_recipients)
        )
        self.lease = database.compile(
            update.where(*these).values(due_at=sa.bindparam("until"), claimed_by=sa.bindparam("me"))
        )
        self.mark = database.compile(
            update.where(*mine, r.due_at > sa.bindparam("now"), is_sending, is_wanted)
            .values(
                state=State.HANDING_OVER.value,
                due_at=sa.bindparam("until"),
                attempts=r.attempts + 1,
            )
            .returning(r.member_id)
        )
        self.unsubscribe = database.compile(
            update.where(*mine, sa.not_(is_wanted))
            .values(state=State.UNSUBSCRIBED.value, **done)
            .returning(r.member_id)
        )
        self.release = database.compile(
            update.where(*mine).values(due_at=sa.bindparam("now"), claimed_by="")
        )
        self.end = database.compile(
            update.where(*these, IS_OPEN)
            .values(state=sa.bindparam("end"), reply=sa.bindparam("words"), **done)
            .returning(r.member_id)
        )
        one = (*here, r.member_id == sa.bindparam("member"))
        self.postpone = database.compile(
            update.where(*one, r.claimed_by == sa.bindparam("me")).values(
                state=State.PENDING.value,
                due_at=sa.bindparam("again"),
                reply=sa.bindparam("words"),
                claimed_by="",
            )
        )
        self.report_bounce = database.compile(update.where(*one).values(report="bounced"))
        added = {name: m[name] + sa.bindparam(f"add_{name}") for name in _COUNTED}
        shown = (m.sent, m.failed, m.bounced, m.tried_before, m.bounced_before)
        self.count = database.compile(
            sa.update(tables[mailings.name])
            .where(m.tenant_id == sa.bindparam("tenant"), m.id == sa.bindparam("mailing"))
            .values(**added)
            .returning(*shown)
        )
        self.enqueue = database.compile(sa.insert(jobs))

    def _of_open_sites(self, *columns: Any) -> sa.Select[Any]:
        """Mailings of sites that are neither suspended nor waiting for their deletion."""
        m, t = self._tables[mailings.name].c, self._tables[tenants.name].c
        s = self._tables[site_settings.name].c
        return sa.select(*columns).where(
            t.id == m.tenant_id,
            t.status != TenantStatus.SUSPENDED.value,
            s.tenant_id == m.tenant_id,
            s.deleted_at == "",
        )

    def _due(self) -> sa.Select[Any]:
        m, r = self._tables[mailings.name].c, mailing_recipients.c
        waits = sa.exists().where(
            r.tenant_id == m.tenant_id,
            r.mailing_id == m.id,
            IS_OPEN,
            r.due_at <= sa.bindparam("now"),
        )
        found = self._of_open_sites(m.tenant_id, m.id, m.newsletter)
        return found.where(m.status == SENDING, waits).order_by(m.started_at).limit(MAX_MAILINGS)

    def _ended(self) -> sa.Select[Any]:
        m, r = self._tables[mailings.name].c, mailing_recipients.c
        is_open = sa.exists().where(r.tenant_id == m.tenant_id, r.mailing_id == m.id, IS_OPEN)
        found = self._of_open_sites(m.tenant_id, m.id)
        return found.where(m.status == SENDING, sa.not_(is_open)).limit(MAX_MAILINGS)

    def _startable(self) -> sa.Select[Any]:
        m, p = self._tables[mailings.name].c, self._tables[posts.name].c
        waits = sa.exists().where(
            p.tenant_id == m.tenant_id,
            p.id == m.post_id,
            sa.or_(p.status != PUBLISHED, p.published_at > sa.bindparam("now")),
        )
        found = self._of_open_sites(m.tenant_id, m.id)
        is_due = (m.status == SCHEDULED, m.scheduled_for <= sa.bindparam("now"))
        return found.where(*is_due, sa.not_(waits)).limit(MAX_MAILINGS)


def _keys(rows: Iterable[Row]) -> list[MailingKey]:
    return [MailingKey(TenantId(row[0]), row[1]) for row in rows]


def _bound(key: MailingKey) -> dict[str, Any]:
    return {"tenant": key.tenant_id, "mailing": key.mailing_id}
