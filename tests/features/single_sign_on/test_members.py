"""Readers sign in with a provider of the site: which member they are, and whether they may join."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from tests.faces.admin.visitor import OWN, Visitor, token_in
from tests.features.single_sign_on.conftest import Outside, Site, site_with
from tests.features.single_sign_on.provider import Provider

from masthead.features.members.collection import blog_members
from masthead.features.single_sign_on.collection import sign_in_links
from masthead.features.single_sign_on.members import ANOTHER, NO_ACCOUNT, OTHER_DOMAIN, UNVERIFIED

BEGIN = "/member/sign-in/with/news"


@pytest.fixture
async def site(outside: Outside, provider: Provider) -> Site:
    return await site_with(await outside.world.new_tenant("news"), provider, used_by="members")


async def sign_in(
    site: Site, browser: Visitor | None = None, query: str = "", **claims: Any
) -> httpx.Response:
    browser = browser or site.browser()
    answer = await browser.get(f"{BEGIN}{query}")
    assert answer.status_code == 303, answer.text
    return await browser.get(site.provider.authorize(answer.headers["location"], **claims))


async def members(site: Site) -> list[dict[str, Any]]:
    records = site.world.parts.records
    return await records.find(blog_members, {}, tenant_id=site.tenant.id, limit=9)


async def links(site: Site) -> list[dict[str, Any]]:
    records = site.world.parts.records
    return await records.find(sign_in_links, {}, tenant_id=site.tenant.id, limit=9)


async def is_in(browser: Visitor) -> bool:
    return (await browser.get("/member/account")).status_code == 200


async def test_a_reader_joins_with_a_verified_address(site: Site) -> None:
    browser = site.browser()
    answer = await sign_in(site, browser, "?back=/posts/hello")
    assert (answer.status_code, answer.headers["location"]) == (303, "/posts/hello")
    assert await is_in(browser)
    [member] = await members(site)
    assert (member["email"], member["verified"]) == ("ada@example.com", True)
    assert (member["newsletter"], member["tier"]) == (False, "free")
    # As for everyone who joins without a newsletter.
    assert await site.tenant.event_names() == []
    # The next time it is the same member, whatever the address.
    assert (await sign_in(site, email=None)).status_code == 303
    assert len(await members(site)) == 1


@pytest.mark.parametrize(
    ("back", "locale", "language"),
    [
        ("/posts/hello", "fr-CA", "fr"),
        ("/posts/hello", "pt_BR", "pt-BR"),
        ("/fr/posts/hello", "pt-BR", "fr"),
        ("/posts/hello", "de", ""),
        ("/posts/hello", "ja", ""),
        ("/posts/hello", ["fr"], ""),
        ("/posts/hello", "français!", ""),
        ("/posts/hello", None, ""),
    ],
)
async def test_a_member_has_the_language_of_the_page_or_of_the_provider(
    site: Site, back: str, locale: object, language: str
) -> None:
    await site.tenant.settings(language="de", languages=["fr", "pt-BR"])
    await sign_in(site, None, f"?back={back}", locale=locale)
    [member] = await members(site)
    assert member["language"] == language


async def test_a_session_of_a_reader_opens_no_admin(site: Site) -> None:
    await site.tenant.owner(email="ada@example.com", role="editor")
    browser = site.browser()
    await sign_in(site, browser)
    assert (await browser.get("/admin/posts")).status_code == 303
    [link] = await links(site)
    assert (link["used_by"], link["staff_id"]) == ("members", "")


async def test_a_member_is_found_by_a_verified_address(site: Site) -> None:
    member = await site.tenant.member(email="ada@example.com")
    for claims in ({"email_verified": False}, {"email_verified": None}, {"email": None}):
        refused = await sign_in(site, **claims)
        assert refused.status_code == 422
        assert UNVERIFIED.partition(".")[0] in refused.text
    browser = site.browser()
    assert (await sign_in(site, browser)).status_code == 303
    [link] = await links(site)
    assert link["member_id"] == member.id
    # Somebody else with the address of a member who is connected.
    refused = await sign_in(site, sub="eve")
    assert ANOTHER.partition(".")[0] in refused.text


async def test_a_password_from_before_the_address_was_verified_goes(site: Site) -> None:
    """Somebody may have made the account with an address that is not theirs, and wait in it."""
    thief = await site.tenant.member(email="ada@example.com", verified=False)
    assert (await sign_in(site)).status_code == 303
    [member] = await members(site)
    assert (member["verified"], member["password_hash"]) == (True, "")
    refreshed = await thief.api.post("/api/collections/blog_members/auth-refresh")
    assert refreshed.status_code == 401


async def test_nobody_joins_where_the_site_or_the_provider_is_closed(site: Site) -> None:
    await site.tenant.settings(members_enabled=False)
    answer = await sign_in(site)
    assert answer.status_code == 422
    await site.tenant.settings(members_enabled=True)
    await site.change(creates_accounts=False)
    assert NO_ACCOUNT.partition(".")[0] in (await sign_in(site)).text
    await site.change(creates_accounts=True, domains=["news.example"])
    assert OTHER_DOMAIN in (await sign_in(site)).text
    assert (await members(site), await links(site)) == ([], [])


async def test_an_answer_for_staff_is_none_for_readers(site: Site) -> None:
    await site.change(used_by="both")
    browser = site.browser()
    back = site.provider.authorize(await site.depart(browser))
    sealed = browser.api.cookies["mh_sign_on"]
    there = site.browser()
    there.api.cookies.set("mh_member_sign_on", sealed, domain=site.tenant.host)
    answer = await there.get(back.replace("/admin/", "/member/"))
    assert (answer.status_code, site.provider.exchanges) == (422, [])
    # And the other way round.
    began = await browser.get(BEGIN)
    back = site.provider.authorize(began.headers["location"])
    sealed = browser.api.cookies["mh_member_sign_on"]
    there = site.browser()
    there.api.cookies.set("mh_sign_on", sealed, domain=site.tenant.host)
    assert (await there.get(back.replace("/member/", "/admin/"))).status_code == 422
    assert site.provider.exchanges == []


async def test_an_answer_counts_once_and_in_one_browser(site: Site) -> None:
    browser = site.browser()
    began = await browser.get(BEGIN)
    back = site.provider.authorize(began.headers["location"])
    assert (await site.browser().get(back)).status_code == 422
    sealed = browser.api.cookies["mh_member_sign_on"]
    assert (await browser.get(back)).status_code == 303
    again = site.browser()
    again.api.cookies.set("mh_member_sign_on", sealed, domain=site.tenant.host)
    answer = await again.get(back)
    assert answer.status_code == 422
    assert "pb_member_auth" not in answer.headers.get("set-cookie", "")


@pytest.mark.parametrize("onward", ["https://evil.test", "//evil.test", "/\\evil.test", "/a/../.."])
async def test_no_reader_is_led_elsewhere(site: Site, onward: str) -> None:
    answer = await sign_in(site, query=f"?back={onward}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")


async def test_a_provider_that_is_down_is_told_to_readers(site: Site) -> None:
    await site.provider.receiver.refuse()
    answer = await site.browser().get(BEGIN)
    assert answer.status_code == 422
    assert "gave no usable answer" in answer.text
    assert "Sign in another way" in answer.text


async def test_the_pages_of_readers_have_the_buttons(site: Site) -> None:
    page = (await site.browser().get("/member/sign-in?back=/posts/hello")).text
    assert f'href="{BEGIN}?back=%2Fposts%2Fhello"' in page
    assert "Sign in with News ID" in page
    await site.change(used_by="staff")
    assert "News ID" not in (await site.browser().get("/member/sign-in")).text
    assert (await site.browser().get(BEGIN)).status_code == 404


async def test_a_member_removes_the_provider_from_the_account(site: Site) -> None:
    browser = site.browser()
    await sign_in(site, browser)
    page = (await browser.get("/member/account")).text
    assert "News ID" in page
    [link] = await links(site)
    form = {"form_token": token_in(page), "connection": link["id"]}
    other = site.browser()
    await sign_in(site, other, sub="eve", email="eve@example.com")
    theirs = {"form_token": token_in((await other.get("/member/account")).text)}
    refused = await other.api.post(
        "/member/account/connections", data={**theirs, "connection": link["id"]}, headers=OWN
    )
    assert refused.status_code == 404
    answer = await browser.api.post("/member/account/connections", data=form, headers=OWN)
    assert answer.status_code == 303
    assert [each["subject"] for each in await links(site)] == ["eve"]
