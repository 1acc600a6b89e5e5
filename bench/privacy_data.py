"""The data of the site that `bench.privacy` exports and erases, and of another tenant.

Created once; each run works on a copy.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from typing import Any

import sqlalchemy as sa

from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId, new_id
from masthead.engine.records.collection import Collection, Record
from masthead.features.comments.collection import comments
from masthead.features.media.collection import media
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.features.webhooks.collection import webhook_subscriptions
from masthead.identity.api_keys import create_key
from masthead.identity.limits.plans import Plan
from masthead.identity.scopes import SCOPES
from masthead.identity.setup import NewTenant, create_tenant
from masthead.identity.tenants import tenants
from masthead.outside.mail.account_emails import email_in_use
from masthead.service.services import Services
from masthead.storage.database import EVERY_TENANT

DOMAIN = "erased.example"
BIG, SMALL = "big", "small"
FILE_BYTES = 8 * 1024 * 1024
BATCH = 200
SMALL_POSTS = 1_000
TEXT = "<p>" + "Some words of an ordinary post. " * 60 + "</p>"
_PLENTY = 1_000_000_000
_UNREACHED = {"per_minute": _PLENTY, "per_hour": _PLENTY, "per_day": _PLENTY}


@dataclass(frozen=True)
class Size:
    posts: int
    members: int
    media_mb: int

    @property
    def comments(self) -> int:
        return self.posts // 5

    @property
    def emails(self) -> int:
        return self.members // 25


async def seed(parts: Services, size: Size) -> str:
    """Creates both tenants; returns the API key of the small one."""
    big, small = [await _tenant(parts, slug) for slug in (BIG, SMALL)]
    await _create(parts, small, posts, _posts(SMALL_POSTS))
    hook = await _subscribe(parts, big)
    await _create(parts, big, blog_members, _members(size.members))
    await _mark_delivered(parts, hook)
    await _create(parts, big, posts, _posts(size.posts))
    await _comment(parts, big, size.comments)
    await _queue_emails(parts, big, size.emails)
    await _upload(parts, big, size.media_mb)
    # In a used installation only new records wait for the search index.
    while (await parts.records.search_index.run_batch()).indexed:
        pass
    # Limits are counted at every call, but never reached.
    await parts.records.update(system(small), tenants, small, _UNREACHED)
    _, key = await create_key(parts.records, small, "bench", tuple(SCOPES))
    return key


async def tenant_of(parts: Services, slug: str) -> TenantId:
    (found,) = await parts.records.find(tenants, {"slug": slug})
    return TenantId(found["id"])


async def _tenant(parts: Services, slug: str) -> TenantId:
    new = NewTenant(
        slug=slug,
        name=slug,
        plan=Plan.ENTERPRISE,
        owner_email=f"owner@{slug}.example",
        owner_password="correct horse battery",
    )
    return (await create_tenant(parts.records, new)).tenant_id


async def _create(
    parts: Services, tenant_id: TenantId, collection: Collection, values: Iterator[Record]
) -> None:
    """Through the engine, with events, counts, tags, deliveries and search terms."""
    while batch := list(islice(values, BATCH)):
        async with parts.records.unit(system(tenant_id)) as unit:
            for each in batch:
                await unit.create(collection, each)


def _members(count: int) -> Iterator[Record]:
    for number in range(count):
        yield {"email": _address(number), "name": f"Member {number}", "newsletter": True}


def _address(number: int) -> str:
    return f"member{number}@{DOMAIN}"


def _posts(count: int) -> Iterator[Record]:
    for number in range(count):
        yield {
            "title": f"Post {number}",
            "slug": f"post-{number}",
            "content_html": TEXT,
            "status": "published",
            "tags": [f"tag {number % 100}", "everything"],
        }


async def _comment(parts: Services, tenant_id: TenantId, count: int) -> None:
    commented = await parts.records.find(posts, {}, tenant_id=tenant_id, limit=100)
    values: Iterator[Record] = (
        {
            "post_id": commented[number % len(commented)]["id"],
            "author_name": f"Member {number}",
            "author_email": _address(number),
            "body": f"A comment. Write to me: {_address(number)}",
        }
        for number in range(count if commented else 0)
    )
    await _create(parts, tenant_id, comments, values)


async def _queue_emails(parts: Services, tenant_id: TenantId, count: int) -> None:
    """Emails that wait for a retry after the end of the run."""
    async with parts.records.unit(system(tenant_id)) as unit:
        for number in range(count):
            mail = email_in_use(site_name=BIG, site_url="http://localhost", to=_address(number))
            await parts.mail.queue(unit, mail)
    later = clock.to_text(parts.records.clock() + timedelta(days=1_000))
    postpone = "UPDATE jobs SET run_at = :later WHERE tenant_id = :t"
    await _run(parts, postpone, later=later, t=tenant_id)


async def _subscribe(parts: Services, tenant_id: TenantId) -> Record:
    values = {
        "name": "hook",
        "url": f"https://hooks.{DOMAIN}/",
        "events": ["member.subscribed"],
    }
    return await parts.records.create(
        system(tenant_id), webhook_subscriptions, values, stamped={"secret": "s" * 40}
    )


async def _mark_delivered(parts: Services, hook: Record) -> None:
    """Each delivery gets a successful attempt."""
    tenant = {"t": hook["tenant_id"]}
    done = "UPDATE webhook_deliveries SET state = 'delivered', attempts = 1, last_status = 200"
    await _run(parts, f"{done} WHERE tenant_id = :t", **tenant)
    await _run(
        parts,
        "INSERT INTO webhook_attempts (tenant_id, id, delivery_id, number, status, duration_ms,"
        " answer, created) SELECT tenant_id, id, id, 1, 200, 20, 'taken', created"
        " FROM webhook_deliveries WHERE tenant_id = :t",
        **tenant,
    )
    await _run(parts, "DELETE FROM webhook_lanes WHERE tenant_id = :t", **tenant)


async def _upload(parts: Services, tenant_id: TenantId, media_mb: int) -> None:
    content = os.urandom(FILE_BYTES)
    for number in range(media_mb * 2**20 // FILE_BYTES):
        record_id, name = new_id(), f"film-{number}.mp4"
        await parts.objects.put(f"{tenant_id}/media/{record_id}/{name}", content)
        values = {"id": record_id, "file": name}
        stamped = {"filename": name, "mime_type": "video/mp4", "size": FILE_BYTES}
        await parts.records.create(system(tenant_id), media, values, stamped=stamped)


async def _run(parts: Services, sql: str, **values: Any) -> None:
    statement = parts.database.compile(sa.text(sql))
    async with parts.database.transaction(EVERY_TENANT) as tx:
        await tx.execute(statement, statement.bind(values), slow=True)
