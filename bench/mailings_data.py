"""The sites of `bench.mailings`: one whose members get a newsletter, and another one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

import sqlalchemy as sa

from bench.privacy_data import SMALL, TEXT
from masthead.base.caller import system
from masthead.base.ids import TenantId, new_id
from masthead.features.members.collection import blog_members
from masthead.features.posts.collection import posts
from masthead.identity.api_keys import create_key
from masthead.identity.limits.plans import Plan
from masthead.identity.scopes import SCOPES
from masthead.identity.setup import NewTenant, create_tenant
from masthead.identity.tenants import tenants
from masthead.service.schema import tables
from masthead.service.services import Services
from masthead.storage.database import scope_of

BIG: Final = "big"
BATCH: Final = 5_000
DOMAINS: Final = 500
"""Of the members' addresses."""
MAILED: Final = 2
"""Posts that are there to be sent."""
_PLENTY: Final = 1_000_000_000
_UNREACHED: Final = {"per_minute": _PLENTY, "per_hour": _PLENTY, "per_day": _PLENTY}


@dataclass(frozen=True)
class Sites:
    post_ids: list[str]
    big_key: str
    small_key: str


async def seed(parts: Services, members: int) -> Sites:
    big, small = [await _tenant(parts, slug) for slug in (BIG, SMALL)]
    await _add_members(parts, big, members)
    found = [await _publish(parts, big, number) for number in range(MAILED)]
    for number in range(200):
        await _publish(parts, small, number)
    while (await parts.records.search_index.run_batch()).indexed:
        pass
    keys = [
        (await create_key(parts.records, each, "bench", tuple(SCOPES)))[1] for each in (big, small)
    ]
    return Sites(found, *keys)


async def _tenant(parts: Services, slug: str) -> TenantId:
    new = NewTenant(
        slug=slug,
        name=slug.title(),
        plan=Plan.ENTERPRISE,
        owner_email=f"owner@{slug}.example",
        owner_password="correct horse battery",
    )
    tenant_id = (await create_tenant(parts.records, new)).tenant_id
    await parts.records.update(system(tenant_id), tenants, tenant_id, _UNREACHED)
    return tenant_id


async def _publish(parts: Services, tenant_id: TenantId, number: int) -> str:
    values = {
        "title": f"What the tide left, {number}",
        "slug": f"tide-{number}",
        "content_html": f"<h2>Monday</h2>{TEXT}" * 4,
        "status": "published",
        "visibility": "paid",
    }
    return str((await parts.records.create(system(tenant_id), posts, values))["id"])


async def _add_members(parts: Services, tenant_id: TenantId, number: int) -> None:
    """Rows, not records: their events and terms for the search are of no interest here."""
    database = parts.database
    insert = database.compile(sa.insert(tables[blog_members.name]))
    rows = _rows(tenant_id, number)
    while batch := list(islice(rows, BATCH)):
        async with database.transaction(scope_of(tenant_id)) as tx:
            await tx.execute_many(insert, [insert.bind(row) for row in batch])


def _rows(tenant_id: TenantId, number: int) -> Iterator[dict[str, Any]]:
    defaults = {each.name: each.default_value() for each in blog_members.all_fields}
    for each in range(number):
        yield {
            **defaults,
            "tenant_id": tenant_id,
            "id": new_id(),
            "email": f"member{each}@host{each % DOMAINS}.example",
            "name": f"Member {each}",
            "tier": "paid" if each % 5 == 0 else "free",
            "newsletter": True,
            "newsletters_off": "[]",
            "labels": "[]",
            "welcomed": "[]",
            "created": "2026-01-01T00:00:00.000Z",
            "updated": "2026-01-01T00:00:00.000Z",
        }
