"""Paid levels in the admin: of posts, of members, and access that is given until a day."""

from __future__ import annotations

import pytest
from tests.faces.admin.filled_form import filled
from tests.faces.admin.visitor import Visitor, hidden_in, staff
from tests.faces.reader.test_levels import levels_of
from tests.world import TenantWorld

from masthead.engine.records.collection import Record


@pytest.fixture
async def levels(tenant: TenantWorld) -> dict[str, str]:
    return await levels_of(tenant)


@pytest.fixture
async def browser(tenant: TenantWorld) -> Visitor:
    return (await staff(tenant, "owner", name="Nell Ashby"))[0]


async def stored(tenant: TenantWorld, name: str, record_id: str) -> Record:
    world = tenant.world
    [found] = await world.parts.records.find(
        world.collection(name), {"id": record_id}, tenant_id=tenant.id
    )
    return found


async def test_a_post_for_paid_members_is_for_the_ticked_tiers(
    tenant: TenantWorld, browser: Visitor, levels: dict[str, str]
) -> None:
    post = await tenant.post()
    url = f"/admin/posts/{post['id']}"
    form = filled((await browser.get(f"{url}?as=html")).text)
    ticked = {f"tiers.{levels['gold']}": "on"}
    await browser.follow(await browser.post(url, form | ticked | {"visibility": "paid"}))
    assert (await stored(tenant, "posts", post["id"]))["tiers"] == [levels["gold"]]
    page = (await browser.get(f"{url}?as=html")).text
    assert f'name="tiers.{levels["gold"]}"' in page
    preview = (await browser.get(f"{url}/preview?as=paid")).text
    assert "With the tier" in preview
    assert "Paid members read only the title" in preview
    # Other readers: the ticks are hidden, and mean nothing.
    form = filled(page)
    await browser.follow(await browser.post(url, form | ticked | {"visibility": "members"}))
    after = await stored(tenant, "posts", post["id"])
    assert (after["visibility"], after["tiers"]) == ("members", [])


async def test_a_site_without_tiers_asks_for_none(tenant: TenantWorld, browser: Visitor) -> None:
    post = await tenant.post()
    assert "has_tiers" not in (await browser.get(f"/admin/posts/{post['id']}?as=html")).text
    member = await tenant.member()
    page = (await browser.get(f"/admin/members/{member.id}")).text
    assert 'name="tier_id"' not in page
    assert 'name="access_tier_id"' not in page


async def test_publishing_for_others_forgets_the_tiers(
    tenant: TenantWorld, browser: Visitor, levels: dict[str, str]
) -> None:
    post = await tenant.post(visibility="paid", tiers=[levels["gold"]])
    url = f"/admin/posts/{post['id']}/publish"
    page = (await browser.get(url)).text
    assert "Paid members with one of its tiers can read it." in page
    form = hidden_in(page) | {"what": "publish", "visibility": "public", "to": "site"}
    shown = await browser.post(url, form)
    if shown.status_code == 200:
        # The sentence is shown again before it is done.
        shown = await browser.post(url, form | hidden_in(shown.text))
    await browser.follow(shown)
    after = await stored(tenant, "posts", post["id"])
    assert (after["status"], after["visibility"], after["tiers"]) == ("published", "public", [])


async def test_access_is_given_until_the_end_of_a_day_and_taken_back(
    tenant: TenantWorld, browser: Visitor, levels: dict[str, str]
) -> None:
    await tenant.settings(time_zone="Europe/Berlin")
    member = await tenant.member()
    url = f"/admin/members/{member.id}"
    given = {"do": "give", "access_tier_id": levels["gold"], "access_until": "2027-01-31"}
    page = await browser.follow(await browser.post(f"{url}/access", given))
    assert "Gold, until 31 January 2027" in page
    record = await stored(tenant, "blog_members", member.id)
    assert (record["tier"], record["tier_id"]) == ("paid", levels["gold"])
    assert record["access_until"] == "2027-01-31T23:00:00.000Z"
    page = await browser.follow(await browser.post(f"{url}/access", {"do": "end"}))
    assert "until 31 January 2027" not in page
    assert (await stored(tenant, "blog_members", member.id))["tier"] == "free"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"access_until": ""}, "Choose a day."),
        ({"access_until": "2020-01-01"}, "Choose a day that is not over."),
        ({"access_until": "9999-12-31"}, "Choose a day."),
        ({"access_until": "2030-01-01", "access_tier_id": "x"}, "Choose one of the tiers."),
        (
            {"access_until": "2030-01-01", "access_tier_id": "zzzzzzzzzzzzzzz"},
            "Choose one of the tiers.",
        ),
    ],
)
async def test_access_that_cannot_be_given_says_why(
    tenant: TenantWorld,
    browser: Visitor,
    levels: dict[str, str],
    given: dict[str, str],
    said: str,
) -> None:
    member = await tenant.member()
    answer = await browser.post(f"/admin/members/{member.id}/access", {"do": "give", **given})
    assert answer.status_code == 422
    assert said in answer.text
    assert (await stored(tenant, "blog_members", member.id))["tier"] == "free"


async def test_the_list_shows_the_members_of_a_tier(
    tenant: TenantWorld, browser: Visitor, levels: dict[str, str]
) -> None:
    await tenant.member(tier="paid", tier_id=levels["gold"], name="Gilda")
    await tenant.member(tier="paid", tier_id=levels["silver"], name="Sid")
    page = (await browser.get(f"/admin/members?level={levels['gold']}")).text
    assert "Gilda" in page
    assert "Sid" not in page
    assert "Any paid tier" in page


async def test_owners_change_the_tier_by_hand(
    tenant: TenantWorld, browser: Visitor, levels: dict[str, str]
) -> None:
    member = await tenant.member()
    url = f"/admin/members/{member.id}"
    by_hand = {"tier": "paid", "tier_id": levels["silver"]}
    page = await browser.follow(await browser.post(url, by_hand))
    assert "Silver, Active" in page
    await browser.follow(await browser.post(url, by_hand | {"tier": "free"}))
    assert (await stored(tenant, "blog_members", member.id))["tier_id"] == ""


@pytest.mark.parametrize("role", ["editor", "author"])
async def test_only_owners_give_access(
    tenant: TenantWorld, levels: dict[str, str], role: str
) -> None:
    visitor = (await staff(tenant, role, name="Edith"))[0]
    member = await tenant.member()
    given = {"do": "give", "access_until": "2030-01-01"}
    answer = await visitor.post(f"/admin/members/{member.id}/access", given)
    assert answer.status_code in (403, 404)
    assert (await stored(tenant, "blog_members", member.id))["tier"] == "free"
