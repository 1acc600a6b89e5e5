"""The statements of the queue of recipients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from masthead.base.languages.words import staff_marked
from masthead.content.texts.publication import PUBLISHED
from masthead.engine.jobs.tables import jobs
from masthead.features.mailings.audience import is_reader, is_welcome
from masthead.features.mailings.collection import PAUSED, SCHEDULED, SENDING, mailings
from masthead.features.mailings.tables import IS_OPEN, RecipientState, mailing_recipients
from masthead.features.members.collection import blog_members, member_history
from masthead.features.posts.collection import posts
from masthead.features.site.collection import site_settings
from masthead.identity.tenants import TenantStatus, tenants
from masthead.storage import dialects
from masthead.storage.database import Database, Statement

MAX_MAILINGS: Final = 50
COUNTED: Final = ("sent", "failed", "uncertain", "unsubscribed", "bounced")
SITE_SUSPENDED: Final = staff_marked("The site is suspended. The mailing goes on when that ends.")


class WantedStatements(msgspec.Struct, frozen=True):
    """Those that ask whether a member still is to get the email."""

    next: Statement
    mark: Statement
    unsubscribe: Statement


class QueueStatements:
    def __init__(self, database: Database, tables: Mapping[str, sa.Table]) -> None:
        self._tables = tables
        r, m = mailing_recipients.c, tables[mailings.name].c
        members = tables[blog_members.name]
        here = (r.tenant_id == sa.bindparam("tenant"), r.mailing_id == sa.bindparam("mailing"))
        these = (*here, dialects.any_of(r.member_id, sa.bindparam("ids", required=True)))
        mine = (*these, r.claimed_by == sa.bindparam("me"), r.state == RecipientState.PENDING.value)
        history = tables[member_history.name].c
        slug: Any = sa.bindparam("slug", required=True)
        tier: Any = sa.bindparam("tier", required=True)
        self.of_readers = self._wanted(database, is_reader(members.c, slug))
        self.of_welcomed = self._wanted(database, is_welcome(members.c, history, tier))
        update = sa.update(mailing_recipients)
        self.due = database.compile(self._due())
        self.ended = database.compile(self._ended())
        self.startable = database.compile(self._startable())
        self.suspended = database.compile(self._suspended())
        is_held = (m.status == PAUSED, m.reason == SITE_SUSPENDED)
        reopened = self._of_open_sites(m.tenant_id, m.id).where(*is_held).limit(MAX_MAILINGS)
        self.reopened = database.compile(reopened)
        self.lease = database.compile(
            update.where(*these).values(due_at=sa.bindparam("until"), claimed_by=sa.bindparam("me"))
        )
        self.release = database.compile(
            update.where(*mine).values(due_at=sa.bindparam("now"), claimed_by="")
        )
        # By state, not by IS_OPEN: as long as PostgreSQL has no statistics of the table, it would
        # read the index of all open recipients to find a few.
        is_open = r.state.in_([RecipientState.PENDING.value, RecipientState.HANDING_OVER.value])
        self.end = database.compile(
            update.where(*these, is_open)
            .values(state=sa.bindparam("end"), reply=sa.bindparam("words"), **_done())
            .returning(r.member_id)
        )
        one = (*here, r.member_id == sa.bindparam("member"))
        self.postpone = database.compile(
            update.where(*one, r.claimed_by == sa.bindparam("me")).values(
                state=RecipientState.PENDING.value,
                due_at=sa.bindparam("again"),
                attempts=r.attempts - sa.bindparam("untried", required=True),
                reply=sa.bindparam("words"),
                claimed_by="",
            )
        )
        self.report_bounce = database.compile(update.where(*one).values(report="bounced"))
        added = {name: m[name] + sa.bindparam(f"add_{name}") for name in COUNTED}
        shown = (m.sent, m.failed, m.bounced, m.tried_before, m.bounced_before)
        self.count = database.compile(
            sa.update(tables[mailings.name])
            .where(m.tenant_id == sa.bindparam("tenant"), m.id == sa.bindparam("mailing"))
            .values(**added)
            .returning(*shown)
        )
        self.enqueue = database.compile(sa.insert(jobs))

    def _wanted(self, database: Database, wants: sa.ColumnElement[bool]) -> WantedStatements:
        r, m = mailing_recipients.c, self._tables[mailings.name].c
        members = self._tables[blog_members.name]
        here = (r.tenant_id == sa.bindparam("tenant"), r.mailing_id == sa.bindparam("mailing"))
        these = (*here, dialects.any_of(r.member_id, sa.bindparam("ids", required=True)))
        mine = (*these, r.claimed_by == sa.bindparam("me"), r.state == RecipientState.PENDING.value)
        joined = sa.and_(members.c.tenant_id == r.tenant_id, members.c.id == r.member_id)
        is_wanted = sa.exists().where(joined, wants)
        is_sending = sa.exists().where(
            m.tenant_id == r.tenant_id, m.id == r.mailing_id, m.status == SENDING
        )
        columns = (r.member_id, r.state, r.attempts)
        of_member = ("email", "name", "language", "tier", "tier_id")
        following = (
            sa.select(
                *columns,
                *(members.c[name] for name in of_member),
                sa.case((wants, sa.literal_column("1")), else_=sa.literal_column("0")),
            )
            .select_from(mailing_recipients.outerjoin(members, joined))
            .where(*here, IS_OPEN, r.due_at <= sa.bindparam("now"))
            .order_by(r.due_at)
            .limit(sa.bindparam("limit"))
            .with_for_update(skip_locked=True, of=mailing_recipients)
        )
        update = sa.update(mailing_recipients)
        mark = (
            update.where(*mine, is_sending, is_wanted)
            .values(
                state=RecipientState.HANDING_OVER.value,
                due_at=sa.bindparam("until"),
                attempts=r.attempts + 1,
            )
            .returning(r.member_id)
        )
        unsubscribe = (
            update.where(*mine, sa.not_(is_wanted))
            .values(state=RecipientState.UNSUBSCRIBED.value, **_done())
            .returning(r.member_id)
        )
        return WantedStatements(*map(database.compile, (following, mark, unsubscribe)))

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
        found = self._of_open_sites(m.tenant_id, m.id, m.newsletter, m.welcome)
        return found.where(m.status == SENDING, waits).order_by(m.started_at).limit(MAX_MAILINGS)

    def _ended(self) -> sa.Select[Any]:
        m, r = self._tables[mailings.name].c, mailing_recipients.c
        is_open = sa.exists().where(r.tenant_id == m.tenant_id, r.mailing_id == m.id, IS_OPEN)
        found = self._of_open_sites(m.tenant_id, m.id)
        return found.where(m.status == SENDING, sa.not_(is_open)).limit(MAX_MAILINGS)

    def _suspended(self) -> sa.Select[Any]:
        m, t = self._tables[mailings.name].c, self._tables[tenants.name].c
        is_suspended = (t.id == m.tenant_id, t.status == TenantStatus.SUSPENDED.value)
        found = sa.select(m.tenant_id, m.id).where(m.status == SENDING, *is_suspended)
        return found.limit(MAX_MAILINGS)

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


def _done() -> dict[str, Any]:
    return {"due_at": "", "claimed_by": "", "ended_at": sa.bindparam("now")}
