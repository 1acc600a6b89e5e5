"""The emails that welcome new members: letters of the main newsletter. Each of the two is one
mailing without an end, to which a job adds the members who join or first pay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec

from masthead.base.caller import Caller, system
from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.mailings.letter import Letter, draw_note
from masthead.features.mailings.senders import Senders
from masthead.features.mailings.starting import Starting
from masthead.features.mailings.welcome_emails import welcome_emails, written_html
from masthead.features.members.newsletters import newsletters
from masthead.features.members.welcome import SEND_WELCOME
from masthead.features.site.collection import MAIN_NEWSLETTER
from masthead.outside.mail.outbox import Outbox

MAX_SUBJECT: Final = 255


class WelcomeEmails(msgspec.Struct, frozen=True):
    records: Records
    outbox: Outbox
    senders: Senders
    starting: Starting

    def handlers(self) -> Mapping[str, Handler]:
        return {SEND_WELCOME: self._add}

    async def draw(self, tenant_id: TenantId, text: Record, subject: str = "") -> Letter:
        """Takes a while."""
        return await draw_note(
            self.records,
            tenant_id=tenant_id,
            site=await self.senders.sites.of(tenant_id),
            newsletter=await self._newsletter(tenant_id),
            subject=subject or text["subject"],
            html=await written_html(text),
        )

    async def send_test(self, caller: Caller, tenant_id: TenantId, to: str, text: Record) -> None:
        """To someone of the staff. There is nothing to unsubscribe from."""
        subject = f"[Test] {text['subject']}"[:MAX_SUBJECT]
        letter = await self.draw(tenant_id, text, subject)
        newsletter = await self._newsletter(tenant_id)
        rendered = await self.senders.copy(tenant_id, newsletter, letter, to)
        async with self.records.unit(caller) as unit:
            unit.refuse_if_read_only()
            await self.outbox.queue_rendered(unit, rendered, "welcome_email_test")

    async def _add(self, job: Job) -> None:
        """`welcome_emails.send`: after a crash it may run again."""
        async with self.records.unit(system(job.tenant_id)) as unit:
            if unit.is_read_only:
                # The site is about to be deleted.
                return
            wanted = {"kind": job.payload["kind"], "is_on": True}
            for text in await unit.find(welcome_emails, wanted, limit=1):
                await self.starting.welcome(unit, text, job.payload["member_id"])

    async def _newsletter(self, tenant_id: TenantId) -> Record:
        key = {"slug": MAIN_NEWSLETTER}
        [main] = await self.records.find(newsletters, key, tenant_id=tenant_id)
        return main
