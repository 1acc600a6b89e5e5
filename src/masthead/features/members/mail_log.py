"""Which emails went to a member, for the page of the member. It holds no text of an email and is
deleted with the member."""

from __future__ import annotations

from collections.abc import Mapping

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.ids import TenantId
from masthead.engine.records.changes import Snapshot
from masthead.engine.records.engine import Records
from masthead.engine.records.write.unit import Unit
from masthead.features.members.collection import FAILED, MAILS, MAX_HISTORY, SENT, blog_members
from masthead.storage.database import Transaction
from masthead.storage.dialects import not_empty


class MemberMails:
    def __init__(self, records: Records, tables: Mapping[str, sa.Table]) -> None:
        self._clock = records.clock
        t = tables[MAILS].c
        self._end = records.database.compile(
            sa.update(tables[MAILS])
            .where(
                t.tenant_id == sa.bindparam("tenant"),
                t.mail_id == sa.bindparam("mail"),
                not_empty(t.mail_id),
            )
            .values(
                state=sa.bindparam("new_state"),
                ended_at=sa.bindparam("now"),
                updated=sa.bindparam("now"),
                version=t.version + 1,
            )
        )

    async def queued(self, unit: Unit, mail_id: str, recipient: str, template: str) -> None:
        """In the transaction that queues the email. One to another address is left out."""
        if unit.is_read_only:
            # The email is sent anyway.
            return
        for member in await unit.find(blog_members, {"email": recipient}, limit=1):
            values = {"member_id": member["id"], "mail_id": mail_id, "template": template}
            await unit.store_snapshot(Snapshot(MAILS, values, by="member_id", newest=MAX_HISTORY))

    async def ended(
        self, tx: Transaction, tenant_id: TenantId, mail_id: str, *, is_sent: bool
    ) -> None:
        """No unit: it would wait for the changes of the site, and count as one."""
        values = {
            "tenant": tenant_id,
            "mail": mail_id,
            "new_state": SENT if is_sent else FAILED,
            "now": clock.to_text(self._clock()),
        }
        await tx.execute(*self._end(values))
