"""Which mails went to a member, for the page of the member. It holds no text of a mail and is
deleted with the member."""

from __future__ import annotations

from masthead import clock
from masthead.caller import system
from masthead.ids import TenantId
from masthead.members.collection import (
    FAILED,
    MAILS,
    MAX_HISTORY,
    SENT,
    blog_members,
    member_mails,
)
from masthead.records.collection import Snapshot
from masthead.records.engine import Records
from masthead.records.write.unit import Unit


class MemberMails:
    def __init__(self, records: Records) -> None:
        self._records = records

    async def queued(self, unit: Unit, mail_id: str, recipient: str, template: str) -> None:
        """In the transaction that queues the mail. One to another address is left out."""
        if unit.is_read_only:
            # The mail goes out all the same.
            return
        for member in await unit.find(blog_members, {"email": recipient}, limit=1):
            values = {"member_id": member["id"], "mail_id": mail_id, "template": template}
            await unit.store_snapshot(Snapshot(MAILS, values, by="member_id", newest=MAX_HISTORY))

    async def ended(self, tenant_id: TenantId, mail_id: str, *, is_sent: bool) -> None:
        this = {"mail_id": mail_id}
        # A read first: most mails of a site with few members need no change.
        if not await self._records.find(member_mails, this, tenant_id=tenant_id):
            return
        async with self._records.unit(system(tenant_id), emit_events=False) as unit:
            for each in await unit.find(member_mails, this, limit=1):
                now = clock.to_text(self._records.clock())
                stamped = {"state": SENT if is_sent else FAILED, "ended_at": now}
                await unit.update(member_mails, each["id"], {}, stamped=stamped)
