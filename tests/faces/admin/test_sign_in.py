"""Signing in to the admin, out of it, and the way to a new password."""

from __future__ import annotations

import re

import httpx
import pytest
from tests.faces.admin.visitor import OWN, Visitor, hidden_in, staff, visitor
from tests.outside.mail.offices import Office, text_of
from tests.world import PASSWORD, Account, TenantWorld, World

from masthead.identity.limits.sign_in_throttle import ATTEMPTS_PER_PAIR

WRONG = "The email address or the password is wrong."


async def sign_in(
    browser: Visitor, email: str, password: str = PASSWORD, **more: str
) -> httpx.Response:
    form = {"email": email, "password": password, **more}
    return await browser.api.post("/admin/sign-in", data=form, headers=OWN)


async def test_one_who_is_not_signed_in_comes_back_to_the_page_after_signing_in(
    tenant: TenantWorld, owner: Account
) -> None:
    browser = Visitor(tenant.guest)
    sent_away = await browser.get("/admin/posts?status=draft")
    assert sent_away.status_code == 303
    page = (await browser.get(sent_away.headers["location"])).text
    onward = hidden_in(page)["next"]
    answer = await sign_in(browser, owner.email, next=onward)
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/posts?status=draft")
    cookie = answer.headers["set-cookie"]
    assert re.match(r"pb_auth=\S+; Max-Age=86400; Path=/; HttpOnly; SameSite=Lax\Z", cookie)
    assert (await browser.get("/admin/posts")).status_code == 200


async def test_the_same_session_opens_the_record_store(tenant: TenantWorld, owner: Account) -> None:
    browser = Visitor(tenant.guest)
    await sign_in(browser, owner.email)
    answer = await browser.get(f"/api/collections/_superusers/records/{owner.id}")
    assert answer.json()["email"] == owner.email


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_wrong_password_and_an_unknown_address_have_one_answer(
    tenant: TenantWorld, owner: Account, is_known: bool
) -> None:
    email = owner.email if is_known else "nobody@example.com"
    answer = await sign_in(Visitor(tenant.guest), email, "wrong")
    assert answer.status_code == 422
    assert WRONG in answer.text
    assert f'value="{email}"' in answer.text
    assert 'wrong"' not in answer.text


async def test_guesses_are_slowed_down_as_everywhere(tenant: TenantWorld, owner: Account) -> None:
    browser = Visitor(tenant.guest)
    for _ in range(ATTEMPTS_PER_PAIR):
        assert (await sign_in(browser, owner.email, "wrong")).status_code == 422
    answer = await sign_in(browser, owner.email)
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0
    assert "Wait a while" in answer.text


async def test_a_member_is_not_staff(tenant: TenantWorld, member: Account) -> None:
    assert (await sign_in(Visitor(tenant.guest), member.email)).status_code == 422
    browser = Visitor(tenant.world.client(tenant.host, token=member.token))
    assert (await browser.get("/admin")).status_code == 303


async def test_staff_of_another_site_are_guests(
    tenant: TenantWorld, other_tenant: TenantWorld, owner: Account
) -> None:
    browser = visitor(tenant.world, owner, other_tenant.host)
    assert (await browser.get("/admin/posts")).status_code == 303
    assert (await sign_in(Visitor(other_tenant.guest), owner.email)).status_code == 422


@pytest.mark.parametrize(
    "onward",
    [
        "https://evil.example/admin",
        "//evil.example/admin",
        "/\\evil.example",
        "/admin\\@evil.example",
        "/administrator",
        "javascript:alert(1)",
        "/admin/sign-out",
        "/admin/../posts/fog",
        "/admin/..",
        "/admin/posts/%2E%2e/../x",
        "/admin/.%2e/.%2e?a=b",
        "/admin/.\t./x",
    ],
)
async def test_a_link_to_the_sign_in_leads_to_the_admin_alone(
    tenant: TenantWorld, owner: Account, onward: str
) -> None:
    answer = await sign_in(Visitor(tenant.guest), owner.email, next=onward)
    assert answer.headers["location"] == "/admin"


