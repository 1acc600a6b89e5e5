"""Emails that a job writes about a record, to the owner of its site or to the member that it is, if
they are still true when it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import msgspec

from masthead.base.caller import system
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Collection, Record
from masthead.engine.records.engine import Records
from masthead.features.site.address import Site, Sites
from masthead.identity.owners import owner_of
from masthead.outside.mail.message import Mail
from masthead.outside.mail.outbox import Outbox


class Notice(msgspec.Struct, frozen=True):
    collection: Collection
    named: str
    """The name of the record's id in the job's payload."""
    is_true: Callable[[Record], bool]
    write: Callable[[Record, Site, str], Mail]
    """Makes the email to an address."""
    is_for_owner: bool = True


def handlers(
    records: Records, outbox: Outbox, sites: Sites, notices: Mapping[str, Notice]
) -> Mapping[str, Handler]:
    async def send(notice: Notice, job: Job) -> None:
        """After a crash the email may be queued twice, which is better than not at all."""
        key = {"id": job.payload[notice.named]}
        found = await records.find_one(notice.collection, key, tenant_id=job.tenant_id)
        # Deleted, or no longer so, in the meantime.
        if found is None or not notice.is_true(found):
            return
        to = await owner_of(records, job.tenant_id) if notice.is_for_owner else found
        if to is not None:
            site = await sites.of(job.tenant_id)
            own = site.for_staff(to) if notice.is_for_owner else site
            mail = notice.write(found, own, to["email"])
            async with records.unit(system(job.tenant_id)) as unit:
                await outbox.queue(unit, mail)

    return {kind: partial(send, notice) for kind, notice in notices.items()}
