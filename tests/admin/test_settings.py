"""The settings of a site in the admin: the site follows at once, and only owners change them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.admin.visitor import Visitor, staff
from tests.world import TenantWorld

from masthead.records.collection import Record
from masthead.site.collection import site_settings

SETTINGS = "/admin/settings"
FORM = {
    "site_name": "Tideline",
    "site_description": "A magazine of the coast",
    "language": "en-GB",
    "time_zone": "Europe/Lisbon",
    "accent_color": "",
    "has_navigation": "1",
    "has_members_enabled": "1",
    "members_enabled": "on",
    "has_comments_enabled": "1",
    "comments_enabled": "on",
    "comments_by": "members",
    "comments_moderation": "guests",
}


async def stored(tenant: TenantWorld) -> Record:
    [found] = await tenant.world.parts.records.find(site_settings, {}, tenant_id=tenant.id)
    return found


async def saved(owner: Visitor, **form: Any) -> str:
    return await owner.follow(await owner.post(SETTINGS, FORM | form))


class TestSite:
    async def test_the_site_follows_at_once(self, tenant: TenantWorld) -> None:
        await tenant.published(title="Fog")
        owner, _ = await staff(tenant, "owner")
        before = (await tenant.guest.get("/")).text
        assert ("Tideline" in before, "/about" in before) == (False, False)
        links = {"navigation.0.label": "About us", "navigation.0.url": "/about"}
        page = await saved(owner, accent_color="#00695c", **links)
        assert "Saved. The site shows it already." in page
        after = (await tenant.guest.get("/")).text
        assert "Tideline" in after
        assert "A magazine of the coast" in after
        assert 'lang="en-GB"' in after
        assert "accent-00695c.css" in after
        assert '<a href="/about"' in after

    async def test_the_form_shows_what_is_stored(self, tenant: TenantWorld) -> None:
        owner, _ = await staff(tenant, "owner")
        await saved(
            owner,
            **{
                "navigation.0.label": "About",
                "navigation.0.url": "/about",
                "navigation.3.label": "Shop",
                "navigation.3.url": "https://shop.example",
                "comments_by": "everyone",
            },
        )
        page = (await owner.get(SETTINGS)).text
        assert 'name="navigation.1.url" value="https://shop.example"' in page
        assert 'name="navigation.3.label" value=""' in page
        assert '<option value="Europe/Lisbon" selected>' in page
        assert 'name="comments_by" value="everyone" checked' in page

    async def test_switches_that_are_off_are_saved_as_off(self, tenant: TenantWorld) -> None:
        owner, _ = await staff(tenant, "owner")
        form = {name: value for name, value in FORM.items() if name != "comments_enabled"}
        await owner.follow(await owner.post(SETTINGS, form))
        record = await stored(tenant)
        assert (record["comments_enabled"], record["members_enabled"]) == (False, True)

    @pytest.mark.parametrize(
        ("form", "field"),
        [
            ({"site_name": ""}, "site_name"),
            ({"language": "not a tag"}, "language"),
            ({"time_zone": "Mars/Olympus"}, "time_zone"),
            ({"accent_color": "red"}, "accent_color"),
            (
                {"navigation.0.label": "Bad", "navigation.0.url": "javascript:alert(1)"},
                "navigation",
            ),
            ({"navigation.0.label": "", "navigation.0.url": "/x"}, "navigation"),
            ({"comments_by": "robots"}, "comments_by"),
        ],
    )
    async def test_what_is_wrong_is_said_at_its_field(
        self, tenant: TenantWorld, form: dict[str, str], field: str
    ) -> None:
        owner, _ = await staff(tenant, "owner")
        before = await stored(tenant)
        answer = await owner.post(SETTINGS, FORM | form)
        assert answer.status_code == 422
        assert f'id="{field}-error"' in answer.text
        assert 'value="Tideline"' in answer.text or field == "site_name"
        assert await stored(tenant) == before

    async def test_a_colour_that_is_hard_to_read_is_shown_as_the_site_adjusts_it(
        self, tenant: TenantWorld
    ) -> None:
        owner, _ = await staff(tenant, "owner")
        page = await saved(owner, accent_color="#ffee00")
        style = (await tenant.guest.get("/assets/site/accent-ffee00.css")).text
        light, dark = style.partition("light-dark(")[2].partition(")")[0].split(",")
        assert f"<code>{light}</code>" in page
        assert f"<code>{dark}</code>" in page
        assert "the site darkens it" in page
        assert "the site lightens it" not in page

    async def test_a_colour_is_checked_while_it_is_typed(self, tenant: TenantWorld) -> None:
        owner, _ = await staff(tenant, "owner")
        path = f"{SETTINGS}/accent?accent_color=%23ffee00"
        answer = await owner.get(path, **{"hx-request": "true"})
        assert "the site darkens it" in answer.text
        assert "<html" not in answer.text
        for text in ("%23ff", '"><b>', ""):
            path = f"{SETTINGS}/accent?accent_color={text}"
            answer = await owner.get(path, **{"hx-request": "true"})
            assert (answer.status_code, "<figure" in answer.text) == (200, False)


PAGES = ("", "/keys")


@pytest.mark.parametrize("role", ["editor", "author"])
async def test_settings_are_for_owners_alone(tenant: TenantWorld, role: str) -> None:
    browser, _ = await staff(tenant, role)
    before = await stored(tenant)
    assert SETTINGS not in (await browser.get("/admin/more")).text
    for path in PAGES:
        assert (await browser.get(SETTINGS + path)).status_code == 404
        assert (await browser.post(SETTINGS + path, FORM)).status_code == 404
    assert await stored(tenant) == before


async def test_a_form_of_one_site_does_not_change_another(
    tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    owner, account = await staff(tenant, "owner")
    before = await stored(other_tenant)
    foreign = other_tenant.world.client(other_tenant.host)
    foreign.cookies.set("pb_auth", account.token, domain=other_tenant.host)
    form = {"form_token": await owner.token(), **FORM}
    answer = await foreign.post(SETTINGS, data=form, headers={"sec-fetch-site": "same-origin"})
    assert answer.status_code == 401
    assert await stored(other_tenant) == before
