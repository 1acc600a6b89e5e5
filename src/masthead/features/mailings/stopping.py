"""Stops newsletters to an address that bounces or complains, on every site of the installation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from masthead.base.caller import system
from masthead.base.email_address import normal_email
from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.engine import Records
from masthead.features.mailings.queue import STOP_ADDRESS
from masthead.features.mailings.tables import mailing_recipients
from masthead.features.members.collection import BOUNCED, COMPLAINED, blog_members
from masthead.outside.mail.foreign_words import readable
from masthead.storage.database import scope_of
from masthead.storage.table_rows import TableRows

MAX_SITES: Final = 1_000
MAX_REASON: Final = 500


class StoppedAddresses:
    def __init__(self, records: Records) -> None:
        self._records = records
        self._rows = TableRows(records.database, mailing_recipients)

    async def stop(self, email: str, state: str, reason: str) -> int:
        """Returns how many members have the address."""
        found = await self._records.find(
            blog_members, {"email": normal_email(email)}, limit=MAX_SITES
        )
        for member in found:
            # A complaint is worse than a bounce.
            if member["mail_state"] in (state, COMPLAINED):
                continue
            stamped = {"mail_state": state, "mail_state_reason": readable(reason)[:MAX_REASON]}
            async with self._records.unit(system(TenantId(member["tenant_id"]))) as unit:
                # The address may be another member's by now, or nobody's.
                for now in await unit.find(blog_members, {"id": member["id"]}, limit=1):
                    if now["email"] == member["email"]:
                        await unit.update(blog_members, member["id"], {}, stamped=stamped)
        return len(found)

    def handlers(self) -> Mapping[str, Handler]:
        return {STOP_ADDRESS: self._stop_refused}

    async def _stop_refused(self, job: Job) -> None:
        """The mail server says that there is no such mailbox."""
        member_id = job.payload["member_id"]
        key = {"id": member_id}
        for member in await self._records.find(blog_members, key, tenant_id=job.tenant_id):
            mailing_id = job.payload["mailing_id"]
            of = {"tenant_id": job.tenant_id, "mailing_id": mailing_id, "member_id": member_id}
            reply = self._rows.select(("reply",), of)
            rows = await self._records.database.fetch(scope_of(job.tenant_id), *reply)
            await self.stop(member["email"], BOUNCED, rows[0][0] if rows else "")
