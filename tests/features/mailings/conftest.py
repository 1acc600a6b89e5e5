"""Services that send newsletters to a real mail server on loopback."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
import sqlalchemy as sa
from tests.databases import fresh_url
from tests.every_row import delete_every_row
from tests.outside.mail.postbox import Postbox
from tests.v1.keys import key_client
from tests.world import START, TenantWorld, World, open_world

from masthead.engine.records.collection import Record
from masthead.features.mailings.tables import mailing_recipients
from masthead.service.background import job_runner, mailing_worker
from masthead.storage.database import scope_of

MAILINGS = "/api/v1/mailings"


@dataclass
class Press:
    """A site, its key for mailings, and the mail server that gets its emails."""

    world: World
    tenant: TenantWorld
    api: httpx.AsyncClient
    postbox: Postbox

    async def readers(self, number: int, prefix: str = "reader", **values: Any) -> list[Record]:
        return [
            await self.tenant.create(
                "blog_members",
                {"email": f"{prefix}{each}@example.com", "newsletter": True} | values,
            )
            for each in range(number)
        ]

    async def mail(self, post: Record, **body: Any) -> dict[str, Any]:
        answer = await self.api.post(MAILINGS, json={"post_id": post["id"], **body})
        assert answer.status_code == 202, answer.text
        data: dict[str, Any] = answer.json()["data"]
        return data

    async def send(self) -> int:
        """As the worker does, with all its jobs."""
        sent = await mailing_worker(self.world.parts).run_due()
        runner = job_runner(self.world.parts)
        while await runner.run_due():
            pass
        return sent

    async def state(self, mailing: dict[str, Any]) -> dict[str, Any]:
        answer = await self.api.get(f"{MAILINGS}/{mailing['id']}")
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    async def recipients(self, mailing: dict[str, Any]) -> dict[str, tuple[str, str]]:
        """State and reply, by member."""
        r = mailing_recipients.c
        database = self.world.parts.database
        wanted = sa.select(r.member_id, r.state, r.reply).where(
            r.mailing_id == sa.bindparam("mailing")
        )
        statement = database.compile(wanted)
        rows = await database.fetch(scope_of(self.tenant.id), statement, (mailing["id"],))
        return {row[0]: (row[1], row[2]) for row in rows}

    @property
    def addresses(self) -> list[str]:
        """Who got an email."""
        return [each.rcpt_tos[0] for each in self.postbox.envelopes]


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
async def press_world(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[World, Postbox]]:
    folder = tmp_path_factory.mktemp("press")
    async with Postbox() as postbox:
        url = fresh_url(request.param, folder)
        environ = {"MASTHEAD_SMTP_URL": f"smtp://127.0.0.1:{postbox.port}"}
        world = await open_world(url, folder, **environ)
        yield world, postbox
        await world.parts.close()


@pytest.fixture
async def press(press_world: tuple[World, Postbox]) -> Press:
    """Without a row and without an email of earlier tests."""
    world, postbox = press_world
    world.clock.moment = START
    await delete_every_row(world.parts.database)
    for each in (postbox.letters, postbox.envelopes, postbox.refusals, postbox.second_thoughts):
        each.clear()
    postbox.unknown.clear()
    postbox.no_mailbox = Postbox.no_mailbox
    postbox.silent.clear()
    postbox.is_answering.set()
    postbox.most_connections, postbox.turned_away = Postbox.most_connections, 0
    tenant = await world.new_tenant("coast")
    api = await key_client(tenant, "mailings:read", "mailings:write")
    return Press(world, tenant, api, postbox)
