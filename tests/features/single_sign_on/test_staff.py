"""Staff sign in with a provider of their site: whose account it is, and with which role."""

from __future__ import annotations

from base64 import b64decode
from typing import Any
from urllib.parse import parse_qs, unquote_plus, urlsplit

import pytest
from tests.faces.admin.visitor import OWN, Visitor, hidden_in, visitor
from tests.features.factors.apps import add_app, type_code
from tests.features.single_sign_on.conftest import START_OF, Outside, Site, site_with
from tests.features.single_sign_on.provider import CLIENT, SECRET, Provider
from tests.world import PASSWORD, Account

from masthead.engine.audit.collection import audit_log
from masthead.features.single_sign_on.collection import sign_in_links
from masthead.features.single_sign_on.staff import (
    ANOTHER,
    NO_ACCOUNT,
    NO_ROLE,
    OTHER_DOMAIN,
    OWNERS,
    UNVERIFIED,
)
from masthead.identity.sign_ins import PROOF_LASTS
from masthead.identity.tenants import superusers


async def accounts(site: Site, **wanted: Any) -> list[dict[str, Any]]:
    records = site.world.parts.records
    return await records.find(superusers, wanted, tenant_id=site.tenant.id, limit=9)


async def links(site: Site) -> list[dict[str, Any]]:
    records = site.world.parts.records
    return await records.find(sign_in_links, {}, tenant_id=site.tenant.id, limit=9)


async def is_in(browser: Visitor) -> bool:
    return (await browser.get("/admin/posts")).status_code == 200


async def test_someone_new_gets_an_account_with_a_role(site: Site) -> None:
    browser = site.browser()
    location = await site.depart(browser, "?next=/admin/posts")
    asked = {name: each[0] for name, each in parse_qs(urlsplit(location).query).items()}
    assert location.startswith(site.provider.receiver.url("/authorize?"))
    assert (asked["response_type"], asked["client_id"]) == ("code", CLIENT)
    assert asked["scope"] == "openid email profile"
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == f"http://{site.tenant.host}{START_OF}/callback"
    answer = await browser.get(site.provider.authorize(location))
    assert (answer.status_code, answer.headers["location"]) == (303, "/admin/posts")
    assert await is_in(browser)
    [account] = await accounts(site, email="ada@example.com")
    assert (account["role"], account["name"], account["password_hash"]) == ("author", "Ada", "")
    [link] = await links(site)
    assert (link["subject"], link["staff_id"]) == ("ada", account["id"])
    [form] = site.provider.exchanges
    assert form["redirect_uri"] == asked["redirect_uri"]
    basic = b64decode(site.provider.headers[0]["authorization"].removeprefix("Basic ")).decode()
    assert [unquote_plus(each) for each in basic.split(":")] == [CLIENT, SECRET]


async def test_pages_know_that_someone_needs_no_password(site: Site) -> None:
    browser = site.browser()
    await site.sign_in(browser)
    page = (await browser.get("/admin/account")).text
    assert "You have no password: you sign in with a provider." in page
    assert "Only your sign-in provider protects this account." in page
    assert "/admin/account/password" not in page
    assert "Connect News ID" not in page
    # Nor does a sensitive step ask for one.
    asked = (await browser.get("/admin/account/confirm")).text
    assert "sign out, and sign in again with your provider" in " ".join(asked.split())
    assert "again_password" not in asked
    form = {"form_token": hidden_in(asked)["form_token"]}
    answer = await browser.api.post("/admin/sign-out", data=form, headers=OWN)
    assert answer.status_code == 303
    assert not await is_in(browser)
    [account] = await accounts(site, email="ada@example.com")
    owner = visitor(site.world, await site.tenant.owner(), site.tenant.host)
    people = (await owner.get("/admin/staff")).text
    assert "No password yet" not in people
    assert f"/admin/staff/{account['id']}/invite" not in people
    person = f"/admin/staff/{account['id']}"
    assert "will let them back in" in " ".join((await owner.get(person)).text.split())
    # With the provider off, only a password lets them in.
    await site.change(enabled=False)
    people = (await owner.get("/admin/staff")).text
    assert "No password yet" in people
    assert f"/admin/staff/{account['id']}/invite" in people
    assert "will let them back in" not in (await owner.get(person)).text


