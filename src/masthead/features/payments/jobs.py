"""Mails a member whose payment has arrived."""

from __future__ import annotations

from collections.abc import Mapping

from masthead.base.caller import system
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.engine import Records
from masthead.features.members.collection import blog_members
from masthead.features.payments.memberships import WELCOME
from masthead.features.site.address import Sites
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox


def handlers(records: Records, outbox: Outbox, sites: Sites) -> Mapping[str, Handler]:
    async def welcome(job: Job) -> None:
        """After a crash the email may be queued twice, which is better than not at all."""
        wanted = {"id": job.payload["member_id"]}
        found = await records.find(blog_members, wanted, tenant_id=job.tenant_id)
        # Erased or no longer paid in the meantime.
        if not found or found[0]["tier"] != "paid":
            return
        site, member = await sites.of(job.tenant_id), found[0]
        values = {"name": member["name"], "link": f"{site.url}/member/account"}
        mail = write_email("welcome_paid", site, member["email"], **values)
        async with records.unit(system(job.tenant_id)) as unit:
            await outbox.queue(unit, mail)

    return {WELCOME: welcome}
