"""Who joins or pays after following a link in a post counts for that post."""

from __future__ import annotations

import pytest
from tests.faces.reader.shop import TIERS, Shop, api, shop
from tests.features.payments.processor import Processor, joined
from tests.features.statistics.site import stats
from tests.world import Account, TenantWorld

from masthead.base.caller import system
from masthead.features.members.collection import blog_members
from masthead.features.members.sign_up import Link, Purpose, sign_up

__all__ = ["api", "shop"]


@pytest.fixture
async def member(tenant: TenantWorld) -> Account:
    return await tenant.member()


async def join(tenant: TenantWorld, way_back: str, email: str = "ann@example.com") -> None:
    link = Link(Purpose.SIGN_UP, email, "", "", newsletter=False, back=way_back)
    async with tenant.world.parts.records.unit(system(tenant.id)) as unit:
        await sign_up(unit, link, {}, page=f"http://{tenant.host}{way_back}")


async def gained(tenant: TenantWorld, post_id: str) -> tuple[int, int]:
    found = await stats(tenant, post_id=post_id)
    return found["joined"], found["paid"]


@pytest.mark.parametrize(
    "way_back",
    [
        "/posts/{slug}",
        "/posts/{slug}?comments=all",
        "/member/tiers?back=/posts/{slug}",
        "/member/tiers?back=%2Fposts%2F{slug}",
    ],
)
async def test_who_joins_from_a_post_counts_for_it(tenant: TenantWorld, way_back: str) -> None:
    fog, other = await tenant.published(title="Fog"), await tenant.published(title="Other")
    await join(tenant, way_back.format(slug=fog["slug"]))
    assert await gained(tenant, fog["id"]) == (1, 0)
    assert await gained(tenant, other["id"]) == (0, 0)
    assert (await stats(tenant))["joined"] == 1


@pytest.mark.parametrize(
    "way_back",
    [
        "/",
        "/archive",
        "/posts/made-up",
        "/posts/%00",
        "/posts/%ff",
        "/posts/draft",
        "/posts/",
        "/member/tiers?back=http://evil.example/posts/fog",
        "//evil.example/posts/other",
    ],
)
async def test_a_made_up_way_back_counts_for_nothing(tenant: TenantWorld, way_back: str) -> None:
    fog = await tenant.published(title="Fog")
    draft = await tenant.post(title="Draft", slug="draft")
    await join(tenant, way_back)
    for post in (fog, draft):
        assert await gained(tenant, post["id"]) == (0, 0)
    assert (await stats(tenant))["joined"] == 1


async def test_the_posts_of_another_site_count_for_nothing(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    theirs = await other_tenant.published(title="Theirs")
    await join(tenant, f"/posts/{theirs['slug']}")
    assert await gained(other_tenant, theirs["id"]) == (0, 0)
    found = await tenant.world.parts.records.find(blog_members, {}, tenant_id=tenant.id)
    assert [each["joined_from"] for each in found] == [""]


async def test_links_of_a_post_lead_back_to_it(shop: Shop, member: Account) -> None:
    post = await shop.tenant.published(title="Fog", visibility="paid", content_html="<p>x</p>")
    path = f"/posts/{post['slug']}"
    for reader in (shop.reader(), shop.reader(member)):
        assert f'/member/tiers?back={path}"' in (await reader.get(path)).text
    tiers = (await shop.reader().get(TIERS, params={"back": path})).text
    assert f'name="back" value="/member/tiers?back={path}"' in tiers
    assert f'href="/member/sign-in?back=/member/tiers%3Fback%3D{path}"' in tiers
    tiers = (await shop.reader(member).get(TIERS, params={"back": path})).text
    assert f'name="back" value="{path}"' in tiers
    for other in ("/archive", "https://evil.example/posts/fog", "/posts/a b"):
        tiers = (await shop.reader(member).get(TIERS, params={"back": other})).text
        assert 'name="back"' not in tiers


@pytest.mark.both_databases
async def test_who_pays_from_a_post_counts_for_it_once(shop: Shop, member: Account) -> None:
    tenant = shop.tenant
    fog, other = await tenant.published(title="Fog"), await tenant.published(title="Other")
    for post in (other, fog):
        form = {"tier": shop.tier["id"], "back": f"/posts/{post['slug']}"}
        assert (await shop.post(member, "/member/upgrade", **form)).status_code == 200
    events = [joined(metadata={"member_id": member.id})]
    processor = Processor(tenant)
    for event in (*events, *events):
        await processor.send(event)
    assert await gained(tenant, fog["id"]) == (0, 1)
    assert await gained(tenant, other["id"]) == (0, 0)
    assert (await stats(tenant))["paid"] == 1
    await tenant.update("blog_members", member.id, {"tier": "free"})
    await tenant.update("blog_members", member.id, {"tier": "paid"})
    assert await gained(tenant, fog["id"]) == (0, 1)


async def test_a_later_checkout_from_no_post_counts_for_none(shop: Shop, member: Account) -> None:
    fog = await shop.tenant.published(title="Fog")
    for back in (f"/posts/{fog['slug']}", "/posts/made-up"):
        form = {"tier": shop.tier["id"], "back": back}
        assert (await shop.post(member, "/member/upgrade", **form)).status_code == 200
    await shop.tenant.update("blog_members", member.id, {"tier": "paid"})
    assert await gained(shop.tenant, fog["id"]) == (0, 0)