async def test_the_verifier_is_that_of_the_challenge(site: Site) -> None:
    import hashlib
    from base64 import urlsafe_b64encode

    browser = site.browser()
    location = await site.depart(browser)
    await browser.get(site.provider.authorize(location))
    digest = hashlib.sha256(site.provider.exchanges[0]["code_verifier"].encode()).digest()
    challenge = parse_qs(urlsplit(location).query)["code_challenge"][0]
    assert challenge == urlsafe_b64encode(digest).rstrip(b"=").decode()


async def test_a_link_counts_more_than_an_address(site: Site) -> None:
    await site.sign_in()
    browser = site.browser()
    answer = await site.sign_in(browser, email="moved@example.com", email_verified=False)
    assert answer.status_code == 303
    assert await is_in(browser)
    assert len(await accounts(site)) == 1
    # Who has the old address now is somebody else.
    answer = await site.sign_in(sub="eve")
    assert answer.status_code == 422
    assert ANOTHER.partition(".")[0] in answer.text
    assert [each["subject"] for each in await links(site)] == ["ada"]


async def test_staff_are_found_by_a_verified_address(site: Site) -> None:
    account = await site.tenant.owner(email="ada@example.com", role="editor")
    await site.change(creates_accounts=False)
    refused = await site.sign_in(email_verified=False)
    assert (refused.status_code, await links(site)) == (422, [])
    assert UNVERIFIED.partition(".")[0] in refused.text
    refused = await site.sign_in(email_verified=None)
    assert refused.status_code == 422
    browser = site.browser()
    assert (await site.sign_in(browser, email="Ada@Example.com")).status_code == 303
    assert await is_in(browser)
    [link] = await links(site)
    assert link["staff_id"] == account.id
    [kept] = await accounts(site)
    assert kept["role"] == "editor"


@pytest.mark.parametrize("claims", [{}, {"groups": ["boss"]}])
async def test_an_owner_is_never_found_by_an_address(site: Site, claims: dict[str, Any]) -> None:
    await site.change(role_claim="groups", roles=["boss = editor"])
    await site.tenant.owner(email="ada@example.com", role="owner")
    answer = await site.sign_in(**claims)
    assert answer.status_code == 422
    assert OWNERS.partition(".")[0] in answer.text
    assert await links(site) == []


async def test_an_operator_is_nobody_for_a_site(site: Site) -> None:
    operator = await site.world.operator(email="root@example.com")
    browser = site.browser()
    assert (await site.sign_in(browser, email="root@example.com")).status_code == 303
    assert (await browser.get("/admin/tenants")).status_code == 403
    assert operator.id not in {each["staff_id"] for each in await links(site)}
    there = visitor(site.world, operator, site.tenant.host)
    assert (await there.get("/admin/account/connect/news")).status_code == 404


async def test_nobody_new_where_the_provider_makes_no_accounts(site: Site) -> None:
    await site.change(creates_accounts=False)
    answer = await site.sign_in()
    assert answer.status_code == 422
    assert NO_ACCOUNT.partition(".")[0] in answer.text
    assert await accounts(site) == []


async def test_only_people_of_the_named_domains(site: Site) -> None:
    await site.change(domains=["news.example"])
    answer = await site.sign_in()
    assert OTHER_DOMAIN in answer.text
    assert (await site.sign_in(email="ada@news.example.evil.test")).status_code == 422
    assert (await site.sign_in(email="ada@NEWS.example")).status_code == 303


