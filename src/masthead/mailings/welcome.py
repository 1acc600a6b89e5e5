"""The emails that welcome new members: drawn as letters of the main newsletter, sent once to each
member and tier through the outbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from html import escape
from typing import Final
from urllib.parse import quote

from masthead import clock
from masthead.caller import Caller, system
from masthead.errors import Invalid
from masthead.identity.suspension import is_suspended
from masthead.ids import TenantId
from masthead.jobs.runner import Handler, Job
from masthead.mail.message import RenderedMail
from masthead.mail.outbox import Outbox
from masthead.mailings.letter import Letter, Recipient, draw_note
from masthead.mailings.senders import Senders
from masthead.mailings.welcome_emails import welcome_emails
from masthead.members.collection import MAIL_OK, blog_members, member_mails
from masthead.members.newsletters import newsletters
from masthead.members.unsubscribe import Unsubscribe
from masthead.members.welcome import SEND_WELCOME
from masthead.records.collection import Record
from masthead.records.engine import Records
from masthead.records.write.unit import Unit
from masthead.site.collection import MAIN_NEWSLETTER
from masthead.texts.content import convert_markdown

MAX_SUBJECT: Final = 255
LOOK_AGAIN: Final = timedelta(hours=1)
"""While the site is suspended."""


@dataclass(frozen=True, slots=True)
class WelcomeEmails:
    records: Records
    outbox: Outbox
    senders: Senders
    unsubscribing: Unsubscribe

    def handlers(self) -> Mapping[str, Handler]:
        return {SEND_WELCOME: self._send}

    async def draw(self, tenant_id: TenantId, subject: str, text: str) -> Letter:
        """Takes a while."""
        return await draw_note(
            self.records,
            tenant_id=tenant_id,
            site=await self.senders.sites.of(tenant_id),
            newsletter=await self._newsletter(tenant_id),
            subject=subject,
            html=await _html_of(text),
        )

    async def send_test(self, caller: Caller, tenant_id: TenantId, to: str, text: Record) -> None:
        """To someone of the staff. There is nothing to unsubscribe from."""
        subject = f"[Test] {text['subject']}"[:MAX_SUBJECT]
        letter = await self.draw(tenant_id, subject, text["text"])
        site = await self.senders.sites.of(tenant_id)
        rendered = await self._rendered(tenant_id, letter, Recipient(to, "", site.url), "")
        async with self.records.unit(caller) as unit:
            unit.refuse_if_read_only()
            await self.outbox.queue_rendered(unit, rendered, "welcome_email_test")

    async def _send(self, job: Job) -> None:
        """`welcome_emails.send`: draws the email first, so that nobody waits for it."""
        tenant_id, kind = job.tenant_id, job.payload["kind"]
        find = self.records.find
        found = await find(blog_members, {"id": job.payload["member_id"]}, tenant_id=tenant_id)
        wanted = {"kind": kind, "is_on": True}
        texts = await find(welcome_emails, wanted, tenant_id=tenant_id)
        if not found or not texts or not _may_get(found[0], kind):
            return
        member, text = found[0], texts[0]
        letter = await self.draw(tenant_id, text["subject"], text["text"])
        site = await self.senders.sites.of(tenant_id)
        one_click = self.unsubscribing.url(site.url, tenant_id, member["email"])
        link = f"{one_click}&newsletter={quote(MAIN_NEWSLETTER)}"
        recipient = Recipient(member["email"], member["name"], link)
        rendered = await self._rendered(tenant_id, letter, recipient, one_click)
        async with self.records.unit(system(tenant_id)) as unit:
            await self._queue(unit, job, member, rendered)

    async def _queue(self, unit: Unit, job: Job, member: Record, rendered: RenderedMail) -> None:
        kind = job.payload["kind"]
        if unit.tenant.site.read_only:
            # About to be deleted.
            return
        if await is_suspended(unit):
            again = clock.to_text(self.records.clock() + LOOK_AGAIN)
            await unit.enqueue(SEND_WELCOME, job.payload, again)
            return
        now = await unit.find(blog_members, {"id": member["id"]}, limit=1)
        if not now or now[0]["email"] != member["email"] or not _may_get(now[0], kind):
            return
        # Written with the email: a job that runs again after a crash finds it.
        called = f"welcome_email_{kind}"
        if await unit.find(member_mails, {"member_id": member["id"], "template": called}, limit=1):
            return
        await self.outbox.queue_rendered(unit, rendered, called)

    async def _rendered(
        self, tenant_id: TenantId, letter: Letter, recipient: Recipient, one_click: str
    ) -> RenderedMail:
        newsletter = await self._newsletter(tenant_id)
        site = await self.senders.sites.of(tenant_id)
        own = letter.for_recipient(recipient)
        return RenderedMail(
            to=recipient.email,
            to_name=recipient.name,
            subject=own.subject,
            text=own.text,
            html=own.html,
            reply_to=newsletter["reply_to"],
            unsubscribe_url=one_click,
            from_name=newsletter["sender_name"] or site.name,
            from_domain=await self.senders.own_domain(tenant_id),
        )

    async def _newsletter(self, tenant_id: TenantId) -> Record:
        key = {"slug": MAIN_NEWSLETTER}
        [main] = await self.records.find(newsletters, key, tenant_id=tenant_id)
        return main


def _may_get(member: Record, kind: str) -> bool:
    """Whoever has left or can't be reached since gets none, and a paid one only who pays."""
    return bool(
        member["verified"]
        and member["status"] != "cancelled"
        and member["mail_state"] == MAIL_OK
        and member["tier"] == kind
    )


async def _html_of(text: str) -> str:
    try:
        return (await convert_markdown(text, keeps_lines=True)).content_html
    except Invalid:
        # Of a text that is beyond the limits the words are sent.
        return f"<p>{escape(text)}</p>"
