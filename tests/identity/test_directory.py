"""The directory of tenants: found by slug, id and domain, and never out of date."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.world import Account, TenantWorld, World, records_of

from masthead.base.ids import TenantId
from masthead.identity.limits.plans import Plan


async def test_by_slug_id_and_domain(app: World, tenant: TenantWorld) -> None:
    directory = app.parts.directory
    domain = f"{tenant.slug}.example"
    assert await directory.by_domain(domain) is None
    await tenant.settings(custom_domain=domain)
    found = [
        await directory.by_slug(tenant.slug),
        await directory.by_id(tenant.id),
        await directory.by_domain(domain),
    ]
    assert [each.id if each else None for each in found] == [tenant.id] * 3
    assert found[0] is not None
    assert found[0].plan is Plan.BUSINESS


async def test_unknown_tenants(app: World) -> None:
    directory = app.parts.directory
    assert await directory.by_slug("nope") is None
    assert await directory.by_id("") is None
    assert await directory.by_domain("") is None


async def test_a_change_is_seen_at_once(app: World, tenant: TenantWorld, operator: Account) -> None:
    directory = app.parts.directory
    assert await directory.by_slug("late-comer") is None
    before = await directory.by_slug(tenant.slug)
    await operator.api.patch(records_of("tenants", tenant.id), json={"plan": "pro"})
    after = await directory.by_slug(tenant.slug)
    assert before is not None
    assert after is not None
    assert (before.plan, after.plan) == (Plan.BUSINESS, Plan.PRO)
    made = await app.new_tenant(slug=f"late-{tenant.slug}")
    found = await directory.by_slug(made.slug)
    assert found is not None
    assert found.id == made.id


async def test_the_settings_of_a_site_are_read_once_for_each_of_its_versions(
    app: World, tenant: TenantWorld
) -> None:
    async def read() -> Any:
        version = (await app.parts.versions.of(tenant.id)).identity
        return await app.parts.directory.site_records(tenant.id, version)

    await tenant.settings(site_name="The Tern")
    first = await read()
    await tenant.published()
    assert await read() is first
    await tenant.settings(site_name="The Fulmar")
    second = await read()
    assert first.settings["site_name"] == "The Tern"
    assert second.settings["site_name"] == "The Fulmar"
    assert await app.parts.directory.site_records(TenantId("0" * 15), 0) is None


@pytest.mark.parametrize("service", ["sqlite"], indirect=True)
async def test_a_page_does_not_read_the_settings_again(app: World, tenant: TenantWorld) -> None:
    """As SQLite says itself."""
    post = await tenant.published()
    assert (await tenant.guest.get("/")).status_code == 200
    statements: list[str] = []
    database: Any = app.parts.database
    reading = database._readers._on_loop
    reading.set_trace_callback(statements.append)
    try:
        page = await tenant.guest.get(f"/posts/{post['slug']}")
    finally:
        reading.set_trace_callback(None)
    assert page.status_code == 200
    read = {name for each in statements for name in re.findall(r"FROM (\w+)", each)}
    assert {"posts", "record_counts"} <= read
    assert not {"site_settings", "tenants", "comments"} & read