async def test_roles_come_and_go_with_the_claim(site: Site) -> None:
    await site.change(
        role_claim="realm_access.roles",
        roles=["desk = author", "chief = editor"],
        default_role="none",
    )
    browser = site.browser()
    answer = await site.sign_in(browser, realm_access={"roles": ["desk", "chief"]})
    assert answer.status_code == 303
    [account] = await accounts(site)
    assert account["role"] == "editor"
    # A lower role ends the sessions of the higher one.
    assert (await site.sign_in(realm_access={"roles": ["desk"]})).status_code == 303
    [account] = await accounts(site)
    assert account["role"] == "author"
    assert not await is_in(browser)
    # No role ends all of them.
    browser = site.browser()
    await site.sign_in(browser, realm_access={"roles": ["desk"]})
    assert await is_in(browser)
    answer = await site.sign_in(realm_access={"roles": []})
    assert answer.status_code == 422
    assert NO_ROLE.partition(".")[0] in answer.text
    assert not await is_in(browser)


@pytest.mark.parametrize("claimed", ["owner", "operator", "_superusers"])
async def test_no_claim_makes_an_owner(site: Site, claimed: str) -> None:
    await site.change(role_claim="groups", roles=["desk = author"], default_role="none")
    assert (await site.sign_in(groups=[claimed], role=claimed)).status_code == 422
    assert await accounts(site) == []


async def test_a_role_from_the_user_info(site: Site) -> None:
    site.provider.userinfo.update(sub="ada", email="ada@example.com", email_verified=True)
    site.provider.userinfo["groups"] = "chief"
    await site.change(role_claim="groups", roles=["chief = editor"], default_role="none")
    answer = await site.sign_in(email=None, email_verified=None)
    assert answer.status_code == 303
    [account] = await accounts(site)
    assert account["role"] == "editor"


async def test_user_info_of_somebody_else_is_refused(site: Site) -> None:
    site.provider.userinfo.update(sub="eve", email="ada@example.com", email_verified=True)
    assert (await site.sign_in(email=None)).status_code == 422
    assert await accounts(site) == []


async def test_user_info_does_not_verify_the_address_of_the_token(site: Site) -> None:
    site.provider.userinfo.update(sub="ada", email="own@evil.test", email_verified=True)
    await site.change(role_claim="groups")
    answer = await site.sign_in(email="victim@example.com", email_verified=None)
    assert answer.status_code == 422
    assert await accounts(site) == []


async def test_the_token_does_not_verify_the_address_of_the_user_info(site: Site) -> None:
    site.provider.userinfo.update(sub="ada", email="victim@example.com", email_verified=False)
    assert (await site.sign_in(email=None, email_verified=True)).status_code == 422
    assert await accounts(site) == []


async def with_app(site: Site) -> tuple[Account, Any]:
    account = await site.tenant.owner(email="ada@example.com", role="editor")
    browser = visitor(site.world, account, site.tenant.host)
    return account, await add_app(browser, site.world)


async def test_a_second_factor_is_asked_for(site: Site) -> None:
    _, app = await with_app(site)
    browser = site.browser()
    answer = await site.sign_in(browser, amr=["mfa"])
    assert answer.headers["location"].startswith("/admin/sign-in/code")
    assert not await is_in(browser)
    await type_code(browser, app.code())
    assert await is_in(browser)


async def test_the_second_factor_of_the_provider_counts_if_the_owner_says_so(site: Site) -> None:
    await with_app(site)
    await site.change(second_step="claim")
    assert "/code" in (await site.sign_in(amr=["pwd"])).headers["location"]
    assert "/code" in (await site.sign_in(amr="mfa")).headers["location"]
    browser = site.browser()
    await site.sign_in(browser, amr=["pwd", "otp"])
    assert await is_in(browser)
    await site.change(second_step="provider")
    browser = site.browser()
    await site.sign_in(browser)
    assert await is_in(browser)


async def connected(browser: Visitor, site: Site, **claims: Any) -> dict[str, str]:
    """The form that asks whether the person is to be connected."""
    answer = await browser.get("/admin/account/connect/news")
    back = site.provider.authorize(answer.headers["location"], **claims)
    page = await browser.get(back)
    assert page.status_code == 200, page.text
    assert await links(site) == []
    return hidden_in(page.text)


