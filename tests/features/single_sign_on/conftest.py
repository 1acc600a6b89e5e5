from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from tests.databases import fresh_url
from tests.faces.admin.visitor import Visitor
from tests.features.single_sign_on.provider import CLIENT, SECRET, Provider
from tests.tls import Authority
from tests.world import START, TenantWorld, World, open_world

from masthead.base.caller import system
from masthead.engine.records.collection import Record
from masthead.features.single_sign_on.collection import sign_in_providers

START_OF = "/admin/sign-in/with/news"


@dataclass(frozen=True)
class Outside:
    """A service that may call this machine, and the authority of the certificates there."""

    world: World
    authority: Authority


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
async def outside(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Outside]:
    folder = tmp_path_factory.mktemp("sign-on")
    authority = Authority(folder)
    world = await open_world(
        fresh_url(request.param, folder),
        folder,
        MASTHEAD_OUTBOUND_ALLOW="127.0.0.0/8",
        MASTHEAD_OUTBOUND_CA_FILE=str(authority.ca_file),
    )
    yield Outside(world, authority)
    await world.parts.close()


@pytest.fixture
async def provider(outside: Outside) -> AsyncIterator[Provider]:
    outside.world.clock.moment = START
    async with Provider(outside.authority, outside.world.clock) as opened:
        yield opened


@dataclass(frozen=True)
class Site:
    tenant: TenantWorld
    provider: Provider
    record: Record

    @property
    def world(self) -> World:
        return self.tenant.world

    def browser(self) -> Visitor:
        return Visitor(self.world.client(self.tenant.host))

    async def change(self, **values: Any) -> None:
        await self.tenant.update("sign_in_providers", self.record["id"], values)

    async def depart(self, browser: Visitor, query: str = "") -> str:
        """The address at the provider that the button leads to."""
        answer = await browser.get(f"{START_OF}{query}")
        assert answer.status_code == 303, (answer.status_code, answer.text)
        return answer.headers["location"]

    async def sign_in(self, browser: Visitor | None = None, **claims: Any) -> httpx.Response:
        """The answer to the browser that comes back from the provider."""
        browser = browser or self.browser()
        location = await self.depart(browser)
        return await browser.get(self.provider.authorize(location, **claims))


async def site_with(tenant: TenantWorld, provider: Provider, **values: Any) -> Site:
    given = {
        "name": "News ID",
        "slug": "news",
        "issuer": provider.issuer,
        "client_id": CLIENT,
        "client_secret": SECRET,
        "creates_accounts": True,
        "default_role": "author",
        **values,
    }
    record = await tenant.world.parts.records.create(system(tenant.id), sign_in_providers, given)
    return Site(tenant, provider, record)


@pytest.fixture
async def site(outside: Outside, provider: Provider) -> Site:
    return await site_with(await outside.world.new_tenant("news"), provider)
