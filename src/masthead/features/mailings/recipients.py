"""The recipients of a mailing and the state of each email, for the pages of mailings and
members."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

import msgspec
import sqlalchemy as sa

from masthead.base.ids import TenantId
from masthead.features.mailings.collection import WELCOME, mailings
from masthead.features.mailings.tables import IS_NOTABLE, IS_OPEN, IS_REPORTED, mailing_recipients
from masthead.features.members.collection import blog_members
from masthead.storage import dialects
from masthead.storage.database import Database, Row, Statement, scope_of


class Fate(StrEnum):
    WAITING = "waiting"
    SENT = "sent"
    FAILED = "failed"
    UNCERTAIN = "uncertain"
    UNSUBSCRIBED = "unsubscribed"
    BOUNCED = "bounced"
    COMPLAINED = "complained"


class Recipient(msgspec.Struct, frozen=True):
    member_id: str
    email: str
    """Empty for a member who was deleted since."""
    name: str
    fate: Fate
    reply: str
    """The mail server's words."""
    at: str
    """Empty before the end."""


class Mailed(msgspec.Struct, frozen=True):
    """An email of a mailing to one member."""

    mailing_id: str
    kind: str
    subject: str
    fate: Fate
    reply: str
    at: str


PAGED: Final[tuple[Fate, ...]] = tuple(fate for fate in Fate if fate is not Fate.WAITING)
_REPORTED: Final = frozenset({Fate.BOUNCED, Fate.COMPLAINED})


class MailingRecipients:
    def __init__(self, database: Database, tables: Mapping[str, sa.Table]) -> None:
        self._database = database
        r = mailing_recipients.c
        m, members = tables[mailings.name], tables[blog_members.name]
        self._columns = (r.member_id, members.c.email, members.c.name)
        self._fate = (r.state, r.report, r.reply, r.ended_at)
        joined = sa.and_(members.c.tenant_id == r.tenant_id, members.c.id == r.member_id)
        of_mailing = (
            sa.select(*self._columns, *self._fate)
            .select_from(mailing_recipients.outerjoin(members, joined))
            .where(r.tenant_id == sa.bindparam("tenant"), r.mailing_id == sa.bindparam("mailing"))
            .limit(sa.bindparam("limit"))
        )
        page = of_mailing.where(r.member_id > sa.bindparam("after")).order_by(r.member_id)
        self._page = database.compile(page)
        self._pages: dict[Fate, Statement] = {
            fate: database.compile(page.where(*_is(fate))) for fate in PAGED
        }
        self._next = database.compile(of_mailing.where(IS_OPEN).order_by(r.due_at))
        wanted: Any = sa.bindparam("ids", required=True)
        self._some = database.compile(of_mailing.where(dialects.any_of(r.member_id, wanted)))
        to_mailing = sa.and_(m.c.tenant_id == r.tenant_id, m.c.id == r.mailing_id)
        # A welcome email has begun long before it welcomes this member.
        waits_since = sa.case((m.c.kind == WELCOME, r.due_at), else_=m.c.started_at)
        at = sa.case((r.ended_at != "", r.ended_at), else_=waits_since)
        self._of_member = database.compile(
            sa.select(m.c.id, m.c.kind, m.c.subject, r.state, r.report, r.reply, at)
            .select_from(mailing_recipients.join(m, to_mailing))
            .where(r.tenant_id == sa.bindparam("tenant"), r.member_id == sa.bindparam("member"))
            .order_by(at.desc(), m.c.id.desc())
            .limit(sa.bindparam("limit"))
        )

    async def page(
        self, tenant_id: TenantId, mailing_id: str, fate: Fate | None, after: str, *, limit: int
    ) -> list[Recipient]:
        """In the order of the members' ids, after one of them. Without a fate all of them."""
        values = {"tenant": tenant_id, "mailing": mailing_id, "after": after, "limit": limit}
        rows = await self._fetch(self._pages[fate] if fate else self._page, values)
        return [_recipient(row) for row in rows]

    async def waiting(self, tenant_id: TenantId, mailing_id: str, limit: int) -> list[Recipient]:
        """Those whose turn is next. There are no further pages: they change with every email."""
        values = {"tenant": tenant_id, "mailing": mailing_id, "limit": limit}
        return [_recipient(row) for row in await self._fetch(self._next, values)]

    async def among(
        self, tenant_id: TenantId, mailing_id: str, member_ids: Sequence[str]
    ) -> list[Recipient]:
        values = {
            "tenant": tenant_id,
            "mailing": mailing_id,
            "ids": self._database.list_value(list(member_ids)),
            "limit": len(member_ids),
        }
        return [_recipient(row) for row in await self._fetch(self._some, values)]

    async def of_member(self, tenant_id: TenantId, member_id: str, limit: int) -> list[Mailed]:
        """The newest first."""
        values = {"tenant": tenant_id, "member": member_id, "limit": limit}
        rows = await self._fetch(self._of_member, values)
        return [
            Mailed(mailing_id, kind, subject, _fate(state, report), reply, at)
            for mailing_id, kind, subject, state, report, reply, at in rows
        ]

    async def _fetch(self, statement: Statement, values: Mapping[str, Any]) -> list[Row]:
        scope = scope_of(values["tenant"])
        return await self._database.fetch(scope, *statement(values))


def _is(fate: Fate) -> tuple[Any, ...]:
    """With the words of the index that has the few of this fate."""
    r = mailing_recipients.c
    if fate in _REPORTED:
        return (IS_REPORTED, r.report == fate.value)
    if fate is Fate.SENT:
        return (r.state == fate.value,)
    return (IS_NOTABLE, r.state == fate.value)


def _recipient(row: Row) -> Recipient:
    member_id, email, name, state, report, reply, ended_at = row
    return Recipient(
        member_id, email or "", name or "", _fate(state, report), reply or "", ended_at or ""
    )


def _fate(state: str, report: str) -> Fate:
    """The later report, if there is one: it says more than that the mail server took the email."""
    if report:
        return Fate(report)
    return Fate(state) if state in PAGED else Fate.WAITING
