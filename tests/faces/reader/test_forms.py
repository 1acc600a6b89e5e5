"""Forms and personal pages of the reader's site, as the pages that use them rely on."""

from __future__ import annotations

import re
from typing import Any

import httpx
import pytest
from tests.faces.reader.samples import PAGES
from tests.web.routed import nothing
from tests.world import Account, TenantWorld, World

from masthead.base.counters import CACHES
from masthead.base.errors import NotFound, RateLimited
from masthead.faces.reader.endpoint import Form, Page, Redirect, SitePages, see_other
from masthead.faces.reader.request import SiteRequest
from masthead.faces.reader.views import ErrorPage, Head
from masthead.identity.sessions import ADMIN_COOKIE, MEMBER_COOKIE
from masthead.service.app import front_door
from masthead.web.cache import AnswerCache
from masthead.web.dispatch import Dispatch

OWN = {"sec-fetch-site": "same-origin"}


def drawn(text: str, status: int = 200) -> Page:
    return Page("error.html", Head("Test"), ErrorPage(status, "Test", text), status)


async def page(request: SiteRequest) -> Page:
    return drawn(f"for {request.member['id'] if request.member else 'nobody'}")


async def with_token(_request: SiteRequest) -> Page:
    _, _, post = PAGES["post"]
    return Page("post.html", Head("Test"), post)


async def sent(request: SiteRequest, form: Form) -> Page | Redirect:
    if "wait" in form:
        raise RateLimited(30)
    if "lost" in form:
        raise NotFound
    if "wrong" in form:
        return drawn(f"typed {form['wrong']}", 422)
    by = request.member["id"] if request.member else "guest"
    return see_other(f"/done?by={by}", (b"set-cookie", b"a=b"))


@pytest.fixture
def forms(app: World) -> Any:
    pages = SitePages(
        app.parts, AnswerCache(app.parts.versions, app.parts.records.clock, counts=CACHES["site"])
    )
    routes = [
        pages.page("/page", page, personal=True),
        pages.page("/cached", page),
        pages.page("/post", with_token),
        pages.form("/form", sent, page=page),
        pages.form("/form-only", sent),
        pages.form("/open-form", sent, is_open=True),
    ]

    return front_door(app.parts, Dispatch(routes, nothing()))


def client(forms: Any, tenant: TenantWorld, account: Account | None = None) -> httpx.AsyncClient:
    return tenant.world.client(tenant.host, token=account.token if account else "", app=forms)


async def token_for(reader: httpx.AsyncClient) -> str:
    found = re.search(r'name="form_token" value="(\w+)"', (await reader.get("/post")).text)
    assert found
    return found[1]


async def test_a_form_is_answered_with_a_page_or_the_next_address(
    forms: Any, tenant: TenantWorld
) -> None:
    guest = client(forms, tenant)
    done = await guest.post("/form", data={"a": "1"}, headers=OWN)
    assert (done.status_code, done.headers["location"]) == (303, "/done?by=guest")
    assert done.headers["set-cookie"] == "a=b"
    wrong = await guest.post("/form", data={"wrong": "<b>"}, headers=OWN)
    assert wrong.status_code == 422
    assert "typed &lt;b&gt;" in wrong.text
    assert wrong.headers["cache-control"] == "private, no-store"
    assert "etag" not in wrong.headers


async def test_refusals_are_pages_of_the_site(forms: Any, tenant: TenantWorld) -> None:
    await tenant.settings(site_name="Tidewater")
    guest = client(forms, tenant)
    waiting = await guest.post("/form", data={"wait": "1"}, headers=OWN)
    assert (waiting.status_code, waiting.headers["retry-after"]) == (429, "30")
    lost = await guest.post("/form", data={"lost": "1"}, headers=OWN)
    other = await guest.post("/form", data={"a": "1"}, headers={"sec-fetch-site": "same-site"})
    long = await guest.post("/form", data={"a": "x" * 70_000}, headers=OWN)
    json = await guest.post("/form", json={}, headers=OWN)
    statuses = [each.status_code for each in (lost, other, long, json)]
    assert statuses == [404, 403, 413, 400]
    for each in (waiting, lost, other, long, json):
        assert "Tidewater" in each.text


