"""Mails the owner of a site when a subscription was disabled."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import urlsplit

from masthead.base.caller import system
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.engine import Records
from masthead.features.site.address import Sites
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.features.webhooks.queue import NOTIFY_DISABLED
from masthead.identity.owners import owner_of
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox


def handlers(records: Records, outbox: Outbox, sites: Sites) -> Mapping[str, Handler]:
    async def notify_disabled(job: Job) -> None:
        """After a crash the email may be queued twice, which is better than not at all."""
        wanted = {"id": job.payload["webhook_id"]}
        found = await records.find(webhook_subscriptions, wanted, tenant_id=job.tenant_id)
        owner = await owner_of(records, job.tenant_id)
        # Deleted, or enabled again, in the meantime.
        if not found or not found[0]["disabled_at"] or owner is None:
            return
        site, subscription = await sites.of(job.tenant_id), found[0]
        mail = write_email(
            "webhook_disabled",
            site,
            owner["email"],
            webhook_name=subscription["name"],
            # Only the host: the URL may hold a key, and a mail scanner would open it.
            receiver=urlsplit(subscription["url"]).hostname,
            webhook_url=f"{site.url}/admin/webhooks/{subscription['id']}",
            failures=subscription["failure_count"],
        )
        async with records.unit(system(job.tenant_id)) as unit:
            await outbox.queue(unit, mail)

    return {NOTIFY_DISABLED: notify_disabled}
