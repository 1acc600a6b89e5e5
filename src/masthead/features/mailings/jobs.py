"""Mails the owner of a site when a mailing has failed."""

from __future__ import annotations

from collections.abc import Mapping

from masthead.base.caller import system
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.engine import Records
from masthead.features.mailings.collection import FAILED, TELL_FAILED, mailings
from masthead.features.mailings.stopped_email import mailing_stopped
from masthead.features.site.address import Sites
from masthead.identity.owners import owner_of
from masthead.outside.mail.outbox import Outbox


def handlers(records: Records, outbox: Outbox, sites: Sites) -> Mapping[str, Handler]:
    async def tell_failed(job: Job) -> None:
        """After a crash the email may be queued twice, which is better than not at all."""
        wanted = {"id": job.payload["mailing_id"], "status": FAILED}
        owner = await owner_of(records, job.tenant_id)
        # None if it was tried again, or deleted, in the meantime.
        for mailing in await records.find(mailings, wanted, tenant_id=job.tenant_id):
            if owner is None:
                return
            site = await sites.of(job.tenant_id)
            mail = mailing_stopped(mailing, site, owner["email"])
            async with records.unit(system(job.tenant_id)) as unit:
                await outbox.queue(unit, mail)

    return {TELL_FAILED: tell_failed}
