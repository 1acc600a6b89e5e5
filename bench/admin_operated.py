"""What operators and owners look after, for `bench.admin`: other sites, keys with their calls, the
audit log, errors of requests and jobs that have failed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

from bench.admin_fill import Made, fill, insert, moments
from masthead.base import clock
from masthead.base.caller import system
from masthead.base.ids import TenantId, new_id
from masthead.engine.audit.collection import audit_log
from masthead.engine.jobs.tables import jobs, new_job
from masthead.engine.records.accounts import credentials
from masthead.engine.records.changes import Tally
from masthead.engine.records.derived.daily_counts import DailyCounts, day_of
from masthead.identity.api_keys import create_key
from masthead.identity.call_counts import API_CALLS
from masthead.identity.limits.plans import Plan
from masthead.identity.setup import NewTenant, create_tenant
from masthead.identity.tenants import superusers
from masthead.service.services import Services

TENANTS, KEYS, ERRORS, JOBS, ENTRIES = 200, 12, 200, 1_000, 20_000
_SUBJECTS = ("posts", "posts", "posts", "pages", "media", "site_settings", "products")


async def seed(
    parts: Services, tenant_id: TenantId, staff: Sequence[str], posts: int
) -> dict[str, str]:
    now = parts.records.clock()
    await fill(parts, tenant_id, audit_log, _entries(min(ENTRIES, posts), staff, now))
    await insert(parts, jobs, _jobs(tenant_id, now))
    await _errors(parts, tenant_id)
    invited = await parts.records.create(
        system(tenant_id), superusers, {"email": "invited@big.example"}, stamped=credentials("")
    )
    return {
        "error": "request-0",
        "_superusers-invited": str(invited["id"]),
        "tenants-invited": await _tenants(parts, min(TENANTS, posts)),
        "api_keys": await _keys(parts, tenant_id, now),
    }


async def _tenants(parts: Services, count: int) -> str:
    for number in range(count):
        new = NewTenant(
            slug=f"site-{number}",
            name=f"Site {number}",
            plan=list(Plan)[number % len(Plan)],
            owner_email=f"owner{number}@sites.example",
            owner_password="",
        )
        made = await create_tenant(parts.records, new, system())
    return str(made.tenant_id)


async def _keys(parts: Services, tenant_id: TenantId, now: datetime) -> str:
    made = []
    for number in range(KEYS):
        key, _ = await create_key(parts.records, tenant_id, f"Key {number}", ["posts:read"])
        made.append(str(key["id"]))
    await DailyCounts(parts.database).add_all(
        (tenant_id, Tally(API_CALLS, day_of(now - timedelta(days=day)), subject, 1_000 + day))
        for day in range(30)
        for subject in (*made, "")
    )
    return made[0]


def _entries(count: int, staff: Sequence[str], now: datetime) -> Iterator[Made]:
    at = moments(count, now, timedelta(days=300))
    for number in range(count):
        place = number % len(staff)
        stamped = {
            "account_id": staff[place],
            "email": f"author{place}@big.example",
            "role": "author",
            "address": "203.0.113.7",
            "action": "changed",
            "subject": _SUBJECTS[number % len(_SUBJECTS)],
            "record_id": str(new_id()),
            "label": f"Post {number}",
            "changed": ["title"],
            "created": at(number),
            "updated": at(number),
        }
        yield {}, stamped


def _jobs(tenant_id: TenantId, now: datetime) -> Iterator[dict[str, Any]]:
    failed_at = clock.to_text(now - timedelta(hours=1))
    for _ in range(JOBS):
        job = new_job(tenant_id, "media.copies", {}, failed_at)
        yield {**job, "failed_at": failed_at, "attempts": 9, "error": "OSError"}


async def _errors(parts: Services, tenant_id: TenantId) -> None:
    for number in range(ERRORS):
        try:
            raise ZeroDivisionError
        except ZeroDivisionError as error:
            path = f"/posts/post-{number}"
            parts.error_log.record(error, f"request-{number}", tenant_id, "GET", path=path)
        if number % 50 == 49:
            await parts.error_log.flush()
