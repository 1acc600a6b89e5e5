"""`GET /api/health/domain`: which names a proxy may have certificates made for."""

from __future__ import annotations

from dataclasses import replace

import httpx
import msgspec
import pytest
from tests.world import TenantWorld, World

from masthead.service.app import http_app

PATH = "/api/health/domain"


async def status_of(client: httpx.AsyncClient, domain: str) -> int:
    answer = await client.get(PATH, params={"domain": domain})
    assert answer.headers["cache-control"] == "no-store"
    return answer.status_code


async def own_domain(tenant: TenantWorld) -> str:
    domain = f"{tenant.slug}.example.com"
    await tenant.settings(custom_domain=domain)
    return domain


async def test_names_that_are_served(app: World, tenant: TenantWorld) -> None:
    domain = await own_domain(tenant)
    client = app.client()
    for each in (tenant.host.partition(":")[0], domain, f"www.{domain}"):
        assert await status_of(client, each) == 200, each
    answer = await client.get(PATH, params={"domain": f"{domain.upper()}."})
    assert answer.json() == {"domain": domain, "served": True}


async def test_names_that_are_not(app: World, tenant: TenantWorld) -> None:
    domain = await own_domain(tenant)
    others = ("example.com", f"evil.{domain}", f"www.www.{domain}", f"{domain}:443")
    own = ("nobody-has-this.localhost", "127.0.0.1", "[::1]", "localhost")
    for each in (*others, *own):
        assert await status_of(app.client(), each) == 404, each


@pytest.mark.parametrize("domain", ["", "a b", "-", "a..b", "x" * 300, "\u00e4.example", "%00"])
async def test_what_is_no_name_is_refused(app: World, domain: str) -> None:
    assert await status_of(app.client(), domain) == 400
    assert (await app.client().get(PATH)).status_code == 400


async def test_a_wanted_domain_is_not_served_before_it_is_proven(
    app: World, tenant: TenantWorld
) -> None:
    wanted = f"{tenant.slug}.example.org"
    await tenant.settings(wanted_domain=wanted)
    assert await status_of(app.client(), wanted) == 404


async def test_www_is_another_name_where_sites_have_many(app: World, tenant: TenantWorld) -> None:
    domain = await own_domain(tenant)
    changed = msgspec.structs.replace(
        app.parts, settings=replace(app.parts.settings, canonical=False)
    )
    transport = httpx.ASGITransport(http_app(changed))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
        assert await status_of(client, domain) == 200
        assert await status_of(client, f"www.{domain}") == 404


async def test_a_proxy_may_ask_by_any_name_of_the_machine(app: World, tenant: TenantWorld) -> None:
    transport = httpx.ASGITransport(http_app(app.parts))
    async with httpx.AsyncClient(transport=transport, base_url="http://masthead:8000") as client:
        answer = await client.get(PATH, params={"domain": tenant.host.partition(":")[0]})
        assert answer.status_code == 200
