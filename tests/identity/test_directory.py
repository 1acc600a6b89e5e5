"""The directory of tenants: found by slug, id and domain, and never out of date."""

from __future__ import annotations

from tests.world import Account, TenantWorld, World, records_of

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