async def test_an_owner_connects_the_provider_while_signed_in(site: Site) -> None:
    account = await site.tenant.owner(email="boss@example.com", role="owner")
    browser = visitor(site.world, account, site.tenant.host)
    form = await connected(browser, site, email="any@other.test", email_verified=False)
    site.world.clock.advance(seconds=PROOF_LASTS.total_seconds() + 60)
    # The account asks again who it is.
    asked = await browser.api.post("/admin/account/connections", data=form, headers=OWN)
    assert asked.status_code == 403
    proof = {**form, "again_password": PASSWORD}
    answer = await browser.api.post("/admin/account/connections", data=proof, headers=OWN)
    assert answer.status_code == 303
    there = site.browser()
    assert (await site.sign_in(there, email=None)).status_code == 303
    assert (await there.get("/admin/settings")).status_code == 200
    page = (await browser.get("/admin/account")).text
    assert "News ID" in page
    [link] = await links(site)
    await browser.post(f"/admin/account/connections/{link['id']}/remove")
    assert await links(site) == []
    assert (await site.sign_in(email="boss@example.com")).status_code == 422
    log = await site.world.parts.records.find(audit_log, {}, tenant_id=site.tenant.id, limit=99)
    actions = [each["action"] for each in log]
    assert "connected a sign-in" in actions
    assert "removed a sign-in" in actions


async def test_a_form_to_connect_is_of_one_sign_in(site: Site) -> None:
    """Nobody can have another browser connect what they have signed in with."""
    boss = await site.tenant.owner(email="boss@example.com", role="owner")
    eve = await site.tenant.owner(email="eve@example.com", role="author")
    eves = visitor(site.world, eve, site.tenant.host)
    form = await connected(eves, site, sub="eve")
    browser = visitor(site.world, boss, site.tenant.host)
    await browser.post("/admin/account/connections", {"person": form["person"]})
    assert await links(site) == []
    answer = await eves.get("/admin/account/connect/news")
    back = site.provider.authorize(answer.headers["location"], sub="eve")
    browser.api.cookies.set("mh_sign_on", eves.api.cookies["mh_sign_on"], domain=site.tenant.host)
    assert (await browser.get(back)).status_code == 422
    assert await links(site) == []


async def test_a_person_is_one_account(site: Site) -> None:
    await site.sign_in()
    boss = await site.tenant.owner(email="boss@example.com", role="owner")
    browser = visitor(site.world, boss, site.tenant.host)
    answer = await browser.get("/admin/account/connect/news")
    page = await browser.get(site.provider.authorize(answer.headers["location"]))
    await browser.api.post("/admin/account/connections", data=hidden_in(page.text), headers=OWN)
    [link] = await links(site)
    assert link["staff_id"] != boss.id


async def test_links_go_with_the_account_and_with_the_provider(
    outside: Outside, site: Site, provider: Provider
) -> None:
    await site.sign_in()
    [account] = await accounts(site)
    await site.tenant.owner(email="boss@example.com")
    boss = await site.tenant.owner(role="owner")
    await boss.api.delete(f"/api/collections/_superusers/records/{account['id']}")
    assert await links(site) == []
    other = await site_with(await outside.world.new_tenant("other"), provider)
    await other.sign_in()
    owner = await other.tenant.owner(role="owner")
    one = f"/api/collections/sign_in_providers/records/{other.record['id']}"
    assert (await owner.api.delete(one)).status_code == 204
    assert await links(other) == []


async def test_the_buttons_are_there_only_with_a_provider(outside: Outside, site: Site) -> None:
    page = (await site.browser().get("/admin/sign-in?next=/admin/posts")).text
    assert f'href="{START_OF}?next=%2Fadmin%2Fposts"' in page
    assert "Sign in with News ID" in page
    await site.change(enabled=False)
    assert "News ID" not in (await site.browser().get("/admin/sign-in")).text
    assert (await site.browser().get(START_OF)).status_code == 404
    await site.change(enabled=True, used_by="members")
    assert (await site.browser().get(START_OF)).status_code == 404