async def test_signing_out_ends_it_in_this_browser(tenant: TenantWorld) -> None:
    browser, _ = await staff(tenant, "owner")
    out = await browser.post("/admin/sign-out")
    assert out.headers["clear-site-data"] == '"cache"'
    page = await browser.follow(out)
    assert "You are signed out." in page
    assert (await browser.get("/admin")).status_code == 303


async def test_what_was_typed_survives_the_end_of_a_sign_in(tenant: TenantWorld) -> None:
    browser, account = await staff(tenant, "owner")
    token = await browser.token()
    tenant.world.clock.advance(days=2)
    form = {"form_token": token, "title": 'A "long" <title>', "content_html": "<p>a\nb</p>"}
    asked = await browser.api.post("/admin/posts/new", data=form, headers=OWN)
    assert asked.status_code == 401
    kept = hidden_in(asked.text)
    assert kept["title"] == form["title"]
    wrong = kept | {"again_email": account.email, "again_password": "wrong"}
    refused = await browser.api.post("/admin/posts/new", data=wrong, headers=OWN)
    assert refused.status_code == 401
    again = hidden_in(refused.text) | {
        "again_email": account.email,
        "again_password": PASSWORD,
    }
    page = await browser.follow(await browser.api.post("/admin/posts/new", data=again, headers=OWN))
    assert "A &#34;long&#34; &lt;title&gt;" in page
    assert "&lt;p&gt;a\nb&lt;/p&gt;" in page


async def test_a_large_form_of_a_stranger_is_refused_unread(tenant: TenantWorld) -> None:
    form = {"title": "x", "content_html": "a" * 300_000}
    asked = await tenant.guest.post("/admin/posts/new", data=form, headers=OWN)
    assert asked.status_code == 413
    browser, _ = await staff(tenant, "owner")
    token = await browser.token()
    sent = await browser.api.post(
        "/admin/posts/new", data=form | {"form_token": token}, headers=OWN
    )
    assert sent.status_code == 303


class TestForgottenPassword:
    async def test_a_mail_brings_a_new_one(self, office: Office) -> None:
        tenant = await office.world.new_tenant("site")
        owner = await tenant.owner()
        browser = Visitor(tenant.guest)
        asked = await browser.api.post("/admin/forgot", data={"email": owner.email}, headers=OWN)
        assert asked.status_code == 200
        (link,) = re.findall(r"http://\S+token=\S+", text_of(await office.mail_to(owner.email)))
        assert "Choose a new password" in (await browser.get(link)).text
        new = {"password": "quite another one", "passwordConfirm": "quite another one"}
        done = await browser.api.post(link, data=new, headers=OWN)
        assert "Your password is set" in done.text
        assert (await sign_in(browser, owner.email)).status_code == 422
        assert (await sign_in(browser, owner.email, "quite another one")).status_code == 303

    async def test_nobody_learns_who_has_an_account(self, tenant: TenantWorld) -> None:
        owner = await tenant.owner()
        answers = [
            await tenant.guest.post("/admin/forgot", data={"email": email}, headers=OWN)
            for email in (owner.email, "nobody@example.com")
        ]
        assert {answer.status_code for answer in answers} == {200}
        texts = [re.sub(r"\S+@example.com|[a-z0-9]{15}", "", answer.text) for answer in answers]
        assert texts[0] == texts[1]

    async def test_an_address_that_is_none_is_said_at_its_field(self, tenant: TenantWorld) -> None:
        answer = await tenant.guest.post("/admin/forgot", data={"email": "nobody"}, headers=OWN)
        assert answer.status_code == 422
        assert 'aria-invalid="true"' in answer.text


async def test_an_operator_signs_in_on_any_host(app: World, tenant: TenantWorld) -> None:
    operator = await app.operator()
    for host in ("localhost", tenant.host):
        browser = Visitor(app.client(host))
        assert (await sign_in(browser, operator.email)).status_code == 303
        assert (await browser.get("/admin/tenants")).status_code == 200