async def test_each_address_takes_its_own_methods(forms: Any, tenant: TenantWorld) -> None:
    guest = client(forms, tenant)
    assert (await guest.get("/form")).status_code == 200
    only = await guest.get("/form-only")
    assert (only.status_code, only.headers["allow"]) == (405, "POST")
    put = await guest.put("/form", headers=OWN)
    assert (put.status_code, put.headers["allow"]) == (405, "GET, HEAD, POST")
    assert (await guest.post("/page", headers=OWN)).status_code == 405


async def test_only_forms_and_personal_pages_know_the_member(
    forms: Any, tenant: TenantWorld, member: Account
) -> None:
    reader = client(forms, tenant, member)
    mine = await reader.get("/page")
    assert f"for {member.id}" in mine.text
    assert mine.headers["cache-control"] == "private, no-store"
    assert mine.headers["referrer-policy"] == "same-origin"
    assert "etag" not in mine.headers
    assert "for nobody" in (await reader.get("/cached")).text
    assert "for nobody" in (await client(forms, tenant).get("/page")).text


async def test_staff_may_be_signed_in_as_a_member_too(
    forms: Any, tenant: TenantWorld, member: Account, owner: Account
) -> None:
    reader = client(forms, tenant)
    reader.cookies.set(ADMIN_COOKIE, owner.token)
    assert "for nobody" in (await reader.get("/page")).text
    reader.cookies.set(MEMBER_COOKIE, member.token)
    assert f"for {member.id}" in (await reader.get("/page")).text
    data = {"form_token": await token_for(reader)}
    done = await reader.post("/form", data=data, headers=OWN)
    assert done.headers["location"] == f"/done?by={member.id}"


async def test_a_signed_in_readers_form_needs_the_token_of_this_sign_in(
    app: World, forms: Any, tenant: TenantWorld, member: Account
) -> None:
    reader = client(forms, tenant, member)
    token = await token_for(reader)
    # The same account, signed in once more.
    app.clock.advance(seconds=5)
    record = await app.parts.records.find(
        app.collection("blog_members"), {"id": member.id}, tenant_id=tenant.id
    )
    again = await app.signed_in(app.collection("blog_members"), record[0], tenant.host)
    other_token = await token_for(client(forms, tenant, again))
    assert token != other_token
    for bad in ({}, {"form_token": ""}, {"form_token": "x"}, {"form_token": other_token}):
        refused = await reader.post("/form", data={"a": "1"} | bad, headers=OWN)
        assert refused.status_code == 403
        assert "Open the page again" in refused.text
    done = await reader.post("/form", data={"form_token": token}, headers=OWN)
    assert done.headers["location"] == f"/done?by={member.id}"
    opened = await reader.post("/open-form", data={"a": "1"}, headers=OWN)
    assert opened.headers["location"] == f"/done?by={member.id}"


async def test_a_token_does_not_replace_the_same_origin(
    forms: Any, tenant: TenantWorld, member: Account
) -> None:
    reader = client(forms, tenant, member)
    data = {"form_token": await token_for(reader)}
    for headers in ({}, {"sec-fetch-site": "same-site"}, {"origin": "http://other.localhost"}):
        for address in ("/form", "/open-form"):
            refused = await reader.post(address, data=data, headers=headers)
            assert refused.status_code == 403


async def test_a_cached_page_holds_each_readers_own_token(
    forms: Any, tenant: TenantWorld, member: Account
) -> None:
    other = await tenant.member()
    first, second = client(forms, tenant, member), client(forms, tenant, other)
    tokens = {await token_for(first), await token_for(second), await token_for(first)}
    assert len(tokens) == 2
    assert "form_token" not in (await client(forms, tenant).get("/post")).text


async def test_a_304_never_revives_the_token_of_another_sign_in(
    forms: Any, tenant: TenantWorld, member: Account
) -> None:
    other = await tenant.member()
    first, second = client(forms, tenant, member), client(forms, tenant, other)
    tag = (await first.get("/post")).headers["etag"]
    assert (await first.get("/post", headers={"if-none-match": tag})).status_code == 304
    assert (await second.get("/post", headers={"if-none-match": tag})).status_code == 200


async def test_another_tenants_session_is_a_guests(
    forms: Any, tenant: TenantWorld, other_tenant: TenantWorld
) -> None:
    stranger = await other_tenant.member()
    reader = client(forms, tenant)
    reader.cookies.set(MEMBER_COOKIE, stranger.token)
    assert "for nobody" in (await reader.get("/page")).text
    done = await reader.post("/form", data={"a": "1"}, headers=OWN)
    assert done.headers["location"] == "/done?by=guest"
