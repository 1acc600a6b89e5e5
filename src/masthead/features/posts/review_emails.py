"""The emails of reviews: to editors and owners each time a draft is ready, and to its writer when
it is sent back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence, Set
from typing import Any

from masthead.base.caller import system
from masthead.base.ids import TenantId
from masthead.base.languages.words import words
from masthead.engine.jobs.runner import Handler, Job
from masthead.engine.records.collection import Record
from masthead.engine.records.engine import Records
from masthead.features.posts.collection import posts
from masthead.features.posts.review import READY, READY_JOB, SENT_BACK_JOB
from masthead.features.site.address import Sites
from masthead.identity.tenants import Role, superusers
from masthead.outside.mail.emails import write_email
from masthead.outside.mail.outbox import Outbox

MAX_TOLD = 200
Connected = Callable[[TenantId], Awaitable[Set[str]]]
"""The accounts of a site that another provider signs in."""


def handlers(
    records: Records, outbox: Outbox, sites: Sites, connected_staff: Connected
) -> Mapping[str, Handler]:
    """After a crash an email may be queued twice, which is better than not at all."""

    async def tell_reviewers(job: Job) -> None:
        """`posts.ready`: unless it was sent back or published since."""
        post = await _unchanged(records, job)
        if post is None or post["review"] != READY:
            return
        found = [
            account
            for role in (Role.OWNER, Role.EDITOR)
            for account in await records.find(
                superusers, {"role": role}, tenant_id=job.tenant_id, limit=MAX_TOLD
            )
            if account["id"] != post["review_by"]
        ]
        await send(job.tenant_id, "post_ready", post, found)

    async def tell_writer(job: Job) -> None:
        """`posts.sent_back`: to the person who marked it, or its authors if a program did."""
        post = await _unchanged(records, job)
        if post is None or post["review"] or not post["review_note"]:
            return
        ids = [job.payload["to"]] if job.payload["to"] else post["authors"]
        found = [
            account
            for each in ids
            for account in await records.find(superusers, {"id": each}, tenant_id=job.tenant_id)
            if each != post["review_by"]
        ]
        await send(job.tenant_id, "post_sent_back", post, found)

    async def send(
        tenant_id: TenantId, template: str, post: Record, accounts: Sequence[Record]
    ) -> None:
        connected = await connected_staff(tenant_id)
        site, by = await sites.of(tenant_id), await _name(records, tenant_id, post["review_by"])
        values: dict[str, Any] = {
            "by": by,
            "title": post["title"],
            "short_title": post["title"][:80],
            "note": post["review_note"],
            "link": f"{site.url}/admin/posts/{post['id']}",
        }
        async with records.unit(system(tenant_id)) as unit:
            for each in accounts:
                # An invitation that was never accepted may have gone to the wrong address.
                if each["password_hash"] or each["id"] in connected:
                    own, to = site.for_staff(each), each["email"]
                    mail = write_email(template, own, to, name=each["name"], **values)
                    await outbox.queue(unit, mail)

    return {READY_JOB: tell_reviewers, SENT_BACK_JOB: tell_writer}


async def _unchanged(records: Records, job: Job) -> Record | None:
    found = await records.find_one(posts, {"id": job.payload["id"]}, tenant_id=job.tenant_id)
    return found if found is not None and found["review_at"] == job.payload["at"] else None


async def _name(records: Records, tenant_id: TenantId, account_id: str) -> str:
    found = await records.find_one(superusers, {"id": account_id}, tenant_id=tenant_id)
    if found is None:
        return words("A program")
    return str(found["name"]) or words("Someone on the staff")
