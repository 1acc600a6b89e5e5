"""Requests exports and deletions in tests, and reads the emails that were sent."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import httpx
import msgspec
import sqlalchemy as sa
from tests.world import TenantWorld, World

from masthead.base.config.values import GdprHeaderAuth
from masthead.base.ids import TenantId
from masthead.engine.jobs.runner import JobRunner
from masthead.engine.records.collection import Record
from masthead.features.privacy.collection import gdpr_requests
from masthead.outside.mail.message import RenderedMail
from masthead.outside.mail.tables import mails
from masthead.service.app import http_app
from masthead.service.background import job_handlers, job_runner
from masthead.storage.database import EVERY_TENANT
from masthead.web.asgi import ASGIApp

EXPORT, DELETE = "/api/gdpr/export", "/api/gdpr/delete"
PHRASE = "DELETE MY DATA"


def with_header_auth(world: World, mode: GdprHeaderAuth) -> ASGIApp:
    """The same service with this value of `MASTHEAD_GDPR_HEADER_AUTH`."""
    settings = replace(world.parts.settings, gdpr_header_auth=mode)
    return http_app(msgspec.structs.replace(world.parts, settings=settings))


def outsider(tenant: TenantWorld, *, app: Any = None, address: str = "") -> httpx.AsyncClient:
    """Knows the tenant's id and nothing else."""
    client = tenant.world.client("localhost", app=app, address=address)
    client.headers["x-tenant-id"] = tenant.id
    return client


def deletion(tenant: TenantWorld, **values: Any) -> dict[str, Any]:
    return {
        "type": "tenant",
        "confirmation_phrase": PHRASE,
        "tenant_slug": tenant.slug,
    } | values


def member_deletion(member_id: str) -> dict[str, Any]:
    return {"type": "member", "member_id": member_id, "confirmation_phrase": PHRASE}


@dataclass(frozen=True)
class Mailed:
    rendered: RenderedMail

    @property
    def to(self) -> str:
        return self.rendered.to

    def link(self, ending: str) -> str:
        """The path and query of the link whose path ends so; the same in text and HTML."""
        pattern = rf"http://localhost(/api/gdpr/\S*?{ending}\?token=[\w-]+)"
        (in_text,) = set(re.findall(pattern, self.rendered.text))
        assert in_text in self.rendered.html
        return str(in_text)


async def mails_of(world: World, tenant_id: str) -> list[Mailed]:
    database = world.parts.database
    statement = database.compile(
        sa.select(mails.c.id)
        .where(mails.c.tenant_id == sa.bindparam("tenant"))
        .order_by(mails.c.created, mails.c.id)
    )
    rows = await database.fetch(EVERY_TENANT, statement, (tenant_id,))
    found = [await world.parts.mail.get(TenantId(tenant_id), row[0]) for row in rows]
    return [Mailed(each.rendered) for each in found if each is not None]


async def only_mail(world: World, tenant_id: str) -> Mailed:
    (mail,) = await mails_of(world, tenant_id)
    return mail


async def request_of(world: World, request_id: str) -> Record:
    (found,) = await world.parts.records.find(gdpr_requests, {"id": request_id})
    return found


async def run_jobs(world: World, ahead: timedelta = timedelta()) -> None:
    """`ahead`: by so much, the clock is put back when all due jobs are claimed."""
    if ahead:
        handlers = job_handlers(world.parts)
        await JobRunner(world.parts.database, handlers, lambda: world.clock() + ahead).run_due()
    runner = job_runner(world.parts)
    while await runner.run_due():
        pass
